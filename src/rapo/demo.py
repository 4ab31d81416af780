"""The demonstration: RAPO and PPO learn Hopper for the same number of steps, then meet other physics.

The budget is small, a few minutes for everything, and so are the ensemble and the claim: it shows the whole
path from training over a sweep to a report, not what the algorithms reach in the end.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from rapo.errors import InputError
from rapo.evaluation.sweep import sweep
from rapo.runs.run import CONFIG, Run
from rapo.runs.start import resume, start
from rapo.training.config import make_config

ALGORITHMS = ("rapo", "ppo")
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
    returns: list[float | None]
    """Mean return at each scale; None where every episode diverged."""


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
    """Sweep a run and give its mean return at every setting; `advance` is called once a step."""
    table = sweep(run, scales=SCALES, episodes=EPISODES, seed=seed, advance=advance)
    good = table.filter(~pl.col("diverged"))
    curves = []
    for name in table["parameter"].unique(maintain_order=True):
        rows = good.filter(pl.col("parameter") == name)
        means = dict(rows.group_by("scale").agg(pl.col("return").mean()).iter_rows())
        curves.append(Curve(algo, name, SCALES, [means.get(scale) for scale in SCALES]))
    return curves


def summary(curves: list[Curve], algo: str) -> tuple[float, float, float]:
    """The mean return at nominal dynamics, at perturbed ones, and at the worst of them."""
    returns = np.array([curve.returns for curve in curves if curve.algo == algo], float)
    nominal = SCALES.index(1.0)
    perturbed = np.delete(returns, nominal, axis=1)
    return float(np.nanmean(returns[:, nominal])), float(np.nanmean(perturbed)), float(np.nanmin(perturbed))
