"""The interactive figures of the page, as plain data: panels of traces that the page's script draws.

A trace names the group it belongs to; colours are the page's, so that they follow light and dark. Figures of
several tasks are never made: each takes one `Comparison`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from rapo.errors import InputError
from rapo.reporting.comparison import Comparison, GroupScores

CROWD = 6
"""More curves than this hide each other."""


@dataclass(frozen=True)
class Figure:
    """Panels beside each other under one legend, or one set of panels for each choice."""

    name: str
    caption: str
    choices: dict[str, list[dict[str, Any]]]
    """Panels by choice; one choice called "" where there is nothing to choose."""
    legend: tuple[str, ...] = ()
    """Labels of the groups that can be hidden."""
    hidden: tuple[str, ...] = ()
    """Labels of the groups that are hidden at first."""
    looks: Mapping[str, Any] | None = None
    """How to draw labels; those of the page where it is not given."""

    def data(self) -> dict[str, Any]:
        """What the page's script needs."""
        data = {"choices": self.choices, "legend": list(self.legend), "hidden": list(self.hidden)}
        return data if self.looks is None else data | {"looks": self.looks}


def robustness(
    comparison: Comparison, groups: Sequence[GroupScores], name: str, caption: str
) -> Figure | None:
    """Return over the scale of each parameter, a panel each, with bands over seeds and the training range."""
    groups = [m for m in groups if m.swept]
    if not groups:
        return None
    foreign = {run.task for m in groups for run in m.group.runs} - {comparison.task}
    if foreign:
        raise InputError(
            f"runs of {', '.join(sorted(foreign))} were given for a figure of {comparison.task}: "
            "allowed is one task in one figure"
        )
    low, high = return_limits(groups)
    panels = []
    for parameter in comparison.parameters:
        lines = []
        for m in groups:
            points = m.curves.get(parameter, [])
            if points:
                lines.append(
                    {
                        "label": m.label,
                        "x": [p.scale for p in points],
                        "y": [short(p.returned.value) for p in points],
                        "low": [short(p.returned.low) for p in points],
                        "high": [short(p.returned.high) for p in points],
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
                "shade": list(comparison.ranges[parameter].train),
                "nominal": comparison.ranges[parameter].nominal,
                "lines": lines,
            }
        )
    labels = tuple(m.label for m in groups)
    return Figure(name, caption, {"": panels}, labels, crowded_out(comparison, groups))


def plainest(comparison: Comparison, groups: Sequence[GroupScores]) -> list[GroupScores]:
    """One group of each algorithm: that with the defaults, or else the best of them."""
    found: dict[str, GroupScores] = {}
    for m in [*comparison.ranking, *comparison.groups]:
        if m in groups and (m.group.algo not in found or m.label == m.group.algo):
            found[m.group.algo] = m
    return [m for m in groups if m is found.get(m.group.algo)]


def crowded_out(comparison: Comparison, groups: Sequence[GroupScores]) -> tuple[str, ...]:
    """Labels to hide at first where there are too many: variants, as long as they do not lead."""
    if len(groups) <= CROWD:
        return ()
    plain = [m for m in plainest(comparison, groups) if not m.group.algo.startswith("rapo-")]
    shown = {m.label for m in (*plain, *comparison.ranking[:1])}
    return tuple(m.label for m in groups if m.label not in shown)


def short(value: float | None) -> float | None:
    """Four digits are more than an eye can see."""
    if value is None or not isfinite(value):
        return None
    return float(f"{value:.4g}")


def return_limits(groups: Sequence[GroupScores]) -> tuple[float, float]:
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
