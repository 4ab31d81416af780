"""A trained policy for use outside training: observations in, controls out, without noise."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rapo.arrays import Floats
from rapo.training.rollout import HostPolicy
from rapo.training.update import Learner
from rapo.world.task import Task

BLOCK = 64
"""Rows of observations in one matrix product: in products of other sizes the same row would be rounded
differently. (In single precision a row's place in the product matters too.)"""


@dataclass(frozen=True)
class Actor:
    """A trained policy: observations in, controls out, without noise."""

    policy: HostPolicy
    low: Floats
    """`[action]`, the smallest controls."""
    high: Floats
    """`[action]`, the largest controls."""

    def __call__(self, observation: Floats) -> NDArray[np.floating]:
        """Controls `[N, action]` for observations `[N, observation]`; a row does not depend on the others."""
        n, size = observation.shape
        blocks = np.zeros((-(-n // BLOCK), BLOCK, size))
        blocks.reshape(-1, size)[:n] = observation
        actions = self.policy(blocks)
        return np.clip(actions.reshape(-1, actions.shape[-1])[:n], self.low, self.high)


def actor(task: Task, learner: Learner) -> Actor:
    """The policy of a learner as an actor for its task."""
    policy = HostPolicy(learner.players[0].parameters.policy, learner.observations, np.float64)
    return Actor(policy, *task.action_range)
