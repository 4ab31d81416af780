"""Comparisons at equal cost: what training returned when every algorithm had spent as much.

Cost is environment steps or wall-clock seconds. The point of comparison is the smallest total among the
algorithms of a task; the score of a run is the mean return of the last tenth of its updates before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isfinite, nan
from typing import Literal

import numpy as np
import polars as pl

from rapo.arrays import Floats
from rapo.reporting.statistics import Interval, mean

TAIL = 0.1
"""The share of updates before the point of comparison whose returns are averaged."""
Cost = Literal["steps", "seconds"]
SECONDS = ("seconds_physics", "seconds_branch", "seconds_learning")


@dataclass(frozen=True)
class Matched:
    """What each group's training returned at one cost."""

    cost: Cost
    at: float
    """The cost at which the groups are compared, in steps or seconds."""
    returned: dict[str, Interval]
    """The return of each group at that cost, over its runs, by the group's label."""


def spent(metrics: pl.DataFrame, cost: Cost) -> Floats:
    """`[updates]`, what a run had cost after each update."""
    if cost == "steps":
        return metrics["steps"].to_numpy().astype(np.float64)
    return np.cumsum(metrics.select(pl.sum_horizontal(SECONDS)).to_series().to_numpy())


def returned(metrics: pl.DataFrame, cost: Cost, at: float) -> float:
    """The mean return of the last tenth of the updates made within the cost `at`; NaN if no episode ended."""
    within = int((spent(metrics, cost) <= at * (1 + 1e-12)).sum())
    last = metrics["return"][:within].tail(ceil(TAIL * within)).drop_nulls()
    return float(last.to_numpy().mean()) if len(last) else nan


def compare(groups: Mapping[str, Sequence[pl.DataFrame]], cost: Cost) -> Matched | None:
    """All groups at the largest cost that every run reaches; None where there is nothing to compare."""
    groups = {label: [m for m in runs if len(m)] for label, runs in groups.items()}
    groups = {label: runs for label, runs in groups.items() if runs}
    if len(groups) < 2:
        return None
    at = min(float(spent(metrics, cost)[-1]) for runs in groups.values() for metrics in runs)
    found = {label: mean([returned(metrics, cost, at) for metrics in runs]) for label, runs in groups.items()}
    return Matched(cost, at, found) if any(isfinite(x.value) for x in found.values()) else None
