"""Figures for print, as PDF and PNG: one task each, drawn without a display and without global state."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rapo.errors import InputError
from rapo.reporting.colours import MATPLOTLIB_DASHES, MATPLOTLIB_MARKERS, Look
from rapo.reporting.comparison import Measured, Study
from rapo.tasks.quadrotor.flight_scores import Flight
from rapo.tasks.quadrotor.flights import AXES

STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "grid.linewidth": 0.4,
    "grid.color": "#d5d9de",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "pdf.fonttype": 42,
    "svg.hashsalt": "rapo",
}
DATED: Any = {"pdf": {"CreationDate": None}, "png": {"Software": None}, "svg": {"Date": None}}
"""What a file of each kind must not say, for the same figure to give the same bytes."""
PANEL = (2.3, 2.1)
"""Inches."""
SPACE = (3.2, 2.5)
"""Inches of a panel in three dimensions."""
ROOM = 0.05
"""Metres around paths."""
SHADE = "#eaf1f7"
WANTED: Any = {"color": "#5f6670", "linestyle": (0, (5, 2)), "linewidth": 0.9}
CRASH: Any = {"marker": "x", "markersize": 7, "markeredgewidth": 1.8, "linestyle": "none"}
"""How a reference and the end of a crashed flight are drawn."""


def robustness(
    study: Study, groups: Sequence[Measured], looks: Mapping[str, Look], limits: Sequence[float]
) -> Figure:
    """Return over the scale of each parameter, with 95% intervals over seeds and a shaded training range."""
    tasks = {run.task for m in groups for run in m.group.runs}
    if tasks != {study.task}:
        raise InputError(
            f"runs of {', '.join(sorted(tasks))} were given for a figure of {study.task}: "
            "allowed is one task in one figure"
        )
    names = study.parameters
    with mpl.rc_context(STYLE):
        figure, axes = _panels(len(names), "constrained")
        for axis, name in zip(axes, names, strict=True):
            axis.axvspan(*study.ranges[name].train, color=SHADE, linewidth=0, zorder=0)
            for m in groups:
                points = m.curves.get(name, [])
                look = looks[m.label]
                x = [p.scale for p in points]
                ends = np.array([[p.returned.low, p.returned.high] for p in points]).reshape(-1, 2)
                axis.fill_between(x, ends[:, 0], ends[:, 1], color=look.light, alpha=0.14, linewidth=0)
                axis.plot(
                    x,
                    [p.returned.value for p in points],
                    color=look.light,
                    linestyle=MATPLOTLIB_DASHES[look.dash],
                    marker=MATPLOTLIB_MARKERS[look.marker],
                    markersize=3,
                    linewidth=1.2,
                )
            axis.set(title=plain(name), xlabel=f"scale of {plain(name)}", ylim=limits)
        axes[0].set_ylabel(f"return on {plain(study.task)}")
        labels = [plain(m.label) for m in groups]
        figure.legend(
            axes[0].get_lines(), labels, loc="outside lower center", ncols=min(5, len(labels)), frameon=False
        )
    return figure


def maps(panels: Sequence[Mapping[str, Any]], title: str) -> Figure:
    """Heatmaps over training, as `progress` makes them, on one scale of colours, with the trace of each."""
    cells = [np.array(panel["cells"], float) for panel in panels]  # None becomes NaN
    low, high = min(map(np.nanmin, cells)), max(map(np.nanmax, cells))
    with mpl.rc_context(STYLE):
        figure, axes = _panels(len(panels), None)
        figure.subplots_adjust(left=0.06, right=0.91, top=0.84, bottom=0.2, wspace=0.3, hspace=0.5)
        for axis, panel, values in zip(axes, panels, cells, strict=True):
            x, y = panel["columns"], panel["rows"]
            ends = (*_edges(x), *_edges(y))
            image = axis.imshow(
                values,
                extent=ends,
                origin="lower",
                aspect="auto",
                cmap="cividis",
                vmin=low,
                vmax=high,
            )
            for colour, width in (("black", 2.4), ("white", 1.1)):
                axis.plot(x, panel["trace"], color=colour, linewidth=width)
            axis.set(title=plain(panel["title"]), xlabel=panel["x"], xlim=ends[:2], ylim=ends[2:])
            axis.ticklabel_format(axis="x", style="sci", scilimits=(0, 4))
            if panel is panels[-1]:
                figure.colorbar(image, cax=figure.add_axes((0.93, 0.2, 0.01, 0.64)), label=panel["unit"])
        axes[0].set_ylabel("scale")
        figure.suptitle(plain(title), fontsize=9, y=0.98)
    return figure


def paths(flights: Sequence[Flight], looks: Mapping[str, Look]) -> Figure:
    """The path of every payload in space beside the reference, a panel each; a cross is a crash."""
    whole = max(flights, key=lambda flight: len(flight.time)).reference
    everything = np.concatenate([whole, *(flight.payload for flight in flights)])
    low, high = everything.min(axis=0) - ROOM, everything.max(axis=0) + ROOM
    with mpl.rc_context(STYLE):
        figure, axes = _panels(len(flights), None, SPACE, projection="3d")
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


def rendered(figure: Figure, kinds: Sequence[str] = ("pdf", "png")) -> dict[str, bytes]:
    """The figure as files, by their ending; the same figure gives the same bytes."""
    found = {}
    with mpl.rc_context(STYLE):
        if figure.get_layout_engine() is not None:
            figure.draw_without_rendering()
            figure.set_layout_engine("none")  # it is laid out now, and need not be for every file
        for kind in kinds:
            content = BytesIO()
            figure.savefig(content, format=kind, dpi=200, metadata=DATED[kind])
            found[kind] = content.getvalue()
    return found


def _flight_legend(flights: Sequence[Flight], names: Sequence[tuple[str, Look]]) -> list[Line2D]:
    """What a legend says: the reference, the names, and crashes where there are any."""
    lines = [Line2D([], [], label="reference", **WANTED)]
    lines += [Line2D([], [], color=look.light, linewidth=1.2, label=plain(name)) for name, look in names]
    if any(flight.crashed for flight in flights):
        lines.append(Line2D([], [], color="black", label="crash", **CRASH))
    return lines


def _edges(places: Sequence[float]) -> tuple[float, float]:
    """The outer edges of evenly spaced cells with these middles."""
    half = (places[-1] - places[0]) / (len(places) - 1) / 2 if len(places) > 1 else 0.5
    return places[0] - half, places[-1] + half


def plain(name: str) -> str:
    """A name in which matplotlib sees no formula."""
    return name.replace("$", r"\$")


def _panels(
    number: int,
    layout: Literal["constrained"] | None,
    panel: tuple[float, float] = PANEL,
    projection: str | None = None,
) -> tuple[Figure, list[Any]]:
    columns = min(number, 4)
    rows = -(-number // columns)
    figure = Figure(figsize=(panel[0] * columns + 0.3, panel[1] * rows + 0.5), layout=layout)
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, squeeze=False, subplot_kw={"projection": projection})
    axes = grid.ravel().tolist()
    for axis in axes[number:]:
        axis.set_visible(False)
    return figure, axes[:number]
