"""What a report reads of a run folder in its own way: metrics as a table, made quickly, and failures."""

from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from rapo.errors import InputError
from rapo.grids.grid_run import FAILURE
from rapo.runs.metrics import FILE as METRICS

MEASURED: dict[str, Any] = {
    "update": pl.Int64,
    "steps": pl.Int64,
    "branch_steps": pl.Int64,
    "return": pl.Float64,
    "seconds_physics": pl.Float64,
    "seconds_branch": pl.Float64,
    "seconds_learning": pl.Float64,
    "divergences": pl.Int64,
    "eta_p10": pl.Float64,
    "eta_p50": pl.Float64,
    "eta_p90": pl.Float64,
    "kl": pl.Float64,
    "epsilon": pl.Float64,
    "mixture_entropy": pl.Float64,
    "mixture_kl": pl.Float64,
    "mixture": pl.List(pl.Float64),
}
NEEDED = ("update", "steps", "seconds_physics", "seconds_branch", "seconds_learning")


def read_metrics(folder: Path) -> pl.DataFrame:
    """The metrics of all updates, columns of `MEASURED`; no rows where there are none yet."""
    path = folder / METRICS
    if not path.is_file():
        return pl.DataFrame(schema=MEASURED)
    whole = path.read_bytes()
    whole = whole[: whole.rfind(b"\n") + 1]
    if not whole.strip():
        return pl.DataFrame(schema=MEASURED)
    damaged = InputError(f"metrics '{path}' are damaged: every line must be those of one update, in JSON")
    try:
        table = pl.read_ndjson(whole, schema=MEASURED)
    except PolarsError:
        raise damaged from None
    if table.select(pl.any_horizontal(pl.col(NEEDED).is_null().any())).item():
        raise damaged
    return table


def read_failure(folder: Path) -> str | None:
    """Why a run of a grid failed."""
    path = folder / FAILURE
    return " ".join(path.read_text(errors="replace").split()) if path.is_file() else None
