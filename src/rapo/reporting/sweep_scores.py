"""What a sweep says: mean returns at every setting, inside and outside of the training range, and the worst.

A sweep moves one parameter at a time, and the nominal setting stands in its table once for every parameter;
wherever settings are averaged or compared it counts once. Episodes that diverged are counted and never
averaged in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan

from rich.markup import escape
from rich.table import Table as ScreenTable

from rapo.heavy import pl
from rapo.reporting.yardstick import CLOSE
from rapo.runs.run import Run
from rapo.screen import number_table
from rapo.world.dynamics import Dynamics


@dataclass(frozen=True)
class Range:
    """What a task says of one of its parameters."""

    nominal: float
    train: tuple[float, float]

    def trained(self, scale: float) -> bool:
        """Whether a scale lies in the training range."""
        return self.train[0] - CLOSE <= scale <= self.train[1] + CLOSE


@dataclass(frozen=True)
class SweepScores:
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
    """All episodes of the sweep."""
    diverged: int
    """Episodes that diverged, which are not in the means."""


def ranges_of(dynamics: Dynamics) -> dict[str, Range]:
    """Nominal value and training range of every parameter, by name."""
    return {p.name: Range(float(p.nominal or 0), p.train) for p in dynamics}


NOTHING = SweepScores(nan, nan, nan, nan, None, 0, 0)


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


def scores(table: pl.DataFrame) -> SweepScores:
    """ID, OOD and worst of one run's settings."""
    table = once(table)
    known = table.drop_nulls("return")
    if known.is_empty():
        episodes, diverged = (int(table[name].sum()) for name in ("episodes", "diverged"))
        return SweepScores(nan, nan, nan, nan, None, episodes, diverged)
    low = known.row(int(known["return"].arg_min() or 0), named=True)
    return SweepScores(
        _mean(known.filter("nominal")),
        _mean(known.filter("trained")),
        _mean(known.filter(~pl.col("trained"))),
        low["return"],
        (low["parameter"], low["scale"]),
        int(table["episodes"].sum()),
        int(table["diverged"].sum()),
    )


def _mean(table: pl.DataFrame) -> float:
    return float(table["return"].to_numpy().mean()) if len(table) else nan


def shown_sweeps(measured: Sequence[tuple[Run, pl.DataFrame]]) -> ScreenTable:
    """Mean returns of every run and parameter, inside and outside of the training range."""
    table = number_table("Mean return", ("run", "parameter"), ("nominal", "ID", "OOD", "worst", "at"))
    for run, swept in measured:
        rows = settings(swept, ranges_of(run.config().task.dynamics))
        for name in swept["parameter"].unique(maintain_order=True):
            found = scores(rows.filter(pl.col("parameter") == name))
            numbers = (found.nominal, found.inside, found.outside, found.worst)
            worst_at = f"{found.worst_at[1]:g}" if found.worst_at else ""
            shown = ["" if isnan(x) else f"{x:,.0f}" for x in numbers]
            table.add_row(escape(str(run.folder)), name, *shown, worst_at)
    return table


def swept_rows(run: Run, swept: pl.DataFrame) -> pl.DataFrame:
    """A row for every setting of a run: its mean return, and over how many episodes; options that differ."""
    config = run.config()
    good = swept.filter(~pl.col("diverged"))
    means = good.group_by("parameter", "scale", maintain_order=True).agg(
        pl.col("return").mean().round(1), pl.len().cast(pl.Int64).alias("episodes")
    )
    return means.select(
        pl.lit(config.task.name).alias("task"),
        pl.lit(config.algorithm.name).alias("algorithm"),
        pl.lit(config.seed, pl.Int64).alias("seed"),
        pl.lit(int(swept["updates"][0]) * config.steps_per_update, pl.Int64).alias("steps"),
        pl.lit(config.changes).alias("options"),
        "parameter",
        "scale",
        "return",
        "episodes",
    )
