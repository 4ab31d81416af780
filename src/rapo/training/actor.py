"""A trained policy for use outside training: observations in, controls out, without noise."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rapo.arrays import Floats
from rapo.errors import InputError
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
        """Controls `[N, action]` for observations `[N, observation]`, or `[action]` for one `[observation]`.

        A row does not depend on the others.
        """
        observation = np.asarray(observation, np.float64)
        if observation.ndim == 1:
            return self(observation[None])[0]
        wanted = self.policy.size
        if observation.ndim != 2 or observation.shape[1] != wanted:
            raise InputError(
                f"observations of shape {observation.shape} were given: allowed are ({wanted},) and "
                f"(N, {wanted})"
            )
        if not np.isfinite(observation).all():
            row, column = np.argwhere(~np.isfinite(observation))[0]
            raise InputError(
                f"number {column} of observation {row} is {observation[row, column]}: "
                "allowed are finite numbers"
            )
        n, size = observation.shape
        blocks = np.zeros((-(-n // BLOCK), BLOCK, size))
        blocks.reshape(-1, size)[:n] = observation
        actions = self.policy(blocks)
        return np.clip(actions.reshape(-1, actions.shape[-1])[:n], self.low, self.high)


def actor(task: Task, learner: Learner) -> Actor:
    """The policy of a learner as an actor for its task."""
    policy = HostPolicy(learner.players[0].parameters.policy, learner.observations, np.float64)
    return Actor(policy, *task.action_range)
