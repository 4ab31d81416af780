"""The figures of the evidence, as small PNG files in docs/results/."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from evidence import heatmaps
from evidence.read import TASKS, comparisons
from rapo.files import write_atomically
from rapo.reporting.charts import return_limits
from rapo.reporting.colours import looks
from rapo.reporting.comparison import Comparison
from rapo.reporting.print_figures import maps, rendered, robustness

FOLDER = Path(__file__).parents[1] / "docs" / "results"
COLOURS = 96
"""In a picture: enough for bands over curves, and few enough for a small file."""
CURVES = "curves.csv"
ABLATIONS = "ablations.csv"


def figure_names() -> dict[str, Callable[[], bytes]]:
    """The files that can be drawn from the results there are, and what draws each."""
    found: dict[str, Callable[[], bytes]] = {}
    for name in (CURVES, ABLATIONS):
        for comparison in comparisons(name):
            if len(comparison.groups) > 1:
                found[f"{name.removesuffix('.csv')}-{comparison.task}.png"] = lambda c=comparison: _drawn(c)
    for task in TASKS:
        for planned in heatmaps.lengths(task):
            for algo in heatmaps.SHOWN:
                panels = heatmaps.panels(task, algo, planned)
                if panels:
                    title = f"{algo} on {task}: what the critic expects at each scale"
                    name = f"heatmaps-{task}-{algo}-{planned / 1e6:.0f}M.png"
                    found[name] = lambda p=panels, t=title: _small(maps(p, t))
    return found


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
