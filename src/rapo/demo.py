"""The demonstration: RAPO and PPO learn Hopper for equally many steps and are swept over other physics.

Everything takes a few minutes. What one sees best is a robot that is heavier than it was thought to be.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rapo.deploy.clips import clips
from rapo.deploy.film import write_film
from rapo.errors import InputError
from rapo.evaluation.sweep import sweep
from rapo.heavy import pl
from rapo.runs.description import CONFIG
from rapo.runs.run import Run
from rapo.runs.start import resume, start
from rapo.training.config import make_config

ALGORITHMS = ("rapo", "ppo")
SCALES = (0.5, 0.75, 1.0, 1.25, 1.5)
EPISODES = 10
HEAVIER = (1.25, 1.5)
"""Scales of the mass that the demonstration looks at most closely; training never sees them."""


@dataclass(frozen=True)
class ScaleCurve:
    """The returns of one policy as one parameter of the physics is scaled and the others stay nominal."""

    algo: str
    parameter: str
    scales: tuple[float, ...]
    """Factors of the parameter."""
    returns: list[float | None]
    """Mean return at each scale; None where every episode diverged."""


def train_or_go_on(algo: str, steps: int, seed: int, folder: Path, quiet: bool = False) -> Run:
    """The run of one algorithm in this folder, trained to its end, from where it stopped if it did."""
    wanted = make_config("hopper", algo, steps=steps, seed=seed)
    if (folder / CONFIG).exists():
        made = Run(folder).config()
        if (made.steps, made.seed) != (steps, seed):
            raise InputError(
                f"'{folder}' holds a demo of {made.steps} steps with seed {made.seed}: "
                "give another folder with --out, or remove it"
            )
        return resume(folder, quiet=quiet)
    return start(wanted, folder, quiet=quiet)


def measure(run: Run, algo: str, seed: int, advance: Callable[[], None]) -> list[ScaleCurve]:
    """Sweep a run; a curve for each parameter. `advance` is called after each step of the simulations."""
    table = sweep(run, scales=SCALES, episodes=EPISODES, seed=seed, advance=advance)
    good = table.filter(~pl.col("diverged"))
    curves = []
    for name in table["parameter"].unique(maintain_order=True):
        rows = good.filter(pl.col("parameter") == name)
        means = dict(rows.group_by("scale").agg(pl.col("return").mean()).iter_rows())
        curves.append(ScaleCurve(algo, name, SCALES, [means.get(scale) for scale in SCALES]))
    return curves


def draw(runs: Sequence[Run], strip: Path, advance: Callable[[], None]) -> str:
    """Draw stills of the policies with the heaviest masses, a row for each; say where, or why not."""
    mass = max(HEAVIER)
    try:
        write_film([*clips(runs, dynamics={"mass": mass}, advance=advance)], strip)
    except InputError as error:
        return f"No pictures were drawn: {error}"
    return f"Stills of both, with {mass:g} times the mass: {strip}"


class MeanReturns(NamedTuple):
    """Mean returns of one policy."""

    nominal: float
    heavier: float
    """With all masses scaled by each of `HEAVIER`."""
    perturbed: float
    """Over all perturbed settings."""
    worst: float
    """At the worst perturbed setting."""


def summary(curves: list[ScaleCurve], algo: str) -> MeanReturns:
    """What the curves of an algorithm come to."""
    own = [curve for curve in curves if curve.algo == algo]
    returns = np.array([curve.returns for curve in own], float)
    nominal = SCALES.index(1.0)
    perturbed = np.delete(returns, nominal, axis=1)
    mass = returns[[curve.parameter for curve in own].index("mass")]
    return MeanReturns(
        float(np.nanmean(returns[:, nominal])),
        float(np.nanmean(mass[[SCALES.index(scale) for scale in HEAVIER]])),
        float(np.nanmean(perturbed)),
        float(np.nanmin(perturbed)),
    )
