"""The benchmark of training: a whole update beside raw mjbatch stepping the physics in it, taking turns.

For an update raw mjbatch steps the same number of simulations from states that the policy visits, with the
policy's actions and under the same dynamics: N at a time for the rollout, a chunk at a time for the branches.
Only the stepping is timed, not the copying of states. The benchmark begins after some learning, because an
untrained policy falls and resets more often than usual.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from mjbatch import Batch

from rapo.algorithms.targets import Robust
from rapo.algorithms.temperature import AdvNet
from rapo.arrays import Floats
from rapo.bench import put_states, raw_batch, take_turns, timed, typical
from rapo.learner import advnet, dual
from rapo.training.config import make_config
from rapo.training.loop import Training
from rapo.training.rollout import Visited, collect

CHUNK = 4096
"""Branches that raw mjbatch steps at a time."""
WARM_UP = 3
"""Updates before the first turn, at least."""


@dataclass(frozen=True)
class UpdateRow:
    """One line of the benchmark: the updates of one algorithm on one task."""

    task: str
    algo: str
    seconds: float
    """Of a whole update."""
    raw_seconds: float
    """Of the physics in an update, stepped by raw mjbatch."""
    ratio: float
    """`seconds` over `raw_seconds`."""
    share_dual: float
    """The share of an update's seconds that solving the dual takes."""
    share_advnet: float
    """The share of an update's seconds that AdvNet's predictions take."""
    solver_rows_per_second: float | None
    """Rows of branch values that the dual solver does in a second; None if the algorithm has no dual."""


def measure(task: str, algo: str, seconds: float) -> UpdateRow:
    """One algorithm on one task, for about so many seconds, after learning for half as many."""
    training = learned(task, algo, seconds / 2)
    branches = training.branch_steps > 0
    raw = _Raw(training, branches)
    turns = take_turns(seconds, raw.prepare, raw.seconds, lambda: timed(training.update))
    raw_seconds, our_seconds = _middle(turns)
    rows, k = training.config.steps_per_update, len(training.models)
    solves = isinstance(training.config.algorithm.targets, Robust)
    dual_seconds, advnet_seconds = _parts(training, rows, k) if solves else (0.0, 0.0)
    return UpdateRow(
        task,
        algo,
        our_seconds,
        raw_seconds,
        our_seconds / raw_seconds,
        dual_seconds / our_seconds,
        advnet_seconds / our_seconds,
        rows / dual_seconds if dual_seconds else None,
    )


def learned(task: str, algo: str, seconds: float, **options: int) -> Training:
    """A training that has learned for about so many seconds."""
    training = Training(make_config(task, algo, steps=10**9, options=options))
    start = perf_counter()
    while training.updates < WARM_UP or perf_counter() - start < seconds:
        training.update()
    return training


class _Raw:
    """The physics of an update, stepped by raw mjbatch."""

    def __init__(self, training: Training, branches: bool) -> None:
        self._training = training
        task, k = training.config.task, len(training.models)
        self._rollout = raw_batch(task, training.simulator.dynamics)
        models = np.tile(training.models, (CHUNK // k, 1)) if branches else None
        self._branch = None if models is None else raw_batch(task, models)
        self._visited: Visited | None = None

    def prepare(self) -> None:
        """Collect the states and actions of a rollout of the present policy."""
        learner, settings = self._training.learner, self._training.config.settings
        policies = [player.parameters.policy for player in learner.players]
        _, self._visited = collect(
            self._training.simulator,
            policies,
            learner.observations,
            np.random.default_rng(0),
            settings.horizon,
            self._training.models,
            keep=True,
        )

    def seconds(self) -> float:
        """Seconds of stepping from all collected states, and under every model if the algorithm branches."""
        assert self._visited is not None
        states, controls = self._visited.snapshot.physics, self._visited.controls
        n, skip = self._training.config.settings.num_envs, self._training.config.task.frame_skip
        total = 0.0
        for start in range(0, len(states), n):
            total += _step(self._rollout, states[start : start + n], controls[start : start + n], skip)
        if self._branch is not None:
            k = len(self._training.models)
            for start in range(0, len(states), CHUNK // k):
                rows = slice(start, start + CHUNK // k)
                spread = [np.repeat(x[rows], k, axis=0) for x in (states, controls)]
                total += _step(self._branch, spread[0], spread[1], skip)
        return total


def _step(batch: Batch, states: Floats, controls: Floats, skip: int) -> float:
    put_states(batch, states)
    batch.bind("ctrl")[...] = controls
    return timed(lambda: batch.step(nstep=skip))


def _parts(training: Training, rows: int, k: int) -> tuple[float, float]:
    """Seconds of the dual solve, and of AdvNet where there is one, for the values of one update."""
    values = jax.random.normal(jax.random.key(0), (rows, k))
    weights = jnp.full((rows, k), 1 / k)
    solve = jax.jit(lambda v: dual.solve(v, weights, 0.1))
    dual_seconds = _typical(lambda: jax.block_until_ready(solve(values)))
    temperature = getattr(training.config.algorithm.targets, "temperature", None)
    if not isinstance(temperature, AdvNet):
        return dual_seconds, 0.0
    task = training.config.task
    inputs = jax.random.normal(jax.random.key(1), (rows, task.observation_size + task.action_size))
    exact = solve(values).temperature
    batch = advnet.BranchValues(inputs, values, weights, jnp.asarray(0.1), jnp.ones(()), exact)
    predict = jax.jit(temperature.__call__)
    return dual_seconds, _typical(lambda: jax.block_until_ready(predict(training.learner.targets, batch)))


def _middle(turns: list[tuple[float, float]]) -> tuple[float, float]:
    """Mean seconds of both over the middle half of the turns, in the order of their ratios.

    A turn lasts seconds, so that a disturbance of the machine often slows only one of the two.
    """
    ordered = sorted(turns, key=lambda turn: turn[1] / turn[0])
    quarter = len(turns) // 4
    raw, ours = np.mean(ordered[quarter : len(turns) - quarter], axis=0).tolist()
    return raw, ours


def _typical(call: Callable[[], Any], turns: int = 20) -> float:
    call()
    (seconds,) = typical([(timed(call),) for _ in range(turns)])
    return seconds
