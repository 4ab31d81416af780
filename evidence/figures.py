"""The figures of the evidence, as small PNG files in docs/results/."""

from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image

from evidence import heatmaps
from evidence.read import TASKS, comparisons
from rapo.files import write_atomically
from rapo.reporting.charts import return_limits
from rapo.reporting.colours import looks
from rapo.reporting.comparison import Comparison
from rapo.reporting.print_figures import STYLE, maps, panels_of, plain, rendered, robustness

FOLDER = Path(__file__).parents[1] / "docs" / "results"
COLOURS = 96
"""In a picture: enough for bands over curves, and few enough for a small file."""
OVERVIEW = "overview.png"
CURVES = "curves.csv"
ABLATIONS = "ablations.csv"


def figure_names() -> dict[str, Callable[[], bytes]]:
    """The files that can be drawn from the results there are, and what draws each."""
    found: dict[str, Callable[[], bytes]] = {}
    for name in (CURVES, ABLATIONS):
        for comparison in comparisons(name):
            if len(comparison.groups) > 1:
                found[f"{name.removesuffix('.csv')}-{comparison.task}.png"] = lambda c=comparison: _drawn(c)
    compared = [c for c in comparisons(CURVES) if len(c.groups) > 1]
    if compared:
        found[OVERVIEW] = lambda: _small(overview(compared))
    for task in TASKS:
        for planned in heatmaps.lengths(task):
            for algo in heatmaps.SHOWN:
                panels = heatmaps.panels(task, algo, planned)
                if panels:
                    title = f"{algo} on {task}: what the critic expects at each scale"
                    name = f"heatmaps-{task}-{algo}-{planned / 1e6:.0f}M.png"
                    found[name] = lambda p=panels, t=title: _small(maps(p, t))
    return found


def overview(found: Sequence[Comparison]) -> Figure:
    """A panel for each task: what every algorithm returns inside and outside of its training."""
    with mpl.rc_context(STYLE):
        figure, axes = panels_of(len(found), "constrained", (2.3, 1.9))
        for axis, comparison in zip(axes, found, strict=True):
            shown = [m for m in comparison.groups if m.swept]
            colours = looks(m.group for m in shown)
            for place, m in enumerate(shown):
                for returned, face in ((m.inside, "white"), (m.outside, None)):
                    colour = colours[m.label].light
                    across = place + (0.15 if face is None else -0.15)
                    if returned.known:
                        axis.plot([across] * 2, [returned.low, returned.high], color=colour, linewidth=1.2)
                    axis.plot(across, returned.value, "o", color=colour, markersize=4, markerfacecolor=face)
            axis.set_xticks(range(len(shown)), [plain(m.label) for m in shown], rotation=40, ha="right")
            axis.set(title=plain(comparison.task), ylim=(0, None))
            axis.grid(axis="y")
        axes[0].set_ylabel("return: inside (open), outside")
    return figure


def draw_all() -> list[Path]:
    """Draw every figure anew; return the files."""
    FOLDER.mkdir(exist_ok=True)
    made = []
    for name, draw in figure_names().items():
        write_atomically(FOLDER / name, draw())
        made.append(FOLDER / name)
    return made


def _drawn(comparison: Comparison) -> bytes:
    shown = [m for m in comparison.ordered if m.swept]
    figure = robustness(comparison, shown, looks(m.group for m in shown), return_limits(shown))
    return _small(figure)


def _small(figure: Figure) -> bytes:
    content = BytesIO()
    with Image.open(BytesIO(rendered(figure, ("png",))["png"])) as picture:
        smaller = picture.convert("RGB").resize((picture.width * 3 // 4, picture.height * 3 // 4))
        smaller.quantize(COLOURS).save(content, "png", optimize=True)
    return content.getvalue()
