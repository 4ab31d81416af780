"""What a task makes of simulations that have moved, on several threads where there are many of them.

Rows do not depend on each other, so they are read in blocks; the blocks are the same whatever the number of
threads, and therefore so are the results.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from rapo.world.task import Bools, Data, Floats, Task

BLOCK = 1024
"""Rows that one thread reads at a time."""


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


class Reader:
    """Calls a task's methods in their order; threads: 0 means all cores."""

    def __init__(self, task: Task, threads: int) -> None:
        self._task = task
        self._map = map if threads == 1 else ThreadPoolExecutor(threads or os.cpu_count()).map

    def __call__(self, data: Data, before: Floats, actions: Floats) -> Reading:
        """Settle the step that led to `data`, and read it off; before: what was remembered before it."""
        n = len(data)
        if n <= BLOCK:
            return self._read(data, before, actions)
        sizes = self._task.memory_size, self._task.observation_size
        whole = Reading(*(np.empty((n, size)) for size in sizes), np.empty(n), np.empty(n, bool))

        def fill(start: int) -> None:
            block = slice(start, start + BLOCK)
            part = self._read(data.rows(block), before[block], actions[block])
            for array, rows in zip(whole, part, strict=True):
                array[block] = rows

        list(self._map(fill, range(0, n, BLOCK)))
        return whole

    def _read(self, data: Data, before: Floats, actions: Floats) -> Reading:
        task = self._task
        task.settle(data, actions)
        after = task.remember(data)
        observation = task.observe(data)
        return Reading(after, observation, *task.score(before, after, data, actions))
