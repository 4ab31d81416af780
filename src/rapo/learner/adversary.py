"""RARL's adversary: a policy that pushes bodies with bounded forces, paid for what the first one loses."""

import numpy as np

from rapo.learner.rollout import Rollout, Singles
from rapo.world.task import Floats, Task


def force_limit(task: Task, strength: float) -> float:
    """The largest force in newtons along each axis: `strength` times the robot's weight."""
    gravity = float(np.sqrt((task.model.opt.gravity**2).sum()))
    return strength * float(task.model.body_mass.sum()) * gravity


def forces(pushes: Singles, bodies: int, axes: tuple[int, ...], limit: float) -> Floats:
    """Forces `[N, bodies, 6]` for pushes `[N, bodies * axes]`: a push of 1 or more is the limit."""
    applied = np.zeros((len(pushes), bodies, 6))
    bounded = np.clip(pushes, -1, 1).reshape(len(pushes), bodies, len(axes))
    applied[:, :, axes] = limit * bounded
    return applied


def opposed(rollout: Rollout) -> Rollout:
    """The rollout as the adversary sees it: its pushes are the actions, and the policy's gain its loss."""
    return rollout._replace(actions=rollout.actions[::-1], reward=-rollout.reward)
