"""Which numbers a setting may have: said once, at the field; checked when a record is made, shown by help."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache
from math import inf
from numbers import Real
from operator import index
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from rapo.errors import InputError, shown


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
    most: int | None = None
    """How many numbers a field of several may have; None means any."""

    def allows(self, value: float) -> bool:
        """Whether a number lies within; a whole number may have any number of digits."""
        above = self.low < value if self.open_low else self.low <= value
        below = value < self.high if self.open_high else value <= self.high
        return above and below and abs(value) < inf and (not self.whole or value == int(value))

    def __str__(self) -> str:
        bounded = self.low > -inf and self.high < inf
        kind = "whole numbers" if self.whole else "numbers" if bounded else "finite numbers"
        low = "" if self.low == -inf else f" above {self.low:g}" if self.open_low else f" from {self.low:g}"
        high = f"{int(self.high):,}" if self.whole and self.high < inf else f"{self.high:g}"
        several = "" if self.most is None else f", at most {self.most} of them"
        if self.high == inf:
            return f"{kind}{low}{several}"
        if self.open_high:
            joint = " and" if self.open_low else " to" if bounded else ""
            return f"{kind}{low}{joint} below {high}{several}"
        joint = ", up to" if self.open_low else " to" if bounded else " up to"
        return f"{kind}{low}{joint} {high}{several}"


LARGEST = 1e9
"""The largest number that a setting may have where nothing else is said: single precision can hold it."""
FINITE = Within(-LARGEST, LARGEST)
NOT_NEGATIVE = Within(0, LARGEST)
POSITIVE = Within(0, LARGEST, open_low=True)
SHARE = Within(0, 1)
POSITIVE_SHARE = Within(0, 1, open_low=True)
COUNT = Within(1, 1_000_000)
EPISODES = Within(1, 10_000)
TURNS = Within(1, 10_000)
"""How often a loop turns: passes, optimiser steps, iterations."""
LAYERS = Within(1, 16_384, most=16)
"""The sizes of the layers of a network."""
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
        numbers = value if isinstance(value, tuple | list) else (value,)
        many = allowed.most is not None and len(numbers) > allowed.most
        if many or any(isinstance(x, Real) and not allowed.allows(x) for x in numbers):  # pyright: ignore[reportArgumentType]
            raise InputError(f"{whose} {name} is {_shown(value)}: allowed are {allowed}")


def check_seed(seed: int) -> int:
    """`seed`, refused unless it is a whole number from 0 that fits in 63 bits."""
    try:
        if 0 <= index(seed) < 2**63:
            return index(seed)
    except TypeError:
        pass
    raise InputError(f"seed {shown(seed)} was given: allowed are whole numbers from 0 to 2^63 - 1")


def _shown(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ",".join(map(_shown, value))
    return f"{value:g}" if isinstance(value, float) else shown(value)
