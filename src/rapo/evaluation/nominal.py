"""How runs do where they were trained to do well: under the nominal dynamics."""

from dataclasses import dataclass

import numpy as np

from rapo.algorithms import ALGORITHMS
from rapo.errors import InputError
from rapo.evaluation.evaluate import evaluate
from rapo.runs.run import Run
from rapo.training.actor import actor
from rapo.training.config import make_config


@dataclass(frozen=True)
class Nominal:
    """A run and its returns under the nominal dynamics."""

    task: str
    algo: str
    seed: int
    """Of the run."""
    steps: int
    """Learned from until it last saved."""
    options: str
    """Those that are not the defaults."""
    episodes: int
    """Evaluated, those that diverged not counted."""
    return_mean: float
    return_std: float
    length_mean: float


def nominal(run: Run, episodes: int, seed: int) -> Nominal:
    """Evaluate the policy of a run from initial states that `seed` decides."""
    training = run.trained(threads=1)
    config = training.config
    policy = actor(config.task, training.learner)
    outcome = evaluate(config.task, policy, config.task.dynamics.nominal(), episodes=episodes, seed=seed)
    good = ~outcome.diverged
    if not good.any():
        raise InputError(
            f"all {episodes} episodes of run '{run.folder}' diverged: there is nothing to report"
        )
    usual = make_config(config.task, ALGORITHMS.get(config.algorithm.name, config.algorithm)).describe()
    chosen = config.describe()["options"]
    differ = {name: value for name, value in chosen.items() if usual["options"].get(name) != value}
    return Nominal(
        config.task.name,
        config.algorithm.name,
        config.seed,
        training.steps,
        " ".join(f"{name}={value}" for name, value in differ.items()),
        int(good.sum()),
        round(float(np.mean(outcome.returned[good])), 1),
        round(float(np.std(outcome.returned[good])), 1),
        round(float(np.mean(outcome.length[good])), 1),
    )
