"""Ant-v5: four legs in space, with contact forces in the observation and in the cost."""

from typing import ClassVar

import numpy as np

from rapo.arrays import Bools, Floats
from rapo.tasks.locomotion import ASSETS, Locomotion, coordinates
from rapo.world.task import Data


class Ant(Locomotion):
    """A four-legged robot in space."""

    name = "ant"
    gymnasium_id = "Ant-v5"
    model_file = ASSETS / "ant.xml"
    frame_skip = 5
    control_cost = 0.5
    reset_noise = 0.1
    contact_cost = 5e-4
    fields = ("xpos", "cfrc_ext")
    options: ClassVar = {"first_std": 0.4, "gae_lambda": 0.9}

    def reset_velocity(self, n: int, rng: np.random.Generator) -> Floats:
        """Gaussian noise on the initial velocities."""
        return self.reset_noise * rng.standard_normal((n, self.model.nv))

    def observe(self, data: Data) -> Floats:
        """Positions but x and y, velocities, and every body's contact forces clipped to 1."""
        forces = data.cfrc_ext[:, 1:].clip(-1.0, 1.0).reshape(len(data.qpos), -1)
        return np.concatenate((data.qpos[:, 2:], data.qvel, forces), axis=1)

    def observed(self) -> list[tuple[str, int, str]]:
        """Positions but x and y, velocities, and torque and force of contacts on every body."""
        positions, velocities = coordinates(self.model)
        bodies = [self.model.body(i).name or f"body {i}" for i in range(1, self.model.nbody)]
        return positions[2:] + velocities + [(f"contact torque and force on {b}", 6, "Nm, N") for b in bodies]

    def remember(self, data: Data) -> Floats:
        """Where the torso's frame is along x, which is not quite qpos: MuJoCo leaves it a stage behind."""
        return data.xpos[:, 1, :1].copy()

    def score(self, before: Floats, after: Floats, data: Data, actions: Floats) -> tuple[Floats, Bools]:
        """Locomotion's reward less the price of hard contacts."""
        reward, terminated = super().score(before, after, data, actions)
        forces = data.cfrc_ext.clip(-1.0, 1.0).reshape(len(reward), -1)
        reward -= self.contact_cost * np.vecdot(forces, forces)
        return reward, terminated

    def healthy(self, data: Data) -> Bools:
        """Torso between 0.2 m and 1 m high; a state that is not finite never gets here."""
        height = data.qpos[:, 2]
        return (height >= 0.2) & (height <= 1.0)
