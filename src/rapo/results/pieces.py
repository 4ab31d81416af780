"""The pieces of a run folder that a report reads, each of which may be missing.

A missing piece is None; a damaged one is an InputError that names its file.
"""

import json
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from rapo.errors import InputError
from rapo.runs.metrics import FILE as METRICS

SWEEP, SEARCH, HEATMAP, FAILURE = "sweep.csv", "search.json", "heatmap.jsonl", "failure.txt"

SWEPT = {"parameter": pl.String, "scale": pl.Float64, "return": pl.Float64, "diverged": pl.Boolean}
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


@dataclass(frozen=True)
class Found:
    """The worst dynamics that a search of the whole test box found."""

    point: dict[str, float]
    returned: float
    low: float
    high: float
    evaluations: int
    axis_parameter: str
    axis_scale: float
    axis_return: float
    """The worst of the axes, measured in the same way."""
    below: float
    """How far the found return is below that of the axes."""


def read_metrics(folder: Path) -> pl.DataFrame:
    """The metrics of all updates, columns of `MEASURED`; no rows where there are none yet."""
    path = folder / METRICS
    if not path.is_file():
        return pl.DataFrame(schema=MEASURED)
    whole = path.read_bytes()
    whole = whole[: whole.rfind(b"\n") + 1]
    if not whole.strip():
        return pl.DataFrame(schema=MEASURED)
    try:
        table = pl.read_ndjson(whole, schema=MEASURED)
    except PolarsError:
        raise _damaged(path, "every line must be those of one update, in JSON") from None
    if table.select(pl.any_horizontal(pl.col(NEEDED).is_null().any())).item():
        raise _damaged(path, "every line must be those of one update, in JSON")
    return table


def read_sweep(folder: Path) -> tuple[pl.DataFrame, int | None] | None:
    """The episodes of a sweep, columns of `SWEPT`, and the updates that the policy had learned from."""
    path = folder / SWEEP
    if not path.is_file():
        return None
    try:
        table = pl.read_csv(path, schema_overrides=SWEPT)
        updates = table["updates"].max() if "updates" in table.columns and len(table) else None
        table = table.select(*SWEPT)
    except (PolarsError, UnicodeDecodeError):
        raise _damaged(path, f"it must be a table with the columns {', '.join(SWEPT)}") from None
    if table.select(pl.any_horizontal(pl.col("parameter", "scale", "diverged").is_null().any())).item():
        raise _damaged(path, "a row has no parameter, scale or diverged")
    return table, int(updates) if isinstance(updates, int | float) else None


def read_search(folder: Path) -> Found | None:
    """The worst case that was found."""
    path = folder / SEARCH
    if not path.is_file():
        return None
    try:
        said = json.loads(path.read_bytes())
        axis = said["axis"]
        found = Found(
            {str(name): float(value) for name, value in said["point"].items()},
            float(said["return"]),
            float(said["low"]),
            float(said["high"]),
            int(said["evaluations"]),
            str(axis["parameter"]),
            float(axis["scale"]),
            float(axis["return"]),
            float(said["below"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _damaged(path, "it must hold what rapo search writes") from None
    if not all(map(isfinite, (*found.point.values(), found.returned))):
        raise _damaged(path, "a number in it is not finite")
    return found


def read_heatmap(folder: Path) -> list[dict[str, Any]]:
    """All records of the heatmap, first to last; a line that was cut short is left out."""
    path = folder / HEATMAP
    if not path.is_file():
        return []
    *whole, _ = path.read_bytes().split(b"\n")
    try:
        rows = [json.loads(line) for line in whole if line.strip()]
        for row in rows:
            int(row["steps"])
            for name, scales in row["scales"].items():
                if len(scales) != len(row["values"][name]):
                    raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _damaged(path, "every line must be one record, in JSON") from None
    return rows


def read_failure(folder: Path) -> str | None:
    """Why a run of a grid failed."""
    path = folder / FAILURE
    return " ".join(path.read_text(errors="replace").split()) if path.is_file() else None


def _damaged(path: Path, allowed: str) -> InputError:
    return InputError(f"'{path}' is damaged: {allowed}")
