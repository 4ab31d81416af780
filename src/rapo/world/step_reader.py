"""Reading observations, rewards and terminations after a step, on several threads if there are many rows.

Rows do not depend on each other, so they are read in blocks; blocks, and so results, are the same whatever
the number of threads.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from math import isfinite
from typing import NamedTuple

import numpy as np

from rapo.arrays import Bools, Floats
from rapo.world.task import Data, Task

BLOCK = 1024
"""Rows that one thread reads at a time."""

_SMALL = 4096
"""The most numbers whose squares BLAS adds up without threads of its own."""


class Reading(NamedTuple):
    """What is read off n simulations after a step."""

    memory: Floats
    """`[n, memory]`."""
    observation: Floats
    """`[n, observation]`."""
    reward: Floats
    """`[n]`."""
    terminated: Bools
    """`[n]`."""
    finite: bool
    """Whether every observation and reward is finite."""


class Reader:
    """Calls the methods of a task that follow a step, on this many threads; 0 means all cores."""

    def __init__(self, task: Task, threads: int) -> None:
        self._task = task
        self._pool = None if threads == 1 else ThreadPoolExecutor(threads or os.cpu_count())

    def __call__(self, data: Data, before: Floats, actions: Floats) -> Reading:
        """Read the step that led to `data`; before: `[n, memory]`, what the task kept before the step."""
        n, task = len(before), self._task
        if n <= BLOCK:  # one block: nothing has to be put together
            return self._read(data, before, actions)
        memory, observation = (np.empty((n, size)) for size in (task.memory_size, task.observation_size))
        reward, terminated, fine = np.empty(n), np.empty(n, bool), []

        def fill(block: slice) -> None:
            part = self._read(data.rows(block), before[block], actions[block])
            memory[block], observation[block] = part.memory, part.observation
            reward[block], terminated[block] = part.reward, part.terminated
            fine.append(part.finite)

        self._each([slice(start, start + BLOCK) for start in range(0, n, BLOCK)], fill)
        return Reading(memory, observation, reward, terminated, all(fine))

    def _each(self, blocks: list[slice], work: Callable[[slice], None]) -> None:
        """Do the work for every block; when this returns or raises, no thread is still working."""
        if self._pool is None:
            for block in blocks:
                work(block)
            return
        futures = [self._pool.submit(work, block) for block in blocks]
        try:
            for future in futures:
                future.result()
        finally:
            wait(futures)

    def _read(self, data: Data, before: Floats, actions: Floats) -> Reading:
        task = self._task
        task.settle(data, actions)
        after = task.remember(data)
        observation = task.observe(data)
        reward, terminated = task.score(before, after, data, actions)
        fine = finite(observation) and finite(reward)
        return Reading(after, observation, reward, terminated, fine)


def finite(array: Floats) -> bool:
    """Whether all numbers of an array are finite; of small arrays the sum of squares tells it in one call."""
    if array.size <= _SMALL and isfinite(np.vdot(array, array)):
        return True
    return bool(np.logical_and.reduce(np.isfinite(array), axis=None))
