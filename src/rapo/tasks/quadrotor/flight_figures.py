"""Figures of flights: paths in space, and x, y and z over time, for print and for the page of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rapo.arrays import Floats
from rapo.reporting import charts
from rapo.reporting.colours import Look, predicted
from rapo.reporting.print_figures import PANEL, STYLE, panels_of, plain
from rapo.tasks.quadrotor.flight_scores import Flight, beside
from rapo.tasks.quadrotor.flights import AXES

REFERENCE = "reference"
"""What the curve is called that flights should follow."""
SPACE = (3.2, 2.5)
"""Inches of a panel in three dimensions."""
ROOM = 0.05
"""Metres around paths."""
WANTED: Any = {"color": "#5f6670", "linestyle": (0, (5, 2)), "linewidth": 0.9}
CRASH: Any = {"marker": "x", "markersize": 7, "markeredgewidth": 1.8, "linestyle": "none"}
"""How a reference and the end of a crashed flight are drawn."""


def interactive(found: Sequence[Flight], looks: Mapping[str, Look]) -> charts.Figure | None:
    """Paths in space, and x, y and z over time, beside the reference; a cross is a crash."""
    if not found:
        return None
    longest = max(found, key=lambda flight: len(flight.time))
    curves = [(REFERENCE, longest.time, longest.reference, False)]
    curves += [(flight.label, flight.time, flight.payload, flight.crashed) for flight in found]
    space = [
        {"label": label, **{axis: _millimetres(points[:, i]) for i, axis in enumerate(AXES)}, "crashed": end}
        for label, _, points, end in curves
    ]
    panels: list[dict[str, Any]] = [
        {"kind": "path", "title": "in space", **{axis: f"{axis} (m)" for axis in AXES}, "lines": space}
    ]
    for i, axis in enumerate(AXES):
        lines = [
            {"label": label, "x": _millimetres(time), "y": _millimetres(points[:, i]), "crashed": end}
            for label, time, points, end in curves
        ]
        words = {"title": f"{axis} over time", "x": "time (s)", "y": f"{axis} (m)"}
        panels.append({"kind": "curves", **words, "lines": lines})
    labels = tuple(label for label, *_ in curves)
    shown = [REFERENCE, *(flight.label for flight in beside(found))]
    return charts.Figure(
        "flights",
        "",
        {"": panels},
        labels,
        tuple(label for label in labels if label not in shown),
        {label: asdict(looks.get(label, predicted(0))) for label in labels},
    )


def paths(flights: Sequence[Flight], looks: Mapping[str, Look]) -> Figure:
    """The path of every payload in space beside the reference, a panel each; a cross is a crash."""
    whole = max(flights, key=lambda flight: len(flight.time)).reference
    everything = np.concatenate([whole, *(flight.payload for flight in flights)])
    low, high = everything.min(axis=0) - ROOM, everything.max(axis=0) + ROOM
    with mpl.rc_context(STYLE):
        figure, axes = panels_of(len(flights), None, SPACE, projection="3d")
        figure.subplots_adjust(left=0.01, right=0.92, top=1.0, bottom=0.1, wspace=0.15, hspace=0.05)
        for axis, flight in zip(axes, flights, strict=True):
            axis.plot(*whole.T, **WANTED)
            axis.plot(*flight.payload.T, color=looks[flight.label].light, linewidth=1.2)
            if flight.crashed:
                axis.plot(*flight.payload[-1:].T, color=looks[flight.label].light, **CRASH)
            axis.set(xlabel="x (m)", ylabel="y (m)", zlabel="z (m)")
            axis.set_title(plain(flight.label), y=0.9)
            axis.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
            axis.set_box_aspect(high - low, zoom=0.9)
            axis.locator_params(nbins=4)
            axis.tick_params(pad=0)
            for side in (axis.xaxis, axis.yaxis, axis.zaxis):
                side.set_pane_color("white")
                side.line.set_linewidth(0.6)
                side.labelpad = 0
        figure.legend(handles=_flight_legend(flights, ()), loc="lower center", ncols=2, frameon=False)
    return figure


def over_time(flights: Sequence[Flight], looks: Mapping[str, Look]) -> Figure:
    """x, y and z of every payload over time beside the reference; a cross is a crash."""
    longest = max(flights, key=lambda flight: len(flight.time))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(PANEL[0] * 3 + 0.3, PANEL[1] * 2), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(len(AXES), sharex=True)
        for i, (axis, name) in enumerate(zip(axes, AXES, strict=True)):
            axis.plot(longest.time, longest.reference[:, i], **WANTED)
            for flight in flights:
                colour = looks[flight.label].light
                axis.plot(flight.time, flight.payload[:, i], color=colour, linewidth=1.2)
                if flight.crashed:
                    axis.plot(flight.time[-1:], flight.payload[-1:, i], color=colour, **CRASH)
            axis.set_ylabel(f"{name} (m)")
            axis.margins(x=0.01)
        axes[-1].set_xlabel("time (s)")
        lines = _flight_legend(flights, [(flight.label, looks[flight.label]) for flight in flights])
        figure.legend(handles=lines, loc="outside lower center", ncols=min(5, len(lines)), frameon=False)
    return figure


def _flight_legend(flights: Sequence[Flight], names: Sequence[tuple[str, Look]]) -> list[Line2D]:
    """What a legend says: the reference, the names, and crashes where there are any."""
    lines = [Line2D([], [], label="reference", **WANTED)]
    lines += [Line2D([], [], color=look.light, linewidth=1.2, label=plain(name)) for name, look in names]
    if any(flight.crashed for flight in flights):
        lines.append(Line2D([], [], color="black", label="crash", **CRASH))
    return lines


def _millimetres(values: Floats) -> list[float]:
    return values.round(3).tolist()
