"""What pushes the quadrotor: gusts that are held for a while, and its own downwash near the ground."""

import numpy as np

from rapo.arrays import Floats
from rapo.tasks.quadrotor.episode_row import (
    CLOCK,
    DOWNWASH_BELOW,
    DRAWS,
    FORCE,
    KEY,
    LONGEST_PUSH,
    PUSH_EVERY,
    TORQUE,
)
from rapo.world.hashing import compiled, hashed

_WASH = np.uint64(19)
_PUSHES, _PUSH_DRAWS = np.uint64(1 << 40), np.uint64(8)
_EVERY = np.uint64(PUSH_EVERY)


@compiled
def disturb(rows: Floats, height: Floats, scale: Floats, wrench: Floats) -> None:
    """Forces and torques on the quadrotor `[n, 6]`: a held disturbance times `scale` `[n]`, and downwash."""
    for i in range(len(rows)):
        key, clock = np.uint64(rows[i, KEY]), np.uint64(rows[i, CLOCK])
        time = clock + key % _EVERY
        slot = _PUSHES + _PUSH_DRAWS * (time // _EVERY)
        held = np.float64(time % _EVERY) < LONGEST_PUSH * hashed(key, slot)
        for axis in range(6):
            largest = (FORCE if axis < 3 else TORQUE) * scale[i]
            wrench[i, axis] = largest * (2 * hashed(key, slot + np.uint64(1 + axis)) - 1) if held else 0.0
        below = DOWNWASH_BELOW - height[i]
        if below > 0:
            polar = 0.5 * np.pi * hashed(key, clock * DRAWS + _WASH)
            around = 2 * np.pi * hashed(key, clock * DRAWS + _WASH + np.uint64(1))
            wrench[i, 0] += below * np.sin(polar) * np.cos(around)
            wrench[i, 1] += below * np.sin(polar) * np.sin(around)
            wrench[i, 2] += below * np.cos(polar)
