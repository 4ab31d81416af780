"""The benchmark of training: a whole update beside raw physics, and beside an update of PPO, taking turns.

For an update raw mjbatch steps the same number of simulations from states that the policy visits, with the
policy's actions and under the dynamics of the episodes and of the models: N at a time for the rollout, a
chunk at a time for branches and probes. Only the stepping is timed, not the copying of states. The benchmark
begins after some learning, because an untrained policy falls and resets more often than usual.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from mjbatch import Batch

from rapo.algorithms.steering import TiltedSteps
from rapo.algorithms.targets import Robust
from rapo.algorithms.temperature import AdvNet
from rapo.arrays import Floats
from rapo.bench import put_states, raw_batch, take_turns, timed, typical
from rapo.errors import InputError
from rapo.learner import advnet
from rapo.learner.tilted_laws import BoxLaw, FiniteLaw, Law
from rapo.training.config import Settings, make_config
from rapo.training.loop import Training
from rapo.training.options import options as known_options
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
    """The algorithm, and its options that are not the defaults."""
    seconds: float
    """Of a whole update."""
    raw_seconds: float
    """Of the physics in an update, stepped by raw mjbatch."""
    ratio: float
    """`seconds` over `raw_seconds`."""
    share_dual: float
    """The share of an update's seconds that solving the dual of its rows once takes."""
    share_advnet: float
    """The share of an update's seconds that AdvNet's predictions take."""
    solver_rows_per_second: float | None
    """Rows of branch values that the dual solver does in a second; None if the algorithm has no dual."""
    ppo_seconds: float
    """Of a whole update of PPO of the same size."""
    beside_ppo: float
    """How many updates of PPO one update takes as long as."""


def parse_algo(text: str) -> tuple[str, dict[str, str]]:
    """An algorithm with options, NAME,OPTION=VALUE,..., as its name and its options."""
    name, *options = text.split(",")
    for option in options:
        if "=" not in option:
            raise InputError(f"algorithm '{text}' was given: allowed is NAME or NAME,OPTION=VALUE,...")
    return name, dict(option.split("=", 1) for option in options)


def measure(task: str, algo: str, seconds: float) -> UpdateRow:
    """One algorithm on one task, for about so many seconds, after learning for half as many."""
    name, options = parse_algo(algo)
    training = learned(task, name, seconds / 2, **options)
    shared = {option: value for option, value in options.items() if option in known_options(Settings())}
    plain = learned(task, "ppo", seconds / 4, **shared)
    beside = take_turns(
        seconds / 2, lambda: None, lambda: timed(plain.update), lambda: timed(training.update)
    )
    ppo_seconds, own_seconds = _middle(beside)
    raw = _Raw(training)
    turns = take_turns(seconds, raw.prepare, raw.seconds, lambda: timed(training.update))
    raw_seconds, our_seconds = _middle(turns)
    rows, k = training.config.steps_per_update, len(training.models)
    dual_seconds, advnet_seconds = _parts(training, rows, k)
    return UpdateRow(
        task,
        algo,
        our_seconds,
        raw_seconds,
        our_seconds / raw_seconds,
        dual_seconds / our_seconds,
        advnet_seconds / our_seconds,
        rows / dual_seconds if dual_seconds else None,
        ppo_seconds,
        own_seconds / ppo_seconds,
    )


def learned(task: str, algo: str, seconds: float, **options: Any) -> Training:
    """A training that has learned for about so many seconds."""
    training = Training(make_config(task, algo, steps=10**9, options=options))
    start = perf_counter()
    while training.updates < WARM_UP or perf_counter() - start < seconds:
        training.update()
    return training


class _Raw:
    """The physics of an update, stepped by raw mjbatch."""

    def __init__(self, training: Training) -> None:
        self._training = training
        task, models, algorithm = training.config.task, training.models, training.config.algorithm
        self._among = 1
        if algorithm.choosing is not None:
            drawn = algorithm.choosing.candidates(
                np.random.default_rng(0), np.full(len(models), 1 / len(models)), 1
            )
            self._among = len(models) if drawn is None else drawn.shape[1]
        self._rollout = raw_batch(task, np.repeat(training.simulator.dynamics, self._among, axis=0))
        self._branches = 0 if algorithm.choosing else training.branch_steps // training.updates
        under = np.resize(models, (min(self._branches, CHUNK), models.shape[1]))
        self._branch = raw_batch(task, under) if self._branches else None
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
        """Seconds of stepping from all collected states, and for as many branches as an update has."""
        assert self._visited is not None
        states, controls = self._visited.snapshot.physics, self._visited.controls
        n, skip = self._training.config.settings.num_envs, self._training.config.task.frame_skip
        total = 0.0
        for start in range(0, len(states), n):
            rows = np.repeat(np.arange(start, start + n), self._among)
            total += _step(self._rollout, states[rows], controls[rows], skip)
        if self._branch is not None:
            k = max(1, self._branches // len(states))
            for start in range(0, self._branches, self._branch.num_sims):
                rows = (np.arange(start, start + self._branch.num_sims) // k) % len(states)
                total += _step(self._branch, states[rows], controls[rows], skip)
        return total


def _step(batch: Batch, states: Floats, controls: Floats, skip: int) -> float:
    put_states(batch, states)
    batch.bind("ctrl")[...] = controls
    return timed(lambda: batch.step(nstep=skip))


def _parts(training: Training, rows: int, k: int) -> tuple[float, float]:
    """Seconds of the solves for temperatures of one update, and of AdvNet, where the algorithm has them."""
    algorithm, task = training.config.algorithm, training.config.task
    if isinstance(algorithm.targets, Robust):
        temperature, state = algorithm.targets.temperature, training.learner.targets
        law: Law = FiniteLaw(jax.random.normal(jax.random.key(0), (rows, k)), jnp.full((rows, k), 1 / k))
    elif isinstance(algorithm.steering, TiltedSteps) and algorithm.steering.law != "corner":
        temperature, state = algorithm.steering.temperature, training.learner.steering.temperature
        slopes = jax.random.normal(jax.random.key(0), (rows, len(task.dynamics.movable)))
        law = BoxLaw(slopes)
        if algorithm.steering.law == "models":
            law = FiniteLaw(slopes @ task.dynamics.units(training.models).T, jnp.full(k, 1 / k))
    else:
        return 0.0, 0.0
    solve = jax.jit(lambda law: law.exact(jnp.asarray(0.1), temperature.iterations))
    dual_seconds = _typical(lambda: jax.block_until_ready(solve(law)))
    if not isinstance(temperature, AdvNet):
        return dual_seconds, 0.0
    inputs = jax.random.normal(jax.random.key(1), (rows, task.observation_size + task.action_size))
    batch = advnet.TiltedRows(inputs, law, jnp.asarray(0.1), jnp.ones(()), solve(law))
    learn = jax.jit(temperature.__call__)
    return dual_seconds, _typical(lambda: jax.block_until_ready(learn(state, batch)))


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
