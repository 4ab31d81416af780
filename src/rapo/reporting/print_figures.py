"""Figures for print, as PDF and PNG: one task each, drawn without a display and without global state."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rapo.errors import InputError
from rapo.reporting.colours import MATPLOTLIB_DASHES, MATPLOTLIB_MARKERS, Look
from rapo.reporting.comparison import Comparison, GroupScores

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
SHADE = "#eaf1f7"


def robustness(
    comparison: Comparison, groups: Sequence[GroupScores], looks: Mapping[str, Look], limits: Sequence[float]
) -> Figure:
    """Return over the scale of each parameter, with 95% intervals over seeds and a shaded training range."""
    tasks = {run.task for m in groups for run in m.group.runs}
    if tasks != {comparison.task}:
        raise InputError(
            f"runs of {', '.join(sorted(tasks))} were given for a figure of {comparison.task}: "
            "allowed is one task in one figure"
        )
    names = comparison.parameters
    with mpl.rc_context(STYLE):
        figure, axes = panels_of(len(names), "constrained")
        for axis, name in zip(axes, names, strict=True):
            axis.axvspan(*comparison.ranges[name].train, color=SHADE, linewidth=0, zorder=0)
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
        axes[0].set_ylabel(f"return on {plain(comparison.task)}")
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
        figure, axes = panels_of(len(panels), None)
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


def _edges(places: Sequence[float]) -> tuple[float, float]:
    """The outer edges of evenly spaced cells with these middles."""
    half = (places[-1] - places[0]) / (len(places) - 1) / 2 if len(places) > 1 else 0.5
    return places[0] - half, places[-1] + half


def plain(name: str) -> str:
    """A name in which matplotlib sees no formula."""
    return name.replace("$", r"\$")


def panels_of(
    number: int,
    layout: Literal["constrained"] | None,
    panel: tuple[float, float] = PANEL,
    projection: str | None = None,
) -> tuple[Figure, list[Any]]:
    """A figure with this number of panels, four in a row at most, and its axes."""
    columns = min(number, 4)
    rows = -(-number // columns)
    figure = Figure(figsize=(panel[0] * columns + 0.3, panel[1] * rows + 0.5), layout=layout)
    FigureCanvasAgg(figure)
    grid = figure.subplots(rows, columns, squeeze=False, subplot_kw={"projection": projection})
    axes = grid.ravel().tolist()
    for axis in axes[number:]:
        axis.set_visible(False)
    return figure, axes[:number]
