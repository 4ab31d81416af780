"""What Gymnasium's MuJoCo v5 locomotion tasks share: run forward, stay healthy, spend little.

reward = forward velocity + healthy_reward * healthy - control_cost * |action|^2, and an episode ends when
the robot is no longer healthy. The actions are not clipped here: MuJoCo clamps the actuators, and the
cost is paid on what was asked for, as in Gymnasium.
"""

from __future__ import annotations

from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import numpy as np

from rapo.arrays import Bools, Floats
from rapo.heavy import mujoco
from rapo.world.parameter import Parameter
from rapo.world.task import Data, Task

ASSETS = Path(str(getattr(find_spec("gymnasium"), "origin", ""))).parent / "envs" / "mujoco" / "assets"
IN_DISTRIBUTION = (0.8, 1.2)
SWEPT = (0.5, 1.5)

PARAMETERS = (
    Parameter("mass", ("body_mass",), IN_DISTRIBUTION, SWEPT),
    Parameter("inertia", ("body_inertia",), IN_DISTRIBUTION, SWEPT),
    Parameter("friction", ("geom_friction",), IN_DISTRIBUTION, SWEPT),
    Parameter("torque", ("actuator_gear",), IN_DISTRIBUTION, SWEPT),
)


def coordinates(model: mujoco.MjModel) -> tuple[list[tuple[str, int, str]], list[tuple[str, int, str]]]:
    """What the numbers of qpos and of qvel are: the name of each, 1, and its unit."""
    positions, velocities = [], []
    for i in range(model.njnt):
        joint, kind = model.joint(i).name, int(model.jnt_type[i])
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            positions += [(f"{axis} of {joint}", 1, "m") for axis in "xyz"]
            positions += [(f"quaternion {part} of {joint}", 1, "") for part in "wxyz"]
            velocities += [(f"velocity {axis} of {joint}", 1, "m/s") for axis in "xyz"]
            velocities += [(f"angular velocity {axis} of {joint}", 1, "rad/s") for axis in "xyz"]
        else:
            unit = "m" if kind == mujoco.mjtJoint.mjJNT_SLIDE else "rad"
            positions.append((f"position of {joint}", 1, unit))
            velocities.append((f"velocity of {joint}", 1, f"{unit}/s"))
    return positions, velocities


class Locomotion(Task):
    """A robot that should run in the direction of x."""

    parameters = PARAMETERS
    gymnasium_id: ClassVar[str]
    """The Gymnasium task it equals step by step."""
    control_cost: ClassVar[float]
    """Price of one unit of squared action."""
    reset_noise: ClassVar[float]
    """Half-width of the uniform noise on the initial positions."""
    healthy_reward: ClassVar[float] = 1.0
    """Reward of every healthy step."""
    velocity_limit: ClassVar[float] = np.inf
    """Observed velocities are clipped to this size."""

    def reset(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Initial pose with uniform noise on positions, and `reset_velocity` on velocities."""
        qpos = self.initial_qpos + rng.uniform(-self.reset_noise, self.reset_noise, (n, self.model.nq))
        return qpos, self.initial_qvel + self.reset_velocity(n, rng)

    def reset_velocity(self, n: int, rng: np.random.Generator) -> Floats:
        """Noise on the initial velocities, `[n, nv]`: uniform unless a task says otherwise."""
        return rng.uniform(-self.reset_noise, self.reset_noise, (n, self.model.nv))

    def observe(self, data: Data) -> Floats:
        """All positions but x, then the velocities."""
        observation = np.concatenate((data.qpos[:, 1:], data.qvel), axis=1)
        if self.velocity_limit < np.inf:
            low, high = self._observed
            np.maximum(observation, low, out=observation)
            np.minimum(observation, high, out=observation)
        return observation

    @cached_property
    def _observed(self) -> tuple[Floats, Floats]:
        """Ends of what is observed; positions have none, but whole rows are clipped sooner than parts."""
        high = np.repeat((np.inf, self.velocity_limit), (self.model.nq - 1, self.model.nv))
        return -high, high

    def observed(self) -> list[tuple[str, int, str]]:
        """All positions but x, then the velocities, joint by joint."""
        positions, velocities = coordinates(self.model)
        return positions[1:] + velocities

    def remember(self, data: Data) -> Floats:
        """Where the robot is along x."""
        return data.qpos[:, :1].copy()

    def score(self, before: Floats, after: Floats, data: Data, actions: Floats) -> tuple[Floats, Bools]:
        """Forward velocity, health and the cost of the action."""
        reward = after[:, 0] - before[:, 0]
        reward /= self.dt
        reward -= self.control_cost * np.vecdot(actions, actions)
        healthy = self.healthy(data)
        if healthy is None:
            return reward, np.zeros(len(data), bool)
        reward += self.healthy_reward * healthy
        return reward, ~healthy

    def healthy(self, data: Data) -> Bools | None:
        """Which robots `[n]` may go on; None where they can't fall and are not paid for standing."""
        return None
