"""A trained policy for use: observations in, controls out, without noise."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rapo.arrays import Floats
from rapo.training.rollout import HostPolicy
from rapo.training.update import Learner
from rapo.world.task import Task

BLOCK = 64
"""Rows that a policy is asked for at a time: products of other sizes round otherwise, and so do products in
single precision at another place among the rows."""


@dataclass(frozen=True)
class Actor:
    """A trained policy for use: observations in, controls out, without noise."""

    policy: HostPolicy
    low: Floats
    high: Floats

    def __call__(self, observation: Floats) -> NDArray[np.floating]:
        """Controls `[N, action]` for observations `[N, observation]`; a row does not depend on the others."""
        n, size = observation.shape
        blocks = np.zeros((-(-n // BLOCK), BLOCK, size))
        blocks.reshape(-1, size)[:n] = observation
        actions = self.policy(blocks)
        return np.clip(actions.reshape(-1, actions.shape[-1])[:n], self.low, self.high)


def actor(task: Task, learner: Learner) -> Actor:
    """The policy of a learner."""
    policy = HostPolicy(learner.players[0].parameters.policy, learner.observations, np.float64)
    return Actor(policy, *task.action_range)
