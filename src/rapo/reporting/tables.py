"""The tables of a report, as frames: written as CSV in full, shown on the page with the digits that matter.

An estimate takes three columns, NAME, NAME_low and NAME_high, which the page shows as one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import polars as pl

from rapo.reporting.comparison import Across, Comparison, GroupScores
from rapo.reporting.equal_cost import SECONDS
from rapo.reporting.statistics import Interval
from rapo.reporting.yardstick import KEPT


@dataclass(frozen=True)
class Table:
    """A frame and what it shows."""

    name: str
    """The name of its CSV file."""
    caption: str
    frame: pl.DataFrame
    unseen: tuple[str, ...] = ()
    """Columns that the CSV file has and the page does not show."""


def scores(comparison: Comparison) -> Table | None:
    """ID, OOD and worst of every group, the best outside of the training range first."""
    rows = []
    for m in (m for m in comparison.ordered if m.swept):
        at = "" if m.worst_at is None else f"{m.worst_at[0]} {m.worst_at[1]:g}"
        rows.append(
            {
                "algorithm": m.label,
                "seeds": m.seeds,
                **estimate_columns("nominal", m.nominal),
                **estimate_columns("ID", m.inside),
                **estimate_columns("OOD", m.outside),
                **estimate_columns("OOD IQM", m.outside_iqm),
                "OOD normalised": comparison.yardstick.normalised(m.outside.value),
                **estimate_columns("worst setting", m.worst),
                "worst at": at,
                "episodes": sum(score.episodes for score in m.scores),
                "diverged": sum(score.diverged for score in m.scores),
            }
        )
    caption = "Returns inside (ID) and outside (OOD) of the training range, over seeds"
    return make_table("scores", caption, rows, ("episodes",))


def kept_ranges(comparison: Comparison) -> Table | None:
    """How far each group can be trusted."""
    rows = []
    for m in (m for m in comparison.ordered if m.swept):
        ranges = comparison.kept(m)
        shown = {name: _range(ranges.get(name)) for name in comparison.parameters}
        rows.append({"algorithm": m.label, **shown})
    return make_table("kept", f"Scales over which {KEPT:.0%} of the worth is kept", rows)


def improvements(comparison: Comparison) -> Table | None:
    """Every group against every one ranked below it."""
    rows = [
        {"algorithm": a, "against": b, **estimate_columns("probability of a better OOD return", chance)}
        for (a, b), chance in comparison.improvements.items()
    ]
    return make_table("improvement", "How likely is a run of one better than a run of another?", rows)


def curves(comparison: Comparison) -> Table | None:
    """Every point of every robustness curve."""
    rows = [
        {
            "algorithm": m.label,
            "parameter": name,
            "scale": point.scale,
            "trained": point.trained,
            **estimate_columns("return", point.returned),
            "seeds": point.returned.runs,
            "diverged": point.diverged,
        }
        for m in comparison.groups
        for name, points in m.curves.items()
        for point in points
    ]
    return make_table("curves", "Return at every setting, over seeds", rows)


def sensitivity(comparison: Comparison) -> Table | None:
    """How returns move with the number of models K and of samples m, where runs differ in them."""
    rows = []
    normalised = comparison.yardstick.normalised
    for algo in dict.fromkeys(m.group.algo for m in comparison.ranking):
        family = [m for m in comparison.ranking if m.group.algo == algo]
        if len({_sizes(m) for m in family}) < 2:
            continue
        for m in sorted(family, key=_order):
            models, samples = _sizes(m)
            row: dict[str, Any] = {
                "algorithm": m.label,
                "K (models)": str(models),
                "m (samples)": str(samples),
            }
            row["seeds"] = m.seeds
            for what, of in (("nominal", "nominal"), ("ID", "inside"), ("OOD", "outside")):
                found = [x for y in m.runs_scores(of) if (x := normalised(y)) is not None]
                row[f"{what} mean"] = float(np.mean(found)) if found else None
                row[f"{what} std"] = float(np.std(found, ddof=1)) if len(found) > 1 else None
            rows.append(row)
    return make_table("sensitivity", "Normalised return by the size of the ensemble, over seeds", rows)


def cost(comparison: Comparison) -> Table | None:
    """What training took, on average over the runs of a group."""
    rows = []
    for m in comparison.groups:
        runs = [run for run in m.group.finished if len(run.metrics)]
        if not runs:
            continue
        seconds = [[float(run.metrics[name].sum()) for name in SECONDS] for run in runs]
        physics, branch, learning = np.mean(seconds, axis=0).tolist()
        steps = round(float(np.mean([run.steps for run in runs])))
        branches = round(float(np.mean([run.metrics["branch_steps"][-1] or 0 for run in runs])))
        total = physics + branch + learning
        rows.append(
            {
                "algorithm": m.label,
                "runs": len(runs),
                "steps": steps,
                "branch steps": branches,
                "physics s": physics,
                "branch s": branch,
                "learning s": learning,
                "total s": total,
                "steps per s": steps / total if total > 0 else None,
            }
        )
    return make_table("cost", "What training took, mean of a run", rows)


def matched(comparison: Comparison) -> Table | None:
    """Training returns at equal cost."""
    if not comparison.matched:
        return None
    names = {
        m.cost: f"return at {m.at:,.0f} {m.cost}" if m.at >= 10 else f"return at {m.at:.3g} {m.cost}"
        for m in comparison.matched
    }
    rows = []
    for label in comparison.matched[0].returned:
        row: dict[str, Any] = {"algorithm": label}
        for m in comparison.matched:
            row |= estimate_columns(names[m.cost], m.returned[label])
        rows.append(row)
    return make_table("matched", "Training return when every algorithm had spent as much", rows)


def found(comparison: Comparison) -> Table | None:
    """The worst cases that searches found, one row for each run."""
    rows = []
    for m in comparison.groups:
        for run in m.searched:
            f = run.results["search"]
            axis = Interval(f.axis.returned, f.axis.low, f.axis.high)
            rows.append(
                {
                    "algorithm": m.label,
                    "seed": run.seed,
                    **estimate_columns("return", Interval(f.returned, f.low, f.high)),
                    **f.point,
                    **estimate_columns("worst on an axis", axis),
                    "axis": f"{f.axis.parameter} {f.axis.scale:g}",
                    "below": f.below,
                    "episodes searched": f.evaluations,
                }
            )
    return make_table("worst-cases", "The worst dynamics found in the whole test box", rows)


def runs(comparison: Comparison) -> Table | None:
    """Every run, with its own scores."""
    rows = []
    for m in comparison.groups:
        for run, score in zip(m.group.runs, m.scores, strict=True):
            rows.append(
                {
                    "algorithm": m.label,
                    "seed": run.seed,
                    "steps": run.steps,
                    "finished": run.finished,
                    **{
                        name: x if isfinite(x := getattr(score, of)) else None
                        for name, of in (
                            ("nominal", "nominal"),
                            ("ID", "inside"),
                            ("OOD", "outside"),
                            ("worst", "worst"),
                        )
                    },
                    "diverged": score.diverged,
                    "folder": str(run.folder),
                }
            )
    return make_table("runs", "Every run", rows)


def across_tasks(found: Sequence[Across]) -> Table | None:
    """All tasks together: one row for each group."""
    rows = [
        {
            "algorithm": a.label,
            **estimate_columns("normalised OOD IQM", a.outside_iqm),
            **estimate_columns(f"probability that {found[0].label} is better", a.beats),
        }
        for a in found
    ]
    return make_table(
        "across-tasks", "All tasks together: normalised return outside of the training range", rows
    )


def make_table(
    name: str, caption: str, rows: list[dict[str, Any]], unseen: tuple[str, ...] = ()
) -> Table | None:
    """A table of rows; None where there are none."""
    if not rows:
        return None
    return Table(name, caption, pl.DataFrame(rows, infer_schema_length=None), unseen)


def estimate_columns(name: str, found: Interval) -> dict[str, float | None]:
    """An estimate and the ends of its interval as three columns, None where they are not known."""
    ends = (("", found.value), ("_low", found.low), ("_high", found.high))
    return {name + end: x if isfinite(x) else None for end, x in ends}


def _range(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"{ends[0]:g} to {ends[1]:g}"


def _sizes(m: GroupScores) -> tuple[Any, Any]:
    options = m.group.runs[0].options
    return options.get("models", ""), options.get("samples", "")


def _order(m: GroupScores) -> tuple[float, float]:
    models, samples = _sizes(m)
    return tuple(float(x) if isinstance(x, int | float) else float("inf") for x in (models, samples))  # pyright: ignore[reportReturnType]
