"""RARL: PPO against a second policy that pushes the robot, trained in alternation."""

from dataclasses import dataclass, replace
from math import inf

from rapo.algorithms.ppo import PPO
from rapo.errors import InputError
from rapo.learner import adversary
from rapo.learner.rollout import Singles
from rapo.world.task import Floats, Task


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
        limit = adversary.force_limit(task, self.strength)
        return adversary.forces(pushes, len(task.pushed_bodies), task.pushed_axes, limit)

    def learns(self, update: int) -> bool:
        """The policy has the first turn."""
        return update % (self.policy_turn + self.pusher_turn) >= self.policy_turn


RARL = replace(
    PPO,
    name="rarl",
    summary="PPO against an adversary that pushes, trained in alternation",
    opponent=Pusher(),
)
