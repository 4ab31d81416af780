"""The benchmark of evidence: a sweep beside the raw physics in it, value heatmaps beside the training.

The raw physics of a sweep is mjbatch stepping the same simulations with the same actions, each for as long as
its episode lasted in the sweep. Heatmaps are timed beside whole updates in the same process.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from rapo.arrays import Floats
from rapo.bench import raw_batch, take_turns, timed, typical
from rapo.bench.updating import learned
from rapo.evaluation.evaluate import Evaluated, evaluate, initial_states
from rapo.evaluation.sweep import dynamics_of, settings
from rapo.runs.heatmap_recorder import Heatmap
from rapo.training.actor import actor
from rapo.training.config import Settings
from rapo.world.task import Task

SEED = 1000


@dataclass(frozen=True)
class MeasuringRow:
    """One line of the benchmark: a sweep, or the value heatmaps of one algorithm."""

    task: str
    what: str
    """`sweep`, or `heatmap of` an algorithm."""
    seconds: float
    """Of the whole sweep, or of one row of the heatmaps."""
    beside_seconds: float
    """Of the raw physics in the sweep, or of the updates between two rows of the heatmaps."""
    ratio: float
    """`seconds` over `beside_seconds`."""
    steps: int
    """Environment steps of the sweep, or simulated steps of one row of the heatmaps."""


def measure_sweep(task: str, episodes: int, seconds: float) -> MeasuringRow:
    """A sweep beside its raw physics: PPO learns for `seconds`, then sweeps are timed for as long."""
    training = learned(task, "ppo", seconds)
    config = training.config
    rows, _ = dynamics_of(config.task.dynamics, settings(config.task.dynamics))
    policy = actor(config.task, training.learner)
    actions: list[Floats] = []

    def noted(observation: Floats) -> Floats:
        actions.append(policy(observation).astype(np.float64))
        return actions[-1]

    outcome = evaluate(config.task, noted, rows, episodes=episodes, seed=SEED)
    raw = _raw_sweep(config.task, np.repeat(rows, episodes, axis=0), actions, outcome)

    def ours() -> float:
        return timed(lambda: evaluate(config.task, policy, rows, episodes=episodes, seed=SEED))

    raw_seconds, our_seconds = typical(take_turns(seconds, lambda: None, raw, ours, fewest=4))
    return MeasuringRow(
        task, "sweep", our_seconds, raw_seconds, our_seconds / raw_seconds, int(outcome.length.sum())
    )


def measure_heatmap(task: str, algo: str, seconds: float) -> MeasuringRow:
    """One row of the value heatmaps beside the updates between two rows, as many as by default."""
    training = learned(task, algo, seconds / 2, heatmap_every=1)
    with TemporaryDirectory() as folder:
        heatmap = Heatmap(training, Path(folder))
        heatmap(training)
        turns = take_turns(
            seconds / 2,
            lambda: None,
            lambda: timed(training.update),
            lambda: timed(lambda: heatmap(training)),
        )
        heatmap.close()
    update_seconds, row_seconds = typical(turns)
    beside = Settings().heatmap_every * update_seconds
    return MeasuringRow(
        task, f"heatmap of {algo}", row_seconds, beside, row_seconds / beside, heatmap.simulated
    )


def _raw_sweep(task: Task, rows: Floats, actions: list[Floats], outcome: Evaluated) -> Callable[[], float]:
    """A function that steps raw mjbatch through a sweep and returns the seconds that the stepping took."""
    batch = raw_batch(task, rows)
    length = outcome.length.ravel()
    states = initial_states(task, rows, outcome.length.shape[1], SEED)
    qpos, qvel, ctrl = (batch.bind(name) for name in ("qpos", "qvel", "ctrl"))

    def play() -> float:
        batch.reset()
        qpos[...], qvel[...] = states.qpos, states.qvel
        total = 0.0
        for step, controls in enumerate(actions):
            running = np.flatnonzero(length > step)
            ctrl[running] = controls
            total += timed(lambda: batch.step(running, nstep=task.frame_skip))  # noqa: B023
        return total

    return play
