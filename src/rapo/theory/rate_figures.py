"""Figures of rates: files for print, and the data that the script of the page draws.

Both axes are logarithmic, so that a power law is a straight line and its exponent the slope. Measured curves
have points; predictions are dashed lines without points.
"""

from collections.abc import Sequence
from dataclasses import asdict
from itertools import count
from math import floor, isfinite, log10
from textwrap import fill
from typing import Any

import matplotlib as mpl
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from rapo.reporting import charts
from rapo.reporting.colours import MATPLOTLIB_DASHES, MATPLOTLIB_MARKERS, Look, numbered, predicted
from rapo.reporting.print_figures import STYLE, plain
from rapo.theory.statement import Curve, Rate

KINDS = ("png", "pdf", "svg")
SIZE = (4.2, 3.6)
"""Inches."""
HALF = 24
"""Characters of a legend that half of a figure's width has room for."""
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def slopes(rate: Rate) -> str:
    """The measured and the claimed slope, in words."""
    return f"slope {_signed(f'{rate.slope:z.2f}')} measured, {_signed(f'{rate.predicted:.3g}')} claimed"


def printed(rate: Rate) -> Figure:
    """A rate as a Matplotlib figure for print."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=SIZE, layout="constrained")
        FigureCanvasAgg(figure)
        axis = figure.subplots()
        axis.set(xscale="log", yscale="log", title=_lines(rate.title, 50))
        axis.set(xlabel=_lines(rate.x, 60), ylabel=_lines(rate.y, 40))
        _ticks(axis.xaxis, [x for curve in rate.curves for x in drawable(curve)[0]])
        _ticks(axis.yaxis, [y for curve in rate.curves for y in drawable(curve)[1]])
        axis.grid(which="major", color="#eceef1", linewidth=0.6)
        for curve, look in _looks(rate):
            x, y = drawable(curve)
            axis.plot(
                x,
                y,
                color=look.light,
                linestyle=MATPLOTLIB_DASHES[look.dash],
                marker="" if curve.reference else MATPLOTLIB_MARKERS[look.marker],
                markersize=3.5,
                linewidth=1.2,
                label=_lines(curve.label, 60),
                zorder=4 if curve.reference else 3,  # where both agree, dashes over a line show both
            )
        columns = 2 if len(rate.curves) > 2 and max(len(curve.label) for curve in rate.curves) <= HALF else 1
        figure.legend(
            title=slopes(rate), loc="outside lower center", frameon=False, alignment="left", ncols=columns
        )
    return figure


def interactive(rate: Rate) -> dict[str, Any]:
    """A rate as the data from which the page's script draws a figure."""
    lines, looks = [], {}
    for curve, look in _looks(rate):
        x, y = drawable(curve)
        lines.append({"label": curve.label, "x": list(map(charts.short, x)), "y": list(map(charts.short, y))})
        looks[curve.label] = asdict(look) | {"points": not curve.reference}
    panel = {"kind": "rate", "title": rate.title, "headed": True, "x": rate.x, "y": rate.y, "lines": lines}
    return charts.Figure("rate", "", {"": [panel]}, tuple(looks), looks=looks).data()


def drawable(curve: Curve) -> tuple[list[float], list[float]]:
    """The points of a curve that logarithmic axes can show: finite and above 0."""
    points = [
        (x, y)
        for x, y in zip(curve.x, curve.y, strict=True)
        if x > 0 and y > 0 and isfinite(x) and isfinite(y)
    ]
    return [x for x, _ in points], [y for _, y in points]


def _ticks(axis: Axis, values: Sequence[float]) -> None:
    """Ticks at powers of ten, and at 2 and 5 times these in a short range; as plain text, not TeX."""
    few = not values or max(values) < 30 * min(values)
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))
    axis.set_minor_locator(NullLocator())


def _power(value: float) -> str:
    """The text of a tick: 0.001 to 10,000 as numbers, all others as powers of ten."""
    exponent = floor(log10(value) + 1e-9)
    if -4 < exponent < 5:
        return f"{value:,.6g}"
    digit = round(value / 10.0**exponent)
    return f"{'' if digit == 1 else f'{digit}·'}10{str(exponent).translate(RAISED)}"


def _looks(rate: Rate) -> list[tuple[Curve, Look]]:
    measured, claimed = count(), count()
    return [
        (curve, predicted(next(claimed)) if curve.reference else numbered(next(measured)))
        for curve in rate.curves
    ]


def _lines(text: str, letters: int) -> str:
    return plain(fill(text, letters))


def _signed(number: str) -> str:
    return number.replace("-", "\N{MINUS SIGN}")
