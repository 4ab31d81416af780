"""Pieces of HTML from text, numbers and frames: everything is escaped here, once."""

import json
from collections.abc import Sequence
from html import escape
from typing import Any

import polars as pl

from rapo.reporting.summary import number


def inlined(data: Any) -> str:
    """JSON that can't end the script element it stands in."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def shown_columns(frame: pl.DataFrame) -> dict[str, tuple[bool, list[str]]]:
    """Columns as they are shown, by name: whether they hold numbers, and the HTML of every cell.

    An estimate and the ends of its interval become one column, and so do a mean and a deviation.
    """
    shown: dict[str, tuple[bool, list[str]]] = {}
    names = frame.columns
    for name in names:
        values = frame[name].to_list()
        if name.endswith(("_low", "_high", " std")):
            continue
        right = all(value is None or isinstance(value, int | float) for value in values)
        cells = [_cell(value) for value in values]
        if f"{name}_low" in names:
            ends = zip(frame[f"{name}_low"].to_list(), frame[f"{name}_high"].to_list(), strict=True)
            cells = [cell + _ends(low, high) for cell, (low, high) in zip(cells, ends, strict=True)]
        elif name.endswith(" mean"):
            name = name.removesuffix(" mean")
            spreads = frame[f"{name} std"].to_list()
            cells = [c if s is None else f"{c} ± {number(s)}" for c, s in zip(cells, spreads, strict=True)]
        shown[name] = (right, cells)
    return shown


def links(paths: Sequence[str]) -> str:
    """Files by name, each with a link for every kind there is."""
    kinds: dict[str, list[str]] = {}
    for path in paths:
        stem, _, kind = path.rpartition(".")
        kinds.setdefault(stem.rpartition("/")[2], []).append(f'<a href="{escape(path)}">{kind.upper()}</a>')
    return "; ".join(f"{escape(stem)} {' '.join(links)}" for stem, links in kinds.items())


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None else f'<span class="interval">{number(low)} to {number(high)}</span>'


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if value is None or isinstance(value, float):
        return number(value)
    return escape(str(value))


def with_code(text: str) -> str:
    """Text with what stands between backquotes as code."""
    parts = escape(text).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))
