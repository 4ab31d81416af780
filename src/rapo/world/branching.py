"""Branches: one step from given states under each of several models, in simulations of their own."""

from __future__ import annotations

import numpy as np

from rapo.arrays import Bools, Floats, Ids
from rapo.world.physics import Physics
from rapo.world.simulator import Branches
from rapo.world.step_reader import Reader, Reading
from rapo.world.task import Task


class Fan:
    """Simulations in which m states go one step under K models each, number i K + j being state i, model j.

    They stay as the step left them until the next one, so that an environment can go on from them.
    """

    def __init__(self, task: Task, read: Reader, bodies: Ids, threads: int) -> None:
        self._task = task
        self._read = read
        self._bodies = bodies
        self._threads = threads
        self.physics = Physics(task, 1, threads)

    def prepare(self, models: Floats, states: int) -> None:
        """Put models `[K, P]` in force for so many states, or `[states, K, P]`, for each state its own."""
        k, shared = models.shape[-2], models.ndim == 2
        needed = states * k
        if self.physics.n < needed or (shared and self.physics.n % k):
            self.physics = Physics(self._task, needed, self._threads)
        if shared:
            self.physics.set_dynamics(np.tile(models, (self.physics.n // k, 1)))
        else:
            ids = None if self.physics.n == needed else np.arange(needed)
            self.physics.set_dynamics(models.reshape(needed, -1), ids, remember=True)

    def step(
        self, saved: Floats, memory: Floats, actions: Floats, mask: Bools, forces: Floats | None = None
    ) -> tuple[Reading, Bools | None]:
        """One step from each of m states `[m, size]` where `mask` `[m, K]` is True.

        It returns what is read off the rows `[m K]`, and which of them diverged.
        """
        m, k = mask.shape
        used, physics, task = slice(0, m * k), self.physics, self._task
        physics.load(saved, copies=k)
        data = physics.data.rows(used)
        memory, actions = np.repeat(memory, k, axis=0), np.repeat(actions, k, axis=0)
        before = task.drive(data, actions)
        if forces is not None:
            pushed = physics.xfrc_applied[used].reshape(m, k, -1, 6)
            pushed[:, :, self._bodies] += forces[:, None]
        selected = mask.reshape(-1)
        everything = len(selected) == physics.n and selected.all()
        failed = physics.step(task.frame_skip, None if everything else np.flatnonzero(selected), before)
        read = self._read(data, memory, actions)
        return read, diverged_rows(None if failed is None else failed[used], read)


def as_branches(read: Reading, diverged: Bools | None, mask: Bools) -> Branches:
    """What was read off m K simulations as branches `[m, K]`, of those that were simulated by `mask`."""
    m, k = mask.shape
    bad = np.zeros((m, k), bool) if diverged is None else diverged.reshape(m, k) & mask
    valid = mask & ~bad
    observation, reward = read.observation.reshape(m, k, -1).copy(), read.reward.reshape(m, k).copy()
    observation[~valid] = np.nan
    reward[~valid] = np.nan
    return Branches(observation, reward, read.terminated.reshape(m, k) & valid, valid, bad)


def diverged_rows(failed: Bools | None, read: Reading) -> Bools | None:
    """Which rows `[n]` failed in the engine or are not finite; None if all rows are fine."""
    if failed is None and read.finite:
        return None
    bad = ~(np.isfinite(read.observation).all(axis=1) & np.isfinite(read.reward))
    if failed is not None:
        bad |= failed
    return bad if bad.any() else None
