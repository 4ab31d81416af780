"""Tables that measurements leave in run folders, read back and refused where they are not whole."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rapo.errors import InputError
from rapo.heavy import pl


def read_table(path: Path, schema: Mapping[str, Any], again: str) -> pl.DataFrame | None:
    """A CSV file of these columns without gaps, all numbers finite; None if it is not there.

    schema: the type of each column, as Python types; again: what the error asks the user to do about a
    damaged file.
    """
    from polars.exceptions import PolarsError  # imported here: Polars is slow to load

    if not path.is_file():
        return None
    damaged = InputError(f"table '{path}' is damaged: {again}")
    try:
        table = pl.read_csv(path.read_bytes(), schema=pl.Schema(schema))  # a path could be a pattern
    except (PolarsError, OSError):
        raise damaged from None
    numbers = [column for column, kind in table.schema.items() if kind.is_float()]
    if table.null_count().sum_horizontal().sum() or not all(table[c].is_finite().all() for c in numbers):
        raise damaged
    return table
