"""Which declared parameters change anything: the same steps under both ends of every test range.

A parameter may be declared and change nothing: MuJoCo takes the larger friction of two geoms in contact, so
that the friction of a foot means nothing on a rougher floor.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rapo.world.engines import make_simulator
from rapo.world.task import Task

ENVIRONMENTS, STEPS = 16, 40
"""Environments and steps of the episodes, with random actions, whose states are tried."""


class Effect(NamedTuple):
    """What one parameter changes."""

    name: str
    fields: tuple[str, ...]
    moved: float
    """Root mean square, over states, of how far apart next observations are under the two ends of the range,
    in units of how much observations differ from step to step."""
    reward: float
    """Root mean square of the difference in reward."""

    @property
    def nothing(self) -> bool:
        """Whether nothing at all changes."""
        return self.moved == 0 and self.reward == 0


def parameter_effects(task: Task, seed: int = 0, threads: int = 0) -> list[Effect]:
    """The effect of every parameter that may change within an episode, over episodes of random actions."""
    rng = np.random.default_rng(seed)
    simulator = make_simulator(task, ENVIRONMENTS, seed=seed, threads=threads)
    low, high = task.bounded_actions
    movable = [i for i, p in enumerate(task.dynamics) if p.within_episode]
    models = np.tile(task.dynamics.nominal(2), (len(movable), 1, 1))
    for row, column in enumerate(movable):
        models[row, :, column] = task.dynamics.parameters[column].test
    apart, paid, usual = np.zeros(len(movable)), np.zeros(len(movable)), 0.0
    for _ in range(STEPS):
        actions = rng.uniform(low, high, (ENVIRONMENTS, task.action_size))
        before = simulator.snapshot()
        if movable:
            led = simulator.branch(before, actions, models.reshape(-1, len(task.dynamics)))
            seen = np.nan_to_num(led.observation).reshape(ENVIRONMENTS, len(movable), 2, -1)
            reward = np.nan_to_num(led.reward).reshape(ENVIRONMENTS, len(movable), 2)
            valid = led.valid.reshape(ENVIRONMENTS, len(movable), 2)
            both = valid[:, :, 0] & valid[:, :, 1]  # neither end diverged
            apart += (both[..., None] * (seen[:, :, 1] - seen[:, :, 0]) ** 2).mean(axis=(0, 2))
            paid += (both * (reward[:, :, 1] - reward[:, :, 0]) ** 2).mean(axis=0)
        step = simulator.step(actions)
        usual += float(((step.next_observation - before.observation) ** 2).mean())
    moved = np.sqrt(apart / (usual if usual > 0 else 1))
    rewards = np.sqrt(paid / STEPS)
    return [
        Effect(
            task.dynamics.names[column], tuple(task.dynamics.parameters[column].fields), float(m), float(r)
        )
        for column, m, r in zip(movable, moved, rewards, strict=True)
    ]
