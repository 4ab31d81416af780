"""What the runs of one task say together: every group measured, and the groups beside each other.

This is where seeds become intervals. Everything that a table, a figure or a sentence of the report states of
a task is taken from here.
"""

from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

import numpy as np
import polars as pl

from rapo.errors import InputError
from rapo.reporting.equal_cost import Cost, Matched, compare
from rapo.reporting.groups import Group, Loaded
from rapo.reporting.run_record import RunRecord
from rapo.reporting.statistics import Interval, improvement, iqm, mean
from rapo.reporting.sweep_scores import NOTHING, Range, SweepScores, once, scores
from rapo.reporting.yardstick import Yardstick, yardstick

FEW = 5
"""Fewer seeds than this prove nothing."""
LEAST = 3
"""Runs of both groups without which no probability is shown."""


@dataclass(frozen=True)
class Point:
    """A group at one setting."""

    scale: float
    returned: Interval
    """The mean return of the group there, with its interval over seeds."""
    trained: bool
    """Whether the setting lies in the training range."""
    diverged: int
    """Episodes that are not in it, over all seeds."""


@dataclass(frozen=True, eq=False)
class GroupScores:
    """A group in numbers; intervals are over its seeds, NaN where there is no sweep."""

    group: Group
    scores: tuple[SweepScores, ...]
    """The scores of each run."""
    nominal: Interval
    inside: Interval
    outside: Interval
    outside_iqm: Interval
    worst: Interval
    """At the setting where the mean over seeds is lowest."""
    worst_at: tuple[str, float] | None
    curves: dict[str, list[Point]]
    """The points of the robustness curve, by parameter."""

    @property
    def label(self) -> str:
        """The label of the group."""
        return self.group.label

    @property
    def swept(self) -> bool:
        """Whether any run of it was swept."""
        return bool(self.curves)

    @property
    def seeds(self) -> int:
        """How many runs were swept, or trained if none was."""
        return sum(run.settings is not None for run in self.group.runs) or len(self.group.runs)

    @property
    def searched(self) -> list[RunRecord]:
        """The runs whose worst case was searched, the worst first."""
        runs = [run for run in self.group.runs if "search" in run.results]
        return sorted(runs, key=lambda run: run.results["search"].returned)

    def runs_scores(self, what: str) -> list[float]:
        """One of the scores, of every run: nominal, inside, outside or worst."""
        return [getattr(score, what) for score in self.scores]


@dataclass(frozen=True, eq=False)
class Comparison:
    """All groups of runs of one task, measured and ranked."""

    task: str
    ranges: dict[str, Range]
    groups: tuple[GroupScores, ...]
    yardstick: Yardstick
    """What makes shares of returns."""
    ranking: tuple[GroupScores, ...]
    """The swept groups, the best interquartile mean outside of the training range first."""
    improvements: dict[tuple[str, str], Interval]
    """The probability that a run of the first label beats one of the second outside of the training range,
    for groups of at least `LEAST` runs."""
    matched: tuple[Matched, ...]

    def kept(self, m: GroupScores) -> dict[str, tuple[float, float] | None]:
        """By parameter: the scales over which a group keeps most of its worth."""
        return {
            name: self.yardstick.kept(
                [p.scale for p in points], [p.returned.value for p in points], self.ranges[name].nominal
            )
            for name, points in m.curves.items()
        }

    @property
    def runs(self) -> list[RunRecord]:
        """All runs, group by group."""
        return [run for m in self.groups for run in m.group.runs]

    @property
    def ordered(self) -> list[GroupScores]:
        """All groups, the ranked ones first, then those that were swept, then the rest."""
        rest = [m for m in self.groups if m not in self.ranking]
        return [*self.ranking, *sorted(rest, key=lambda m: not m.swept)]

    @property
    def parameters(self) -> list[str]:
        """Those that any group was swept over, in the task's order."""
        return [name for name in self.ranges if any(name in group.curves for group in self.groups)]


@dataclass(frozen=True)
class Across:
    """A group over all tasks, in normalised returns outside of the training range."""

    label: str
    algo: str
    outside_iqm: Interval
    beats: Interval
    """The probability that a run of the best group beats one of this; NaN for the best itself."""


def compare_groups(task: str, groups: tuple[Group, ...], rng: np.random.Generator) -> Comparison:
    """Measure all groups of one task."""
    strangers = {run.task for group in groups for run in group.runs} - {task}
    if strangers:
        raise InputError(
            f"runs of {', '.join(sorted(strangers))} were given for a comparison of {task}: allowed is one"
        )
    ranges: dict[str, Range] = {}
    for group in groups:
        for run in group.runs:
            ranges = run.ranges | ranges
    measured = tuple(measure(group, rng) for group in groups)
    ranking = tuple(
        sorted(
            (m for m in measured if isfinite(m.outside_iqm.value)),
            key=lambda m: m.outside_iqm.value,
            reverse=True,
        )
    )
    improvements = {}
    for i, a in enumerate(ranking):
        for b in ranking[i + 1 :]:
            if min(a.outside_iqm.runs, b.outside_iqm.runs) < LEAST:
                continue
            chance = improvement(a.runs_scores("outside"), b.runs_scores("outside"), rng)
            improvements[a.label, b.label] = chance
    costs: tuple[Cost, ...] = ("steps", "seconds")
    metrics = {m.label: [run.metrics for run in m.group.finished] for m in measured}
    matched = (compare(metrics, cost) for cost in costs)
    return Comparison(
        task,
        ranges,
        measured,
        yardstick((m.nominal.value for m in measured), _random_return(groups)),
        ranking,
        improvements,
        tuple(m for m in matched if m is not None),
    )


def measure(group: Group, rng: np.random.Generator) -> GroupScores:
    """One group's sweeps, over its seeds."""
    tables = [run.settings for run in group.runs if run.settings is not None]
    each = tuple(scores(run.compared) if run.compared is not None else NOTHING for run in group.runs)
    curves: dict[str, list[Point]] = {}
    worst, worst_at = Interval(nan), None
    if tables:
        everything = _over_seeds(pl.concat(tables))
        for row in everything.sort("scale").iter_rows(named=True):
            point = Point(row["scale"], mean(row["return"]), row["trained"], row["diverged"])
            curves.setdefault(row["parameter"], []).append(point)
        compared = [once(run.compared) for run in group.runs if run.compared is not None]
        for row in _over_seeds(pl.concat(compared or [tables[0].clear()])).iter_rows(named=True):
            here = mean(row["return"])
            if isfinite(here.value) and not here.value >= worst.value:
                worst, worst_at = here, (row["parameter"], row["scale"])
    outside = [score.outside for score in each]
    return GroupScores(
        group,
        each,
        mean([score.nominal for score in each]),
        mean([score.inside for score in each]),
        mean(outside),
        iqm(outside, rng),
        worst,
        worst_at,
        curves,
    )


def across(comparisons: list[Comparison], rng: np.random.Generator) -> list[Across]:
    """Groups that were swept in every one of several tasks, the best first; none where there are no such."""
    usable = [s for s in comparisons if s.yardstick.one is not None and s.ranking]
    if len(usable) < 2:
        return []
    labels = [m.label for m in usable[0].ranking]
    labels = [label for label in labels if all(label in (m.label for m in s.ranking) for s in usable)]
    matrices = {label: _matrix([_scores_of(s, label) for s in usable]) for label in labels}
    estimates = {label: iqm(matrix, rng) for label, matrix in matrices.items()}
    order = sorted(labels, key=lambda label: estimates[label].value, reverse=True)
    algos = {m.label: m.group.algo for m in usable[0].ranking}
    return [
        Across(
            label,
            algos[label],
            estimates[label],
            Interval(nan) if label == order[0] else improvement(matrices[order[0]], matrices[label], rng),
        )
        for label in order
    ]


def compare_tasks(loaded: Loaded, rng: np.random.Generator) -> list[Comparison]:
    """A comparison of each task."""
    return [compare_groups(task, groups, rng) for task, groups in loaded.tasks.items()]


def _random_return(groups: tuple[Group, ...]) -> float:
    """What random actions return, the mean over all runs of a task for which it is known."""
    tables = [run.results["random"] for group in groups for run in group.runs if "random" in run.results]
    return mean([x for table in tables for x in table.filter(~pl.col("diverged"))["return"]]).value


def _over_seeds(tables: pl.DataFrame) -> pl.DataFrame:
    """One row for each setting, with the returns of all seeds in a list."""
    return tables.group_by("parameter", "scale", maintain_order=True).agg(
        pl.col("return").drop_nulls(), pl.col("trained").first(), pl.col("diverged").sum()
    )


def _scores_of(one: Comparison, label: str) -> list[float]:
    measured = next(m for m in one.ranking if m.label == label)
    found = [one.yardstick.normalised(x) for x in measured.runs_scores("outside")]
    return [x for x in found if x is not None]


def _matrix(columns: list[list[float]]) -> Any:
    """`[runs, tasks]`, with NaN where a task has fewer runs."""
    matrix = np.full((max(map(len, columns)), len(columns)), nan)
    for i, column in enumerate(columns):
        matrix[: len(column), i] = column
    return matrix
