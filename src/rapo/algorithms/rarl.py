"""RARL: PPO against a second policy that pushes the robot, trained in alternation."""

from dataclasses import dataclass, replace
from math import inf

import numpy as np

from rapo.algorithms.ppo import PPO
from rapo.arrays import Floats, Singles
from rapo.errors import InputError
from rapo.world.task import Task


@dataclass(frozen=True)
class Pusher:
    """An adversary that applies bounded forces to some bodies."""

    strength: float = 0.1
    """The largest force along each axis, as a share of the robot's weight."""
    policy_turn: int = 1
    """How many updates the policy learns for at a time."""
    pusher_turn: int = 1
    """How many updates the adversary learns for, after that."""

    def __post_init__(self) -> None:
        if not 0 <= self.strength < inf or self.policy_turn < 1 or self.pusher_turn < 0:
            raise InputError(
                f"an adversary of strength {self.strength:g} with turns of {self.policy_turn} and "
                f"{self.pusher_turn} updates was asked for: the strength is at least 0 and finite, the "
                "policy's turn at least 1, its own 0"
            )

    def bodies(self, task: Task) -> tuple[str, ...]:
        """Those the task names."""
        return task.pushed_bodies

    def size(self, task: Task) -> int:
        """A number for each body and axis."""
        return len(task.pushed_bodies) * len(task.pushed_axes)

    def forces(self, task: Task, pushes: Singles) -> Floats:
        """Forces within the limit."""
        limit = force_limit(task, self.strength)
        return bounded_forces(pushes, len(task.pushed_bodies), task.pushed_axes, limit)

    def learns(self, update: int) -> bool:
        """The policy has the first turn."""
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
