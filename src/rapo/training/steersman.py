"""Steps of a rollout that an adversary steers: under dynamics that it draws, or on from a branch that it
draws."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from rapo.algorithms.spec import Algorithm, Choosing, Steered, Steering
from rapo.arrays import Floats, Ids, Singles
from rapo.heavy import Array, compiled, jax, jnp
from rapo.learner import networks, normalize, sensitivity
from rapo.learner.advantages import branch_values
from rapo.training.config import Config
from rapo.training.rollout import Advance
from rapo.training.update import Learner
from rapo.world.simulator import Branches, Simulator, Step

GRID = 16
"""Dynamics are rounded to this fraction of a training half-width, so that constants derived once serve
again."""


def make_advance(
    config: Config,
    simulator: Simulator,
    learner: Learner,
    models: Floats,
    rng: np.random.Generator,
    done: float,
) -> Advance | None:
    """What takes the steps of one rollout; None if nothing steers them. done: the share of training done."""
    algorithm = config.algorithm
    if algorithm.steering is not None:
        return Steersman(algorithm.steering, config, simulator, learner, models, rng, done)
    if algorithm.choosing is not None:
        return Chooser(algorithm.choosing, config, simulator, learner, models, rng, done)
    return None


class Steersman:
    """Draws the dynamics of every step by learned sensitivities, in one compiled call for all
    environments."""

    def __init__(
        self,
        steering: Steering,
        config: Config,
        simulator: Simulator,
        learner: Learner,
        models: Floats,
        rng: np.random.Generator,
        done: float,
    ) -> None:
        self._simulator = simulator
        self._dynamics = config.task.dynamics
        shape = config.settings.horizon, simulator.num_envs, 2 * len(self._dynamics.movable) + 1
        self._uniforms = iter(rng.random(shape, np.float32))
        network, seen = learner.sensitivity, learner.observations
        self._tilted = steering.tilts(simulator.num_envs)
        learned = (
            steering.acting(learner.steering),
            (network.layers, network.scale),
            (seen.mean, normalize.deviation(seen)),
        )
        ensemble = self._dynamics.units(models).astype(np.float32), learner.mixture.weights
        end = steering.end(done)
        shared = learned, ensemble, self._tilted, np.float32(done), None if end is None else np.float32(end)
        self._shared = jax.device_put(shared)
        """What all steps of the rollout share: moved to the device once."""
        self._draw = _compiled_draw(config.algorithm)

    def __call__(
        self, observation: Floats, action: Singles, controls: Floats, episodes: Floats
    ) -> tuple[Step, Floats]:
        """One step under dynamics that are drawn for it."""
        drawn = self._draw(
            self._shared,
            observation.astype(np.float32),
            action,
            self._dynamics.units(episodes).astype(np.float32),
            next(self._uniforms),
        )
        rows = self._dynamics.moved(episodes, np.asarray(drawn))
        if not self._tilted.all():
            rows = np.where(self._tilted[:, None], rows, episodes)
        return self._simulator.step(controls, None, rows), rows


class Chooser:
    """Goes on from one of the branches of every step, drawn by their values."""

    def __init__(
        self,
        choosing: Choosing,
        config: Config,
        simulator: Simulator,
        learner: Learner,
        models: Floats,
        rng: np.random.Generator,
        done: float,
    ) -> None:
        self._choosing = choosing
        self._config = config
        self._simulator = simulator
        self._models = models
        self._rng = rng
        self._critic = learner.players[0].parameters.critic, learner.observations, learner.rewards.scale
        self._weights = np.asarray(learner.mixture.weights, np.float64)
        self._weights /= self._weights.sum()
        self._done = np.float32(done)
        self.simulated = self.diverged = 0

    def __call__(
        self, observation: Floats, action: Singles, controls: Floats, episodes: Floats
    ) -> tuple[Step, Floats]:
        """One step, and the dynamics of the branches that were chosen."""
        every = np.arange(len(episodes))
        picked = self._choosing.candidates(self._rng, self._weights, len(episodes))
        among = self._among(episodes)
        if picked is not None:
            among = among[picked] if among.ndim == 2 else among[every[:, None], picked]
        weights = self._weights if picked is None else self._weights[picked]
        uniforms, chosen = self._rng.random(len(episodes)), every

        def choose(branches: Branches) -> Ids:
            nonlocal chosen
            chances = _chances(
                self._critic,
                np.nan_to_num(branches.observation).astype(np.float32),
                np.nan_to_num(branches.reward).astype(np.float32),
                branches.terminated,
                branches.valid,
                np.broadcast_to(weights, branches.reward.shape).astype(np.float32),
                self._done,
                algorithm=self._config.algorithm,
                discount=self._config.settings.discount,
            )
            self.simulated += branches.valid.size
            self.diverged += int(branches.diverged.sum())
            likely = np.where(branches.valid, np.asarray(chances, np.float64), 0)
            likely[likely.sum(axis=1) <= 0] = 1
            ends = np.cumsum(likely, axis=1)
            chosen = (ends <= uniforms[:, None] * ends[:, -1:]).sum(axis=1)
            return chosen

        step = self._simulator.step_among(controls, among, choose)
        return step, among[chosen] if among.ndim == 2 else among[every, chosen]

    def _among(self, episodes: Floats) -> Floats:
        """The models `[K, P]`, or `[N, K, P]` where they keep what can't change within an episode `[N,
        P]`."""
        dynamics = self._config.task.dynamics
        if len(dynamics.movable) == len(dynamics):
            return self._models
        return dynamics.moved(
            np.repeat(episodes[:, None], len(self._models), axis=1), dynamics.units(self._models)
        )


@cache
def _compiled_draw(algorithm: Algorithm) -> Callable[..., Array]:
    """The dynamics of a step in one compiled call, found once: it is called at every step."""
    assert algorithm.steering is not None
    steering = algorithm.steering

    def draw(
        shared: Any,
        observation: Array,
        action: Array,
        centre: Array,
        uniforms: Array,
    ) -> Array:
        (acting, (layers, scale), (mean, spread)), (models, weights), tilted, progress, end = shared
        inputs = jnp.concatenate((normalize.standardise(mean, spread, observation), action), axis=-1)
        slopes = sensitivity.predict(layers, scale, inputs)
        steered = Steered(inputs, slopes, centre, tilted, models, weights, jnp.ones(()), progress)
        drawn = steering.draw(acting, steered, uniforms)
        # Those of models stay as they are.
        return drawn if end is None else jnp.clip(jnp.round(drawn * GRID) / GRID, -end, end)

    return jax.jit(draw)


@compiled("algorithm", "discount")
def _chances(
    critic: tuple[networks.Layers, normalize.Running, Array],
    observation: Array,
    reward: Array,
    terminated: Array,
    valid: Array,
    weights: Array,
    progress: Array,
    *,
    algorithm: Algorithm,
    discount: float,
) -> Array:
    """The chance of each branch; those that diverged count as the best, so that they change little."""
    assert algorithm.choosing is not None
    layers, observations, scale = critic
    after = networks.value(layers, normalize.normalise(observations, observation))
    values = branch_values(reward / scale, terminated, after, discount)
    best = jnp.max(jnp.where(valid, values, -jnp.inf), axis=1, keepdims=True)
    values = jnp.where(valid, values, jnp.where(valid.any(axis=1, keepdims=True), best, 0))
    return algorithm.choosing.chances(values, weights, progress)
