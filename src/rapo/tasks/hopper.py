"""Hopper-v5: one leg, hop forward without falling."""

import numpy as np

from rapo.arrays import Bools
from rapo.tasks.locomotion import ASSETS, Locomotion
from rapo.world.task import Data


class Hopper(Locomotion):
    """A one-legged robot in the plane."""

    name = "hopper"
    gymnasium_id = "Hopper-v5"
    model_file = ASSETS / "hopper.xml"
    frame_skip = 4
    control_cost = 1e-3
    pushed_bodies = ("foot",)
    pushed_axes = (0, 2)
    reset_noise = 5e-3
    velocity_limit = 10.0

    def healthy(self, data: Data) -> Bools:
        """Above 0.7 m, upright to 0.2 rad, and every other coordinate within 100."""
        healthy = (data.qpos[:, 1] > 0.7) & (np.abs(data.qpos[:, 2]) < 0.2)
        rest, speeds = np.abs(data.qpos[:, 2:]), np.abs(data.qvel)
        if not (rest.max() < 100 and speeds.max() < 100):
            healthy &= (rest < 100).all(axis=1) & (speeds < 100).all(axis=1)
        return healthy
