"""The demonstration: RAPO and PPO learn Hopper for the same number of steps, then meet other physics.

The budget is small, two minutes each or so, and so are the ensemble and the claim: it shows the whole path
from training to evidence, not what the algorithms reach in the end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np

from rapo.config import make_config
from rapo.errors import InputError
from rapo.runs.evaluate import evaluate
from rapo.runs.run import CONFIG, Run
from rapo.runs.start import resume, start
from rapo.world.tasks import make_task

ALGORITHMS = ("rapo", "ppo")
COLOURS = {"rapo": "tab:blue", "ppo": "tab:orange"}
SCALES = (0.5, 0.75, 1.0, 1.25, 1.5)
EPISODES = 10
STEPS = 300_000
OPTIONS: dict[str, dict[str, int]] = {"rapo": {"models": 4}, "ppo": {}}
"""Four models branch in a quarter of the time of sixteen."""


@dataclass(frozen=True)
class Curve:
    """How one policy does as one parameter is scaled and the others stay nominal."""

    algo: str
    parameter: str
    scales: tuple[float, ...]
    returns: list[float]
    """Mean return at each scale."""


def train_or_go_on(algo: str, steps: int, seed: int, folder: Path, quiet: bool = False) -> Run:
    """The demonstration's run of an algorithm; what was trained already is not trained again."""
    wanted = make_config("hopper", algo, steps=steps, seed=seed, options=OPTIONS[algo])
    if (folder / CONFIG).exists():
        made = Run(folder).config()
        if (made.steps, made.seed) != (steps, seed):
            raise InputError(
                f"'{folder}' holds a demo of {made.steps} steps with seed {made.seed}: "
                "give another folder with --out, or remove it"
            )
        return resume(folder, quiet=quiet)
    return start(wanted, folder, quiet=quiet)


def measure(run: Run, algo: str, seed: int, advance: Callable[[], None]) -> list[Curve]:
    """Returns at every scale of every parameter; `advance` is called once a step."""
    task = make_task("hopper")
    names = task.dynamics.names
    rows = np.concatenate([task.dynamics.sweep(name, SCALES) for name in names])
    outcome = evaluate(task, run.policy(), rows, episodes=EPISODES, seed=seed, advance=advance)
    means = outcome.means.reshape(len(names), len(SCALES))
    return [Curve(algo, name, SCALES, m.tolist()) for name, m in zip(names, means, strict=True)]


def summary(curves: list[Curve], algo: str) -> tuple[float, float, float]:
    """The mean return at nominal dynamics, at perturbed ones, and at the worst of them."""
    returns = np.array([curve.returns for curve in curves if curve.algo == algo])
    nominal = SCALES.index(1.0)
    perturbed = np.delete(returns, nominal, axis=1)
    return float(returns[:, nominal].mean()), float(perturbed.mean()), float(perturbed.min())


def draw(curves: list[Curve], kind: str) -> bytes:
    """A figure (png, pdf or svg) of all curves."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = list(dict.fromkeys(curve.parameter for curve in curves))
    figure, axes = pyplot.subplots(1, len(names), figsize=(11, 3), dpi=130, sharey=True, layout="constrained")
    for axis, name in zip(axes, names, strict=True):
        axis.axvspan(0.8, 1.2, color="0.93")
        for curve in (c for c in curves if c.parameter == name):
            axis.plot(curve.scales, curve.returns, "o-", color=COLOURS[curve.algo], label=curve.algo)
        axis.set(title=name, xlabel="scale", ylim=(0, None))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("return")
    axes[0].legend(frameon=False)
    content = BytesIO()
    figure.savefig(content, format=kind)
    pyplot.close(figure)
    return content.getvalue()
