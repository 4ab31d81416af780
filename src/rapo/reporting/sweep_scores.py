"""What a sweep says: mean returns at every setting, inside and outside of the training range, and the worst.

A sweep moves one parameter at a time, and the nominal setting stands in its table once for every parameter;
wherever settings are averaged or compared it counts once. Episodes that diverged are counted and never
averaged in. The normalised return is defined here and nowhere else.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np
import polars as pl

CLOSE = 1e-9
"""Scales that differ by less are the same."""
KEPT = 0.8
"""The share of its nominal return that a policy has to keep to be called trustworthy at a setting."""


@dataclass(frozen=True)
class Range:
    """What a task says of one of its parameters."""

    nominal: float
    train: tuple[float, float]

    def trained(self, scale: float) -> bool:
        """Whether a scale lies in the training range."""
        return self.train[0] - CLOSE <= scale <= self.train[1] + CLOSE


@dataclass(frozen=True)
class Scores:
    """One run's sweep in a few numbers; NaN where the sweep has no such setting."""

    nominal: float
    inside: float
    """ID: the mean over settings inside the training range."""
    outside: float
    """OOD: the mean over all other settings."""
    worst: float
    """The mean return at the setting where it is lowest."""
    worst_at: tuple[str, float] | None
    """That setting: a parameter and its scale."""
    episodes: int
    """All of them."""
    diverged: int
    """Those that are not in the means."""


NOTHING = Scores(nan, nan, nan, nan, None, 0, 0)


def settings(sweep: pl.DataFrame, ranges: Mapping[str, Range]) -> pl.DataFrame:
    """One row for each setting: its mean return (null if all diverged), episodes, and where it lies.

    sweep: one row for each episode, with the columns parameter, scale, return and diverged.
    """
    good = pl.col("return").filter(~pl.col("diverged") & pl.col("return").is_finite())
    table = (
        sweep.with_columns(pl.col("scale").round(9))
        .group_by("parameter", "scale", maintain_order=True)
        .agg(
            good.mean().alias("return"),
            pl.len().cast(pl.Int64).alias("episodes"),
            (pl.len().cast(pl.Int64) - good.len().cast(pl.Int64)).alias("diverged"),
        )
    )
    points = list(zip(table["parameter"].to_list(), table["scale"].to_list(), strict=True))
    return table.with_columns(
        pl.Series("nominal", [abs(s - ranges[p].nominal) <= CLOSE for p, s in points], pl.Boolean),
        pl.Series("trained", [ranges[p].trained(s) for p, s in points], pl.Boolean),
    )


def once(table: pl.DataFrame) -> pl.DataFrame:
    """The same settings with the nominal one only where it comes first."""
    return table.filter(~pl.col("nominal") | (pl.col("nominal").cum_sum() == 1))


def scores(table: pl.DataFrame) -> Scores:
    """ID, OOD and worst of one run's settings."""
    table = once(table)
    known = table.drop_nulls("return")
    if known.is_empty():
        return Scores(nan, nan, nan, nan, None, int(table["episodes"].sum()), int(table["diverged"].sum()))
    low = known.row(int(known["return"].arg_min() or 0), named=True)
    return Scores(
        _mean(known.filter("nominal")),
        _mean(known.filter("trained")),
        _mean(known.filter(~pl.col("trained"))),
        low["return"],
        (low["parameter"], low["scale"]),
        int(table["episodes"].sum()),
        int(table["diverged"].sum()),
    )


def kept(scales: Sequence[float], returns: Sequence[float], nominal: float) -> tuple[float, float] | None:
    """How far from the nominal scale a curve stays at `KEPT` of its nominal return, without a gap.

    None where the nominal setting was not swept or returned nothing.
    """
    order = np.argsort(scales)
    xs, ys = np.asarray(scales, float)[order], np.asarray(returns, float)[order]
    at = np.flatnonzero(np.abs(xs - nominal) <= CLOSE)
    if not len(at) or not ys[at[0]] > 0:
        return None
    enough = ys >= KEPT * ys[at[0]]
    low = high = int(at[0])
    while low > 0 and enough[low - 1]:
        low -= 1
    while high < len(xs) - 1 and enough[high + 1]:
        high += 1
    return float(xs[low]), float(xs[high])


def reference(nominal_means: Iterable[float]) -> float | None:
    """The return that is called 1 in a task: the best group's mean nominal return; 0 stays 0.

    None where no group returned more than 0: nothing can be normalised by that.
    """
    best = max((x for x in nominal_means if isfinite(x)), default=nan)
    return best if best > 0 else None


def normalised(returned: float, one: float | None) -> float | None:
    """A return in units of the task's reference."""
    return None if one is None or not isfinite(returned) else returned / one


def _mean(table: pl.DataFrame) -> float:
    return float(table["return"].to_numpy().mean()) if len(table) else nan
