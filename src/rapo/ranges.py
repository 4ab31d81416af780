"""Which numbers a setting may have: said once, at the field; checked when a record is made, shown by help."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache
from math import inf
from numbers import Real
from operator import index
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from rapo.errors import InputError


@dataclass(frozen=True)
class Within:
    """Finite numbers from `low` to `high`: `rate: Annotated[float, Within(0, 1)]`."""

    low: float = -inf
    high: float = inf
    open_low: bool = False
    """Whether `low` itself is left out."""
    open_high: bool = False
    """Whether `high` itself is left out."""
    whole: bool = False
    """Whether only whole numbers are allowed; `ranges_of` sets it for fields of type int."""

    def allows(self, value: float) -> bool:
        """Whether a number lies within."""
        above = self.low < value if self.open_low else self.low <= value
        below = value < self.high if self.open_high else value <= self.high
        return above and below and abs(value) < inf and (not self.whole or value == int(value))

    def __str__(self) -> str:
        bounded = self.low > -inf and self.high < inf
        kind = "whole numbers" if self.whole else "numbers" if bounded else "finite numbers"
        low = "" if self.low == -inf else f" above {self.low:g}" if self.open_low else f" from {self.low:g}"
        if self.high == inf:
            return f"{kind}{low}"
        if self.open_high:
            joint = " and" if self.open_low else " to" if bounded else ""
            return f"{kind}{low}{joint} below {self.high:g}"
        joint = ", up to" if self.open_low else " to" if bounded else " up to"
        return f"{kind}{low}{joint} {self.high:g}"


FINITE = Within()
NOT_NEGATIVE = Within(0)
POSITIVE = Within(0, open_low=True)
SHARE = Within(0, 1)
POSITIVE_SHARE = Within(0, 1, open_low=True)
AT_LEAST_1 = Within(1)
DISCOUNT = Within(0, 1, open_high=True)


@cache
def ranges_of(record: type) -> dict[str, Within]:
    """The ranges of a record's fields, by name, for those that have one."""
    hints = get_type_hints(record, include_extras=True)
    found: dict[str, Within] = {}
    for field in fields(record):
        for kind in (hints[field.name], *get_args(hints[field.name])):
            if get_origin(kind) is Annotated:
                of, *extras = get_args(kind)
                for extra in extras:
                    if isinstance(extra, Within):
                        found[field.name] = replace(extra, whole=int in (of, *get_args(of)))
    return found


def check_ranges(record: Any, whose: str = "option") -> None:
    """Refuse a record one of whose numbers is out of its range.

    Of a field of several numbers each is checked. An error begins with `whose` and the field's name.
    """
    for name, allowed in ranges_of(type(record)).items():
        value = getattr(record, name)
        for number in value if isinstance(value, tuple | list) else (value,):
            if isinstance(number, Real) and not allowed.allows(float(number)):
                raise InputError(f"{whose} {name} is {_shown(value)}: allowed are {allowed}")


def check_seed(seed: int) -> int:
    """`seed`, refused unless it is a whole number from 0 that fits in 63 bits."""
    try:
        if 0 <= index(seed) < 2**63:
            return index(seed)
    except TypeError:
        pass
    raise InputError(f"seed {seed!r} was given: allowed are whole numbers from 0 to 2^63 - 1")


def _shown(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ",".join(map(_shown, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
