"""What happened during training, as interactive figures: learning, values, mixture, temperature and budget.

Learning is a mean over seeds; the others show one run of a group at a time, its first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rapo.reporting.charts import Figure, crowded_out, short
from rapo.reporting.comparison import Comparison, GroupScores
from rapo.reporting.equal_cost import Cost, spent
from rapo.reporting.run_record import RunRecord

COLUMNS = 60
"""Of a heatmap over training, at most."""
POINTS = 120
"""Of a line over training, at most."""
TELLING = 0.05
"""A heatmap whose values differ over scales by less, as a share of all they go through, shows only time."""
MOVED = 0.01
"""A mixture whose weights all stay within this share of an equal weight has not moved."""


@dataclass(frozen=True)
class Drawn:
    """A figure of what there is to see, and a sentence about what there is not."""

    figure: Figure | None
    left_out: str = ""


def training(comparison: Comparison) -> Figure | None:
    """Training return over steps and over seconds, the mean over the runs of each group."""
    panels = []
    costs: tuple[tuple[Cost, str], ...] = (
        ("steps", "environment steps"),
        ("seconds", "seconds of wall-clock"),
    )
    for cost, title in costs:
        lines = []
        for m in comparison.groups:
            curve = _training_curve(m.group.finished, cost)
            if curve is not None:
                lines.append({"label": m.label, "x": curve[0], "y": curve[1]})
        words = {"title": f"over {title}", "x": title, "y": "training return"}
        panels.append({"kind": "curves", **words, "lines": lines})
    if not any(panel["lines"] for panel in panels):
        return None
    drawn = {line["label"] for panel in panels for line in panel["lines"]}
    groups = [m for m in comparison.groups if m.label in drawn]
    return Figure(
        "training",
        "Mean return of the episodes of training, smoothed, mean over seeds. Every algorithm is measured "
        "under the dynamics that it trains with, so that a high curve is no proof of robustness.",
        {"": panels},
        tuple(m.label for m in groups),
        crowded_out(comparison, groups),
    )


def heatmaps(comparison: Comparison) -> Drawn:
    """What the critic thinks of every scale as training goes on, with the scale it likes best."""
    choices: dict[str, Any] = {}
    flat: list[str] = []
    for m in leader_first(comparison):
        run = next((run for run in m.group.runs if "heatmap" in run.results), None)
        panels = [] if run is None else heatmap_panels(run)
        if run is not None and panels:
            telling = [panel for panel in panels if _tells(panel)]
            name = choice(run, m)
            if telling:
                choices[name] = telling
            if len(telling) < len(panels):
                quiet = [panel["title"] for panel in panels if panel not in telling]
                flat.append(f"{name} ({'all' if not telling else ', '.join(quiet)})")
    left_out = ""
    if flat:
        left_out = (
            f"Parameters over whose scales a critic's value differs by less than {TELLING:.0%} of what it "
            f"goes through in training are not drawn: {'; '.join(flat)}."
        )
    if not choices:
        return Drawn(None, left_out)
    caption = (
        "The critic's one-step value at every scale of one parameter, the others nominal, as training goes "
        "on. The line follows the scale of the highest value; dotted lines are the ends of the training "
        "range."
    )
    return Drawn(Figure("heatmaps", f"{caption} {left_out}".strip(), choices), left_out)


def _tells(panel: Mapping[str, Any]) -> bool:
    """Whether a heatmap shows more than that training goes on: values differ over scales."""
    cells = np.array(panel["cells"], float)  # [scales, records], None becomes NaN
    known = cells[:, np.isfinite(cells).any(axis=0)]
    over_scales = float((np.nanmax(known, axis=0) - np.nanmin(known, axis=0)).max())
    return over_scales > 0 and over_scales >= TELLING * float(np.nanmax(known) - np.nanmin(known))


def leader_first(comparison: Comparison) -> list[GroupScores]:
    """The groups in the order in which they can be chosen."""
    return sorted(comparison.groups, key=lambda m: m not in comparison.ranking[:1])


def choice(run: RunRecord, m: GroupScores) -> str:
    """What a run is called where one can be chosen."""
    return f"{m.label}, seed {run.seed}"


def heatmap_panels(run: RunRecord) -> list[dict[str, Any]]:
    """A panel for each parameter; none where nothing was recorded."""
    records = run.results["heatmap"]
    records = [records[i] for i in thin(len(records), COLUMNS)]
    names = [name for name in run.ranges if records and all(name in r["values"] for r in records)]
    panels = []
    for name in names:
        scales = records[0]["scales"][name]
        rows = [r for r in records if r["scales"].get(name) == scales]
        values = np.array([r["values"][name] for r in rows], float)
        if not np.isfinite(values).any():
            continue
        best = np.where(np.isfinite(values), values, -np.inf).argmax(axis=1)
        panels.append(
            {
                "kind": "heatmap",
                "title": name,
                "x": "environment steps",
                "y": f"scale of {name}",
                "unit": "value",
                "columns": [r["steps"] for r in rows],
                "rows": [short(s) for s in scales],
                "cells": [[short(v) for v in column] for column in values.T.tolist()],
                "trace": [
                    short(scales[i]) if known.any() else None
                    for i, known in zip(best, np.isfinite(values), strict=True)
                ],
                "trace_name": "highest value",
                "shade": list(run.ranges[name].train),
            }
        )
    return panels


def mixtures(comparison: Comparison) -> Drawn:
    """The weights of the models over training, and how many of them are in play."""
    choices: dict[str, Any] = {}
    still: list[str] = []
    for m in leader_first(comparison):
        run = m.group.finished[0]
        table = run.metrics.drop_nulls(["mixture", "mixture_entropy"])
        if not len(table) or len(table["mixture"][-1]) < 2:
            continue
        table = table.filter(pl.col("mixture").list.len() == len(table["mixture"][-1]))
        table = table[thin(len(table), COLUMNS)]
        weights = np.array(table["mixture"].to_list())
        if np.ptp(weights, axis=0).max() * weights.shape[1] < MOVED:
            still.append(choice(run, m))
            continue
        steps = table["steps"].to_list()
        choices[choice(run, m)] = [
            {
                "kind": "heatmap",
                "title": "weight of each model",
                "x": "environment steps",
                "y": "model",
                "unit": "weight",
                "columns": steps,
                "rows": list(range(1, weights.shape[1] + 1)),
                "cells": [[short(w) for w in row] for row in weights.T.tolist()],
            },
            lines_panel(
                "models in play",
                "exp of entropy",
                steps,
                {"models in play": np.exp(table["mixture_entropy"].to_numpy())},
                (0, weights.shape[1]),
            ),
        ]
    left_out = f"Weights that never moved are not drawn: {'; '.join(still)}." if still else ""
    if not choices:
        return Drawn(None, left_out)
    caption = (
        "How reweighting moves the ensemble toward the models that hurt. Models in play: as many models of "
        "equal weight would be as spread out."
    )
    return Drawn(Figure("mixture", f"{caption} {left_out}".strip(), choices), left_out)


def temperatures(comparison: Comparison) -> Figure | None:
    """Temperature and budget use over training."""
    choices = {}
    for m in leader_first(comparison):
        run = m.group.finished[0]
        table = run.metrics.drop_nulls(["eta_p50", "kl"])
        if not len(table):
            continue
        table = table[thin(len(table), POINTS)]
        steps = table["steps"].to_list()
        temperature = lines_panel("temperature", "eta", steps, {"median": table["eta_p50"].to_numpy()})
        temperature["lines"][0] |= {
            "low": [short(x) for x in table["eta_p10"].to_list()],
            "high": [short(x) for x in table["eta_p90"].to_list()],
            "band": "10% to 90%",
        }
        used = {"KL used": table["kl"].to_numpy()}
        if table["epsilon"].null_count() == 0:
            used["budget epsilon"] = table["epsilon"].to_numpy()
        choices[choice(run, m)] = [temperature, lines_panel("budget use", "KL", steps, used)]
    if not choices:
        return None
    return Figure(
        "temperature",
        "How sharply targets are tilted toward worse models (the median and the middle 80% of steps), and "
        "how much of the KL budget epsilon that takes.",
        choices,
    )


def lines_panel(
    title: str, y: str, steps: list[int], lines: dict[str, Any], limits: tuple[float, float] | None = None
) -> dict[str, Any]:
    """A panel of lines over steps that belong to no group."""
    panel = {
        "kind": "curves",
        "title": title,
        "x": "environment steps",
        "y": y,
        "lines": [
            {"label": None, "name": name, "x": steps, "y": [short(v) for v in values.tolist()]}
            for name, values in lines.items()
        ],
    }
    return panel if limits is None else panel | {"range": list(limits)}


def _training_curve(runs: Sequence[RunRecord], cost: Cost) -> tuple[list[float], list[float | None]] | None:
    """Smoothed returns on a grid of costs that all runs reach."""
    curves = []
    for run in runs:
        ended = run.metrics["return"].is_not_null().to_numpy()
        if ended.sum() > 1:
            curves.append((spent(run.metrics, cost)[ended], run.metrics["return"].to_numpy()[ended]))
    if not curves:
        return None
    end = min(float(x[-1]) for x, _ in curves)
    start = max(float(x[0]) for x, _ in curves)
    if not end > start:
        return None
    grid = np.linspace(start, end, POINTS)
    smooth = [np.interp(grid, x, _smoothed(y)) for x, y in curves]
    return [float(f"{x:.5g}") for x in grid], [short(y) for y in np.mean(smooth, axis=0).tolist()]


def _smoothed(values: np.ndarray) -> np.ndarray:
    """A moving mean over a fortieth of the updates."""
    width = max(1, len(values) // 40)
    sums = np.cumsum(np.concatenate(([0.0], values)))
    low = np.maximum(0, np.arange(len(values)) + 1 - width)
    high = np.arange(len(values)) + 1
    return (sums[high] - sums[low]) / (high - low)


def thin(length: int, most: int) -> list[int]:
    """Evenly spaced places, the last one among them."""
    if length <= most:
        return list(range(length))
    return np.unique(np.linspace(0, length - 1, most).round().astype(int)).tolist()
