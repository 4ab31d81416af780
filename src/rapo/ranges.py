"""Which values a setting may have: said once, at the field; checked when a record is made, shown by help."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from math import inf
from numbers import Real
from typing import Any, get_args, get_type_hints

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

    def allows(self, value: float) -> bool:
        """Whether a number lies within."""
        above = self.low < value if self.open_low else self.low <= value
        below = value < self.high if self.open_high else value <= self.high
        return above and below and abs(value) < inf

    def __str__(self) -> str:
        low = "" if self.low == -inf else f"above {self.low:g}" if self.open_low else f"from {self.low:g}"
        if self.high == inf:
            return f"finite numbers {low}".strip()
        high = f"to below {self.high:g}" if self.open_high else f"to {self.high:g}"
        return f"{low}, up {high}" if self.open_low else f"{low} {high}"


POSITIVE = Within(0, open_low=True)
SHARE = Within(0, 1)
POSITIVE_SHARE = Within(0, 1, open_low=True)
AT_LEAST_1 = Within(1)


@cache
def ranges_of(record: type) -> dict[str, Within]:
    """The ranges of a record's fields, by name, for those that have one."""
    hints = get_type_hints(record, include_extras=True)
    found: dict[str, Within] = {}
    for field in fields(record):
        for kind in (hints[field.name], *get_args(hints[field.name])):
            for extra in getattr(kind, "__metadata__", ()):
                if isinstance(extra, Within):
                    found[field.name] = extra
    return found


def check_ranges(record: Any) -> None:
    """Refuse a record one of whose fields is out of its range; several numbers are checked one by one."""
    for name, allowed in ranges_of(type(record)).items():
        value = getattr(record, name)
        for number in value if isinstance(value, tuple | list) else (value,):
            if isinstance(number, Real) and not allowed.allows(float(number)):
                raise InputError(f"option {name} is {_shown(value)}: allowed are {allowed}")


def _shown(value: Any) -> str:
    if isinstance(value, tuple | list):
        return ",".join(map(_shown, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
