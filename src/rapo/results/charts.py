"""The interactive figures of the page, as plain data: panels of traces that the page's script draws.

A trace names what it belongs to and the number of its look; colours are the page's, so that they follow light
and dark. Figures of several tasks are never made: each function takes one `Study`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from rapo.errors import InputError
from rapo.results.load import Record
from rapo.results.pieces import read_heatmap
from rapo.results.study import Measured, Study

COLUMNS = 60
"""Of a heatmap over training, at most."""
POINTS = 120
"""Of a line over training, at most."""


@dataclass(frozen=True)
class Figure:
    """Panels beside each other under one legend, or one set of panels for each choice."""

    name: str
    title: str
    caption: str
    choices: dict[str, list[dict[str, Any]]]
    """Panels by choice; one choice called "" where there is nothing to choose."""
    legend: tuple[str, ...] = ()
    """Labels of the groups that can be hidden."""

    def data(self) -> dict[str, Any]:
        """What the page's script needs."""
        return {"choices": self.choices, "legend": list(self.legend)}


def robustness(study: Study, groups: Sequence[Measured], name: str, title: str, caption: str) -> Figure | None:
    """Return over the scale of each parameter, a panel each, with bands over seeds and the training range."""
    groups = [m for m in groups if m.swept]
    if not groups:
        return None
    foreign = {run.task for m in groups for run in m.group.runs} - {study.task}
    if foreign:
        raise InputError(
            f"runs of {', '.join(sorted(foreign))} were given for a figure of {study.task}: "
            "allowed is one task in one figure"
        )
    low, high = _limits(groups)
    panels = []
    for parameter in study.parameters:
        lines = []
        for m in groups:
            points = m.curves.get(parameter, [])
            if points:
                lines.append(
                    {
                        "label": m.label,
                        "x": [p.scale for p in points],
                        "y": [_short(p.returned.value) for p in points],
                        "low": [_short(p.returned.low) for p in points],
                        "high": [_short(p.returned.high) for p in points],
                        "seeds": [p.returned.runs for p in points],
                        "diverged": [p.diverged for p in points],
                    }
                )
        panels.append(
            {
                "kind": "curves",
                "title": parameter,
                "x": f"scale of {parameter}",
                "y": "return",
                "range": [low, high],
                "shade": list(study.ranges[parameter].train),
                "nominal": study.ranges[parameter].nominal,
                "lines": lines,
            }
        )
    return Figure(name, title, caption, {"": panels}, tuple(m.label for m in groups))


def training(study: Study) -> Figure | None:
    """Training return over steps and over seconds, the mean over the runs of each group."""
    panels = []
    for cost, title in (("steps", "environment steps"), ("seconds", "seconds of wall-clock")):
        lines = []
        for m in study.groups:
            curve = _training_curve(m.group.finished, cost)
            if curve is not None:
                lines.append({"label": m.label, "x": curve[0], "y": curve[1]})
        panels.append({"kind": "curves", "title": f"over {title}", "x": title, "y": "training return", "lines": lines})
    if not any(panel["lines"] for panel in panels):
        return None
    labels = [m.label for m in study.groups if any(m.label == x["label"] for p in panels for x in p["lines"])]
    return Figure(
        "training",
        "Learning",
        "Mean return of the episodes of training, smoothed, mean over seeds. Every algorithm is measured under the "
        "dynamics that it trains with, so these are not comparable as robustness is.",
        {"": panels},
        tuple(labels),
    )


def heatmaps(study: Study) -> Figure | None:
    """What the critic thinks of every scale as training goes on, with the scale it likes best."""
    choices = {}
    for m in study.groups:
        run = next((run for run in m.group.runs if run.heatmap), None)
        panels = [] if run is None else heatmap_panels(run)
        if run is not None and panels:
            choices[f"{m.label}, seed {run.seed}"] = panels
    if not choices:
        return None
    return Figure(
        "heatmaps",
        "What training saw as hard",
        "The critic's one-step value at every scale of one parameter, the others nominal, as training goes on. The line "
        "follows the scale of the highest value; where it runs straight the policy has settled.",
        choices,
    )


def heatmap_panels(run: Record) -> list[dict[str, Any]]:
    """A panel for each parameter; none where nothing can be read."""
    try:
        records = read_heatmap(run.folder)
    except InputError:
        return []
    records = [records[i] for i in _thin(len(records), COLUMNS)]
    names = [name for name in run.ranges if records and all(name in r["values"] for r in records)]
    panels = []
    for name in names:
        scales = records[0]["scales"][name]
        rows = [r for r in records if r["scales"][name] == scales]
        values = np.array([r["values"][name] for r in rows], float)
        best = np.where(np.isfinite(values), values, -np.inf).argmax(axis=1)
        panels.append(
            {
                "kind": "heatmap",
                "title": name,
                "x": "environment steps",
                "y": f"scale of {name}",
                "unit": "value",
                "columns": [r["steps"] for r in rows],
                "rows": [_short(s) for s in scales],
                "cells": [[_short(v) for v in column] for column in values.T.tolist()],
                "trace": [_short(scales[i]) for i in best],
                "trace_name": "highest value",
                "shade": list(run.ranges[name].train),
            }
        )
    return panels


def mixtures(study: Study) -> Figure | None:
    """The weights of the models over training, and how many of them are in play."""
    choices = {}
    for m in study.groups:
        run = m.group.finished[0]
        table = run.metrics.drop_nulls("mixture")
        if not len(table) or len(table["mixture"][-1]) < 2:
            continue
        table = table[_thin(len(table), COLUMNS)]
        weights = np.array(table["mixture"].to_list())
        steps = table["steps"].to_list()
        choices[f"{m.label}, seed {run.seed}"] = [
            {
                "kind": "heatmap",
                "title": "weight of each model",
                "x": "environment steps",
                "y": "model",
                "unit": "weight",
                "columns": steps,
                "rows": list(range(1, weights.shape[1] + 1)),
                "cells": [[_short(w) for w in row] for row in weights.T.tolist()],
            },
            _lines(
                "models in play",
                "exp of entropy",
                steps,
                {"models in play": np.exp(table["mixture_entropy"].to_numpy())},
                (0, weights.shape[1]),
            ),
        ]
    if not choices:
        return None
    return Figure(
        "mixture",
        "The mixture of models",
        "How Boltzmann reweighting moves the ensemble toward the models that hurt. Models in play: as many equal weights "
        "would be as spread out.",
        choices,
    )


def temperatures(study: Study) -> Figure | None:
    """Temperature and budget use over training."""
    choices = {}
    for m in study.groups:
        run = m.group.finished[0]
        table = run.metrics.drop_nulls(["eta_p50", "kl"])
        if not len(table):
            continue
        table = table[_thin(len(table), POINTS)]
        steps = table["steps"].to_list()
        temperature = _lines("temperature η", "η", steps, {"median": table["eta_p50"].to_numpy()})
        temperature["lines"][0] |= {
            "low": [_short(x) for x in table["eta_p10"].to_list()],
            "high": [_short(x) for x in table["eta_p90"].to_list()],
            "band": "10% to 90%",
        }
        used = {"KL used": table["kl"].to_numpy()}
        if table["epsilon"].null_count() == 0:
            used["budget ε"] = table["epsilon"].to_numpy()
        choices[f"{m.label}, seed {run.seed}"] = [temperature, _lines("budget use", "KL", steps, used)]
    if not choices:
        return None
    return Figure(
        "temperature",
        "Temperature and budget use",
        "How sharply the targets are tilted toward worse models (median and the middle 80% of steps), and how much of the "
        "KL budget ε that takes.",
        choices,
    )


def _lines(
    title: str, y: str, steps: list[int], lines: dict[str, Any], limits: tuple[float, float] | None = None
) -> dict[str, Any]:
    """A panel of lines over steps that belong to no group."""
    panel = {
        "kind": "curves",
        "title": title,
        "x": "environment steps",
        "y": y,
        "lines": [
            {"label": None, "name": name, "x": steps, "y": [_short(v) for v in values.tolist()]}
            for name, values in lines.items()
        ],
    }
    return panel if limits is None else panel | {"range": list(limits)}


def _training_curve(runs: Sequence[Record], cost: str) -> tuple[list[float], list[float | None]] | None:
    """Smoothed returns on a grid of costs that all runs reach."""
    from rapo.results.matched import spent

    curves = []
    for run in runs:
        table = run.metrics.filter(run.metrics["return"].is_not_null())
        if len(table) > 1:
            curves.append((spent(table, "steps" if cost == "steps" else "seconds"), table["return"].to_numpy()))
    if not curves:
        return None
    end = min(float(x[-1]) for x, _ in curves)
    start = max(float(x[0]) for x, _ in curves)
    if not end > start:
        return None
    grid = np.linspace(start, end, POINTS)
    smooth = [np.interp(grid, x, _smoothed(y)) for x, y in curves]
    return [float(f"{x:.5g}") for x in grid], [_short(y) for y in np.mean(smooth, axis=0).tolist()]


def _smoothed(values: np.ndarray) -> np.ndarray:
    """A moving mean over a fortieth of the updates."""
    width = max(1, len(values) // 40)
    sums = np.cumsum(np.concatenate(([0.0], values)))
    low = np.maximum(0, np.arange(len(values)) + 1 - width)
    high = np.arange(len(values)) + 1
    return (sums[high] - sums[low]) / (high - low)


def _limits(groups: Sequence[Measured]) -> tuple[float, float]:
    """Returns that all panels should show; the wild bands of two seeds are cut off rather than the curves."""
    points = [p.returned for m in groups for points in m.curves.values() for p in points]
    ends = [p.value for p in points]
    for p in points:
        if p.runs > 2:
            ends += [p.low, p.high]
    ends = [x for x in ends if isfinite(x)] or [0.0]
    low, high = min(ends), max(ends)
    centre = [p.value for p in points if isfinite(p.value)] or [0.0]
    spread = max(centre) - min(0.0, min(centre)) or 1.0
    low, high = max(low, min(centre) - 0.3 * spread), min(high, max(centre) + 0.3 * spread)
    low = min(0.0, low)
    return float(low), float(high + 0.05 * (high - low or 1.0))


def _thin(length: int, most: int) -> list[int]:
    """Evenly spaced places, the last one among them."""
    if length <= most:
        return list(range(length))
    return np.unique(np.linspace(0, length - 1, most).round().astype(int)).tolist()


def _short(value: float | None) -> float | None:
    """Four digits are more than an eye can see."""
    if value is None or not isfinite(value):
        return None
    return float(f"{value:.4g}")
