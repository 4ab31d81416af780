"""What a policy is worth: whole episodes with its mean actions, under given dynamics, stepped together."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rapo.learn import Learner
from rapo.learner.rollout import HostPolicy, one_thread
from rapo.world.mujoco_cpu import MujocoSimulator
from rapo.world.task import Bools, Floats, Task


@dataclass(frozen=True)
class Actor:
    """A trained policy for use: observations in, controls out, without noise."""

    policy: HostPolicy
    low: Floats
    high: Floats

    def __call__(self, observation: Floats) -> NDArray[np.floating]:
        """Controls `[N, action]` for observations `[N, observation]`."""
        return np.clip(self.policy(observation), self.low, self.high)


def actor(task: Task, learner: Learner) -> Actor:
    """The policy of a learner."""
    policy = HostPolicy(learner.players[0].parameters.policy, learner.observations)
    return Actor(policy, *task.action_range)


@dataclass(frozen=True)
class Evaluated:
    """One episode for each row of dynamics."""

    returned: Floats
    """`[n]`, the sum of rewards."""
    length: NDArray[np.int64]
    """`[n]`, steps."""
    terminated: Bools
    """`[n]`, ended by the task, and not by the time limit."""
    diverged: Bools
    """`[n]`, cut off because the physics failed: not to be averaged in."""


def evaluate(
    task: Task,
    policy: Callable[[Floats], NDArray[np.floating]],
    dynamics: Floats,
    *,
    seed: int,
    threads: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> Evaluated:
    """One episode under each row of `dynamics` `[n, P]`; `advance` is called once a step."""
    n = len(dynamics)
    simulator = MujocoSimulator(task, n, seed=seed, dynamics=dynamics, threads=threads)
    returned, length = np.zeros(n), np.zeros(n, np.int64)
    running, terminated, diverged = np.ones(n, bool), np.zeros(n, bool), np.zeros(n, bool)
    with one_thread():
        while running.any():
            step = simulator.step(policy(simulator.observation))
            returned += np.where(running, step.reward, 0)
            length += running
            terminated |= running & step.terminated
            diverged |= running & step.diverged
            running &= ~step.done
            advance()
    return Evaluated(returned, length, terminated, diverged)
