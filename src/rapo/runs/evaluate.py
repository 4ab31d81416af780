"""What a policy is worth: whole episodes with its mean actions, under given dynamics, stepped together."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rapo.errors import InputError
from rapo.learn import Learner
from rapo.learner.rollout import HostPolicy, one_thread
from rapo.world.mujoco_cpu import MujocoSimulator
from rapo.world.simulator import States
from rapo.world.streams import STATES, stream
from rapo.world.task import Bools, Floats, Task

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


@dataclass(frozen=True)
class Evaluated:
    """Some episodes under each of n rows of dynamics."""

    returned: Floats
    """`[n, episodes]`, the sum of rewards."""
    length: NDArray[np.int64]
    """`[n, episodes]`, steps."""
    terminated: Bools
    """`[n, episodes]`, ended by the task, and not by the time limit."""
    diverged: Bools
    """`[n, episodes]`, cut off because the physics failed: not to be averaged in."""

    @property
    def means(self) -> Floats:
        """`[n]`, the mean return of the episodes that did not diverge; NaN where all did."""
        good = ~self.diverged
        total = np.sum(self.returned, axis=1, where=good)
        return np.divide(total, good.sum(axis=1), out=np.full(len(total), np.nan), where=good.any(axis=1))


def evaluate(
    task: Task,
    policy: Callable[[Floats], NDArray[np.floating]],
    dynamics: ArrayLike,
    *,
    episodes: int = 1,
    seed: int,
    threads: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> Evaluated:
    """Episodes under each row of `dynamics` `[n, P]`, from the same initial states under each.

    policy: controls for the observations of episodes that still run, row by row; seed: where the initial
    states come from; advance: called once for every step of them all.
    """
    check_episodes(episodes)
    rows = np.repeat(task.dynamics.check(dynamics), episodes, axis=0)
    n = len(rows)
    simulator = MujocoSimulator(task, n, seed=seed, dynamics=rows, threads=threads)
    simulator.reset(states=initial_states(task, n // episodes, episodes, seed))
    returned, length = np.zeros(n), np.zeros(n, np.int64)
    running, terminated, diverged = np.ones(n, bool), np.zeros(n, bool), np.zeros(n, bool)
    controls, ids = np.zeros((n, task.action_size)), np.arange(n)
    with one_thread():
        while len(ids):
            controls[ids] = policy(simulator.observation[ids])
            step = simulator.step(controls)
            returned += np.where(running, step.reward, 0)
            length += running
            terminated |= running & step.terminated
            diverged |= running & step.diverged
            if step.done.any():
                simulator.retire(step.done)
                running &= ~step.done
                ids = np.flatnonzero(running)
            advance()
    shape = (n // episodes, episodes)
    return Evaluated(
        returned.reshape(shape), length.reshape(shape), terminated.reshape(shape), diverged.reshape(shape)
    )


def initial_states(task: Task, settings: int, episodes: int, seed: int) -> States:
    """Where the episodes of each setting begin: the same states for every setting."""
    qpos, qvel = task.reset(episodes, stream(seed, 0, STATES))
    return np.tile(qpos, (settings, 1)), np.tile(qvel, (settings, 1))


def check_episodes(episodes: int) -> None:
    """Refuse a number of episodes that is none."""
    if not isinstance(episodes, int | np.integer) or episodes < 1:
        raise InputError(f"{episodes} episodes were asked for: it must be at least 1")
