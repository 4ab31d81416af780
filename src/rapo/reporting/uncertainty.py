"""Which uncertain parameter matters: how much each moves the value of a step, as sensitivities learned it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rapo.reporting.charts import Figure
from rapo.reporting.comparison import Comparison
from rapo.reporting.over_training import POINTS, choice, leader_first, lines_panel, thin
from rapo.reporting.run_record import RunRecord
from rapo.reporting.tables import Table, make_table

LAST = 0.1
"""The share of training, at its end, that a table is about."""
HARDLY = 0.1
"""A parameter of a smaller share hardly matters."""


def importance(run: RunRecord) -> dict[str, float]:
    """The share of each parameter in the mean size of all sensitivities at the end of training; {} if
    unknown."""
    rows = _sensed(run)
    if rows is None:
        return {}
    sizes = np.array(rows["sensitivity"].to_list())
    last = sizes[-max(1, round(LAST * len(sizes))) :].mean(axis=0)
    return dict(zip(run.movable, (last / last.sum()).tolist(), strict=True)) if last.sum() > 0 else {}


def in_words(shares: Mapping[str, float]) -> str:
    """What to measure first, in a sentence."""
    if not shares:
        return ""
    ordered = sorted(shares, key=lambda name: -shares[name])
    first = ordered[0]
    hardly = [name for name in ordered[1:] if shares[name] < HARDLY]
    rest = f", {' and '.join(hardly)} hardly" if hardly else ""
    return f"{first} moves the value most ({shares[first]:.0%}){rest}: measure {first} first."


def uncertainty_figure(comparison: Comparison) -> Figure | None:
    """Sensitivities over training, and how well they are predicted."""
    choices: dict[str, Any] = {}
    for m in leader_first(comparison):
        run = m.group.finished[0]
        rows = _sensed(run)
        if rows is None:
            continue
        rows = rows[thin(len(rows), POINTS)]
        steps, sizes = rows["steps"].to_list(), np.array(rows["sensitivity"].to_list())
        by_name = {name: sizes[:, i] for i, name in enumerate(run.movable)}
        r2 = rows["sensitivity_r2"].to_numpy()
        choices[choice(run, m)] = [
            lines_panel("sensitivity", "change in value", steps, by_name),
            lines_panel(
                "how well it is predicted",
                "R2",
                steps,
                {"R2 of new probes": r2},
                (min(0.0, float(r2.min())), 1.0),
            ),
        ]
    if not choices:
        return None
    return Figure(
        "uncertainty",
        "By how much the value of a step changes over half the training range of each parameter, "
        "averaged over the states that the policy visits; and the share of the variance of new "
        "probes that is predicted before it is learned from.",
        choices,
    )


def uncertainty_table(comparison: Comparison) -> Table | None:
    """The share of each parameter, the mean over the runs of a group."""
    rows = []
    for m in comparison.groups:
        found = [shares for run in m.group.finished if (shares := importance(run))]
        if found:
            names = found[0]
            shares = {name: float(np.mean([f[name] for f in found if name in f])) for name in names}
            rows.append({"algorithm": m.label, "seeds": len(found), **shares, "in words": in_words(shares)})
    return make_table("uncertainty", "The share of each parameter in the sensitivity of the value", rows)


def _sensed(run: RunRecord) -> Any:
    """The updates in which sensitivities of all parameters were recorded; None if there are none."""
    rows = run.metrics.drop_nulls(["sensitivity", "sensitivity_r2"])
    rows = rows.filter(rows["sensitivity"].list.len() == len(run.movable))
    return rows if len(rows) and run.movable else None
