"""Walker2d-v5: two legs, walk forward without falling."""

import numpy as np

from rapo.arrays import Bools
from rapo.tasks.locomotion import ASSETS, Locomotion
from rapo.world.task import Data


class Walker2d(Locomotion):
    """A two-legged robot in the plane."""

    name = "walker2d"
    gymnasium_id = "Walker2d-v5"
    model_file = ASSETS / "walker2d_v5.xml"
    frame_skip = 4
    control_cost = 1e-3
    pushed_bodies = ("foot", "foot_left")
    pushed_axes = (0, 2)
    reset_noise = 5e-3
    velocity_limit = 10.0

    def healthy(self, data: Data) -> Bools:
        """Between 0.8 m and 2 m high and upright to 1 rad."""
        height, angle = data.qpos[:, 1], data.qpos[:, 2]
        return (height > 0.8) & (height < 2.0) & (np.abs(angle) < 1.0)
