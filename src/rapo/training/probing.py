"""Probes: some steps of a rollout, taken again under other dynamics, for sensitivities to learn from."""

from __future__ import annotations

import numpy as np

from rapo.algorithms.probes import ProbePlan
from rapo.algorithms.spec import LearnedSensitivity
from rapo.training.config import Config
from rapo.training.rollout import Probed, Visited, branch, for_device
from rapo.world.simulator import Simulator
from rapo.world.streams import CORNERS, PROBING, stream


class Prober:
    """Plans the probes of every update and takes them."""

    def __init__(self, config: Config, sensitivity: LearnedSensitivity) -> None:
        self._config = config
        self._sensitivity = sensitivity
        parameters = len(config.task.dynamics.movable)
        self._rows = config.steps_per_update
        self._corners = sensitivity.corners(stream(config.seed, 0, CORNERS), parameters, self._rows)

    def plan(self, update: int) -> ProbePlan:
        """Which steps of an update are probed."""
        rng = stream(self._config.seed, update, PROBING)
        return self._sensitivity.plan(rng, self._corners, self._rows, self._config.settings.num_envs)

    def probe(self, simulator: Simulator, plan: ProbePlan, visited: Visited) -> Probed:
        """The steps of a plan, all that were visited or more, under the dynamics of the probes."""
        pairs = visited if len(visited.controls) == len(plan.pairs) else visited[plan.pairs]
        episodes = np.repeat(pairs.snapshot.dynamics[:, None], plan.units.shape[1], axis=1)
        led = branch(simulator, pairs, self._config.task.dynamics.moved(episodes, plan.units))
        units = for_device(plan.units.astype(np.float32))
        return Probed(for_device(plan.pairs), units, led, for_device(plan.batches))


def make_prober(config: Config) -> Prober | None:
    """A prober for an algorithm that learns sensitivities."""
    sensitivity = config.algorithm.sensitivity
    return None if sensitivity is None else Prober(config, sensitivity)
