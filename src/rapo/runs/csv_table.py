"""Tables that measurements leave in run folders, read back and refused where they are not whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rapo.errors import InputError
from rapo.heavy import pl
from rapo.runs.run import hint


def read_table(
    path: Path, schema: Mapping[str, Any], again: str, command: str | None = None
) -> pl.DataFrame | None:
    """A CSV file of these columns without gaps, all numbers finite; None if it is not there.

    schema: the type of each column, as Python types; again: what the error asks the user to do about a
    damaged file; command: with what, as in eval nominal.
    """
    from polars.exceptions import PolarsError  # imported here: Polars is slow to load

    if not path.is_file():
        return None
    try:
        table = pl.read_csv(path.read_bytes(), schema=pl.Schema(schema))  # a path could be a pattern
    except (PolarsError, OSError):
        table = None
    if table is not None and _is_whole(table):
        return table
    words = again if command is None else f"{again} with {hint(command, path.parent)}"
    raise InputError(f"table '{path}' is damaged: {words}")


def _is_whole(table: pl.DataFrame) -> bool:
    numbers = [column for column, kind in table.schema.items() if kind.is_float()]
    return not table.null_count().sum_horizontal().sum() and all(table[c].is_finite().all() for c in numbers)
