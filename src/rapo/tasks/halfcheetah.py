"""HalfCheetah-v5: run forward as fast as possible; it can't fall out of an episode."""

from typing import ClassVar

import numpy as np

from rapo.arrays import Floats
from rapo.tasks.locomotion import ASSETS, Locomotion


class HalfCheetah(Locomotion):
    """A two-legged runner in the plane."""

    name = "halfcheetah"
    gymnasium_id = "HalfCheetah-v5"
    model_file = ASSETS / "half_cheetah.xml"
    frame_skip = 5
    control_cost = 0.1
    pushed_bodies = ("torso", "bfoot", "ffoot")
    pushed_axes = (0, 2)
    reset_noise = 0.1
    options: ClassVar = {"first_std": 0.4, "discount": 0.98}

    def reset_velocity(self, n: int, rng: np.random.Generator) -> Floats:
        """Gaussian noise on the initial velocities."""
        return self.reset_noise * rng.standard_normal((n, self.model.nv))
