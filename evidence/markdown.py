"""Numbers and tables as Markdown."""

from collections.abc import Sequence
from math import isfinite

from rapo.reporting.statistics import Interval


def table(header: Sequence[str], rows: Sequence[Sequence[str]], text: int = 1) -> str:
    """A Markdown table whose first `text` columns are words and whose others are numbers."""
    lines = ["---" if i < text else "--:" for i in range(len(header))]
    return "\n".join(
        [_line(header), "|" + "|".join(lines) + "|", *(_line(row) for row in rows)],
    )


def number(value: float, digits: int = 0) -> str:
    """A number with thousands set apart; nothing where it is not known."""
    return f"{value:,.{digits}f}" if isfinite(value) else ""


def interval(found: Interval, digits: int = 0) -> str:
    """An estimate with its 95% interval, if that is known."""
    said = number(found.value, digits)
    if found.known:
        said += f" ({number(found.low, digits)} to {number(found.high, digits)})"
    return said


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
