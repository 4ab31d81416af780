"""An ensemble given by hand: the models themselves, as an array or as a file, where a number is the usual."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rapo.arrays import Floats
from rapo.errors import InputError
from rapo.world.dynamics import Dynamics

OPTION = "models"


def with_given_models(options: Mapping[str, Any], dynamics: Dynamics) -> dict[str, Any]:
    """The options, with models that are an array `[K, P]` or the name of a CSV file as plain rows."""
    given = options.get(OPTION)
    if isinstance(given, str) and given.endswith(".csv"):
        rows = _read(Path(given), dynamics)
    elif isinstance(given, np.ndarray | list | tuple):
        try:
            rows = np.asarray(given, np.float64)
        except (TypeError, ValueError, OverflowError, RecursionError):
            raise InputError("models were given that are no array: allowed are rows of numbers") from None
    else:
        return dict(options)
    checked = dynamics.check(rows)
    return {**options, OPTION: tuple(tuple(row) for row in checked.tolist())}


def _read(path: Path, dynamics: Dynamics) -> Floats:
    """Models `[K, P]` of a CSV file whose first line names the parameters, in any order."""
    try:
        lines = [line.split(",") for line in path.read_text("utf-8-sig").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(f"models '{path}' can't be read: {why}") from None
    names = [name.strip() for name in lines[0]] if lines else []
    if sorted(names) != sorted(dynamics.names) or len(lines) < 2:
        raise InputError(
            f"models '{path}' have columns {', '.join(names) or 'none'} and {max(0, len(lines) - 1)} rows: "
            f"needed are the columns {', '.join(dynamics.names)} and at least one row"
        )
    try:
        rows = np.array([[float(cell) for cell in line] for line in lines[1:]])
    except ValueError:
        raise InputError(f"models '{path}' have a row that is not {len(names)} numbers") from None
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise InputError(f"models '{path}' have a row that is not {len(names)} numbers")
    return rows[:, [names.index(name) for name in dynamics.names]]
