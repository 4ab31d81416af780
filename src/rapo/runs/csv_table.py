"""Tables that runs leave behind, read back and refused where they are not whole."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from polars.exceptions import PolarsError
from polars.selectors import float as floats

from rapo.errors import InputError
from rapo.heavy import pl


def read_table(path: Path, schema: Mapping[str, Any], again: str) -> pl.DataFrame | None:
    """A CSV file of these columns without gaps, all numbers finite; None if it is not there.

    again: what the error asks the user to do about a damaged one.
    """
    if not path.is_file():
        return None
    damaged = InputError(f"table '{path}' is damaged: {again}")
    try:
        table = pl.read_csv(path, schema=dict(schema))
    except (PolarsError, OSError):
        raise damaged from None
    finite = (column.is_finite().all() for column in table.select(floats()))
    if table.null_count().sum_horizontal().sum() or not all(finite):
        raise damaged
    return table
