"""Environments of Gymnasium whose observations and rewards are computed for all simulations at once."""

from typing import ClassVar

import numpy as np

from rapo.arrays import Bools, Floats
from rapo.tasks.wrapped.gymnasium_task import GymnasiumTask
from rapo.world.task import Data


class InvertedDoublePendulum(GymnasiumTask):
    """Balance two poles, one on the other, on a cart."""

    environment = "InvertedDoublePendulum-v5"
    fields = ("site_xpos", "qfrc_constraint")

    def observe(self, data: Data) -> Floats:
        """Place of the cart, sines and cosines of the angles, velocities, and the force on the cart."""
        angles, force = data.qpos[:, 1:], data.qfrc_constraint[:, :1]
        seen = (
            data.qpos[:, :1],
            np.sin(angles),
            np.cos(angles),
            data.qvel.clip(-10, 10),
            force.clip(-10, 10),
        )
        return np.concatenate(seen, axis=1)

    def score(self, before: Floats, after: Floats, data: Data, actions: Floats) -> tuple[Floats, Bools]:
        """10 while the tip is above 1 m, less its distance from the top and its velocity."""
        x, _, y = data.site_xpos[:, 0].T
        slow, fast = np.square(data.qvel[:, 1:3]).T
        fallen = y <= 1
        return 10.0 * ~fallen - 0.01 * x**2 - (y - 2) ** 2 - 1e-3 * slow - 5e-3 * fast, fallen


class Swimmer(GymnasiumTask):
    """Swim along x with two joints."""

    environment = "Swimmer-v5"

    def observe(self, data: Data) -> Floats:
        """Angles and velocities."""
        return np.concatenate((data.qpos[:, 2:], data.qvel), axis=1)

    def remember(self, data: Data) -> Floats:
        """Where the swimmer is along x."""
        return data.qpos[:, :1].copy()

    def score(self, before: Floats, after: Floats, data: Data, actions: Floats) -> tuple[Floats, Bools]:
        """Forward velocity less the price of the action."""
        reward = (after[:, 0] - before[:, 0]) / self.dt - 1e-4 * np.vecdot(actions, actions)
        return reward, np.zeros(len(data), bool)


class Reacher(GymnasiumTask):
    """Touch a target in the plane with an arm of two joints."""

    environment = "Reacher-v5"
    fields = ("xpos",)

    def observe(self, data: Data) -> Floats:
        """Cosines and sines of the angles, the target, angular velocities, and the way to the target."""
        angles = data.qpos[:, :2]
        way = self._way(data)[:, :2]
        return np.concatenate(
            (np.cos(angles), np.sin(angles), data.qpos[:, 2:], data.qvel[:, :2], way), axis=1
        )

    def score(self, before: Floats, after: Floats, data: Data, actions: Floats) -> tuple[Floats, Bools]:
        """Less the distance to the target, and the price of the action."""
        reward = -np.linalg.norm(self._way(data), axis=1) - np.vecdot(actions, actions)
        return reward, np.zeros(len(data), bool)

    def _way(self, data: Data) -> Floats:
        return data.xpos[:, self.model.body("fingertip").id] - data.xpos[:, self.model.body("target").id]


class PusherArm(GymnasiumTask):
    """Push a cylinder to a goal with an arm of seven joints."""

    environment = "Pusher-v5"
    fields = ("xpos",)
    bodies: ClassVar = ("tips_arm", "object", "goal")

    def observe(self, data: Data) -> Floats:
        """Angles and velocities of the arm, and where its tip, the cylinder and the goal are."""
        return np.concatenate((data.qpos[:, :7], data.qvel[:, :7], *self._places(data)), axis=1)

    def score(self, before: Floats, after: Floats, data: Data, actions: Floats) -> tuple[Floats, Bools]:
        """Less the ways from tip to cylinder and from cylinder to goal, and the price of the action."""
        tip, cylinder, goal = self._places(data)
        near, far = np.linalg.norm(cylinder - tip, axis=1), np.linalg.norm(cylinder - goal, axis=1)
        return -far - 0.1 * np.vecdot(actions, actions) - 0.5 * near, np.zeros(len(data), bool)

    def _places(self, data: Data) -> list[Floats]:
        return [data.xpos[:, self.model.body(name).id] for name in self.bodies]


class Humanoid(GymnasiumTask):
    """Walk along x on two legs."""

    environment = "Humanoid-v5"
    fields = ("xipos", "cinert", "cvel", "qfrc_actuator", "cfrc_ext")

    def observe(self, data: Data) -> Floats:
        """Positions but x and y, velocities, and of all bodies inertias, velocities and forces."""
        n = len(data)
        bodies = [field[:, 1:].reshape(n, -1) for field in (data.cinert, data.cvel)]
        forces = data.qfrc_actuator[:, 6:], data.cfrc_ext[:, 1:].reshape(n, -1)
        return np.concatenate((data.qpos[:, 2:], data.qvel, *bodies, *forces), axis=1)

    def remember(self, data: Data) -> Floats:
        """Where all bodies are along x; masses may differ in the next step, and so the centre of mass."""
        return data.xipos[:, :, 0].copy()

    def score(self, before: Floats, after: Floats, data: Data, actions: Floats) -> tuple[Floats, Bools]:
        """Velocity of the centre of mass, 5 while on its feet, less the prices of action and contacts."""
        masses = self.dynamics.values(data.dynamics).get("body_mass", np.asarray(self.model.body_mass))
        velocity = np.vecdot(masses, after - before) / masses.sum(axis=-1) / self.dt
        height = data.qpos[:, 2]
        standing = (height > 1.0) & (height < 2.0)
        forces = data.cfrc_ext.reshape(len(data), -1)
        contact = np.minimum(5e-7 * np.vecdot(forces, forces), 10.0)
        reward = 1.25 * velocity + 5.0 * standing - 0.1 * np.vecdot(data.ctrl, data.ctrl) - contact
        return reward, ~standing


BATCHED = {
    str(kind.environment): kind for kind in (InvertedDoublePendulum, Swimmer, Reacher, PusherArm, Humanoid)
}
"""By id, the environments that are computed in batches."""
