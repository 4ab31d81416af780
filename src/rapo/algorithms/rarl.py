"""RARL: PPO against a second policy that pushes the robot, trained in alternation."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from rapo.algorithms.ppo import PPO
from rapo.arrays import Floats, Singles
from rapo.ranges import COUNT, NOT_NEGATIVE, check_ranges
from rapo.world.task import Task


@dataclass(frozen=True)
class Pusher:
    """An adversary that applies bounded forces to some bodies."""

    strength: Annotated[float, NOT_NEGATIVE] = 0.1
    """Largest force of the adversary along each axis, as a share of the robot's weight."""
    policy_turn: Annotated[int, COUNT] = 1
    """Updates in a row in which the policy learns."""
    pusher_turn: Annotated[int, NOT_NEGATIVE] = 1
    """Updates in a row in which the adversary learns, after those of the policy; 0 means never."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def bodies(self, task: Task) -> tuple[str, ...]:
        """The bodies that the task names."""
        return task.pushed_bodies

    def size(self, task: Task) -> int:
        """How many numbers a push has: one for each body and axis."""
        return len(task.pushed_bodies) * len(task.pushed_axes)

    def forces(self, task: Task, pushes: Singles) -> Floats:
        """Forces `[N, bodies, 6]` for pushes `[N, size]`, cut off at the adversary's strength."""
        limit = force_limit(task, self.strength)
        return bounded_forces(pushes, len(task.pushed_bodies), task.pushed_axes, limit)

    def learns(self, update: int) -> bool:
        """Whether the adversary learns in this update; the policy has the first turn."""
        return update % (self.policy_turn + self.pusher_turn) >= self.policy_turn


def force_limit(task: Task, strength: float) -> float:
    """The largest force in newtons along each axis: `strength` times the robot's weight."""
    gravity = float(np.sqrt((task.model.opt.gravity**2).sum()))
    return strength * float(task.model.body_mass.sum()) * gravity


def bounded_forces(pushes: Singles, bodies: int, axes: tuple[int, ...], limit: float) -> Floats:
    """Forces `[N, bodies, 6]` for pushes `[N, bodies * axes]`: a push of 1 or more is the limit."""
    applied = np.zeros((len(pushes), bodies, 6))
    bounded = np.clip(pushes, -1, 1).reshape(len(pushes), bodies, len(axes))
    applied[:, :, axes] = limit * bounded
    return applied


RARL = replace(
    PPO,
    name="rarl",
    summary="PPO against an adversary that pushes, trained in alternation",
    opponent=Pusher(),
)
