"""What evidence costs: a sweep beside the raw physics in it, and heatmaps beside the training they watch.

The raw twin of a sweep steps the same simulations with the same actions for as long as their episodes last,
all that still run at a time. Heatmaps are timed beside whole updates in the same process.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from rapo.bench import raw_batch, take_turns, timed, typical
from rapo.config import make_config
from rapo.runs.evaluate import Evaluated, actor, evaluate
from rapo.runs.heatmap import Heatmap
from rapo.runs.sweep import settings
from rapo.train import Training
from rapo.world.streams import STATES, stream
from rapo.world.task import Floats, Task

SEED = 1000


@dataclass(frozen=True)
class Row:
    """One line of the benchmark."""

    task: str
    what: str
    """`sweep`, or `heatmap` with the algorithm it watches."""
    seconds: float
    """Of the sweep; of one row of the heatmaps."""
    beside_seconds: float
    """Of its raw physics; of the updates between two rows."""
    ratio: float
    """The first over the second."""
    steps: int
    """Environment steps of the sweep, or simulated steps of one row."""


def measure_sweep(task: str, episodes: int, seconds: float) -> Row:
    """A sweep of a policy that learned for so many seconds, in as many again."""
    training = _learned(task, "ppo", seconds)
    config = training.config
    pairs = settings(config.task.dynamics, None, None)
    rows = np.unique(np.concatenate([config.task.dynamics.sweep(n, [v]) for n, v in pairs]), axis=0)
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
    return Row(task, "sweep", our_seconds, raw_seconds, our_seconds / raw_seconds, int(outcome.length.sum()))


def measure_heatmap(task: str, algo: str, seconds: float) -> Row:
    """One row of the heatmaps beside the updates between two of them."""
    training = _learned(task, algo, seconds / 2)
    every = training.config.settings.heatmap_every
    with TemporaryDirectory() as folder:
        heatmap = Heatmap(training, Path(folder), every=1)
        heatmap(training)
        turns = take_turns(
            seconds / 2,
            lambda: None,
            lambda: timed(training.update),
            lambda: timed(lambda: heatmap(training)),
        )
        heatmap.close()
    update_seconds, row_seconds = typical(turns)
    beside = every * update_seconds
    return Row(task, f"heatmap of {algo}", row_seconds, beside, row_seconds / beside, heatmap.simulated)


def _learned(task: str, algo: str, seconds: float) -> Training:
    """A training that has learned for about so many seconds."""
    training = Training(make_config(task, algo, steps=10**9))
    start = perf_counter()
    while training.updates < 3 or perf_counter() - start < seconds:
        training.update()
    return training


def _raw_sweep(task: Task, rows: Floats, actions: list[Floats], outcome: Evaluated) -> Callable[[], float]:
    """The physics of a sweep and nothing else: a call returns its seconds."""
    batch = raw_batch(task, rows)
    length = outcome.length.ravel()
    states = [
        np.tile(x, (len(outcome.length), 1))
        for x in task.reset(outcome.length.shape[1], stream(SEED, 0, STATES))
    ]
    qpos, qvel, ctrl = (batch.bind(name) for name in ("qpos", "qvel", "ctrl"))

    def play() -> float:
        batch.reset()
        qpos[...], qvel[...] = states
        total = 0.0
        for step, controls in enumerate(actions):
            running = np.flatnonzero(length > step)
            ctrl[running] = controls
            total += timed(lambda: batch.step(running, nstep=task.frame_skip))  # noqa: B023
        return total

    return play
