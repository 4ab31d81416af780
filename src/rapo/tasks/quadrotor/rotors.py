"""From actions to thrusts: actions arrive late, a rate controller asks for thrusts, and rotors lag behind."""

import numpy as np
from numpy.typing import ArrayLike

from rapo.arrays import Floats
from rapo.tasks.quadrotor.episode_row import (
    ACTION,
    ARM,
    ARRIVAL,
    CLOCK,
    DRAWS,
    FALLING,
    FASTEST,
    GAIN,
    INERTIA,
    KEY,
    LEAST_THRUST,
    LONGEST_DELAY,
    MIDDLE_THRUST,
    MOST_THRUST,
    RATE_TIME,
    RECORD,
    RECORDS,
    RISING,
    SHORTEST_DELAY,
    SPIN,
    TAU_DOWN,
    TAU_UP,
    THRUST,
    THRUST_FACTOR,
    TIMESTEP,
)
from rapo.world.hashing import compiled, hashed

_PER_RATE = tuple(
    inertia / time / (4 * lever)
    for inertia, time, lever in zip(INERTIA, RATE_TIME, (ARM / 2**0.5, ARM / 2**0.5, SPIN), strict=True)
)


_DELAY = np.uint64(18)


def asking_for(thrust: ArrayLike) -> Floats:
    """The first actions that ask for these thrusts of each rotor, in newtons."""
    return np.log(np.divide(thrust, MIDDLE_THRUST)) / np.log(THRUST_FACTOR)


@compiled
def plan(rows: Floats, lag: Floats, gain: Floats, plans: Floats) -> None:
    """What the rotors are asked for during a step, `[n, PLAN]`: the action before last, then the last one.

    An action is where the thrust of each rotor is in its range, and three shares of the fastest rates.
    """
    for i in range(len(rows)):
        key, clock = np.uint64(rows[i, KEY]), np.uint64(rows[i, CLOCK])
        for which in range(2):
            at = RECORDS + ACTION + (1 - which) * RECORD
            plans[i, 4 * which] = MIDDLE_THRUST * THRUST_FACTOR ** rows[i, at]
            for axis in range(3):
                rate = FASTEST[axis] * rows[i, at + 1 + axis]
                plans[i, 4 * which + 1 + axis] = _PER_RATE[axis] * rate
        delays = 1 + LONGEST_DELAY - SHORTEST_DELAY
        plans[i, ARRIVAL] = np.floor(delays * hashed(key, clock * DRAWS + _DELAY))
        plans[i, RISING] = 1 - np.exp(-TIMESTEP / (lag[i] * TAU_UP))
        plans[i, FALLING] = 1 - np.exp(-TIMESTEP / (lag[i] * TAU_DOWN))
        plans[i, GAIN] = gain[i]


@compiled
def actuate(substep: int, plans: Floats, qvel: Floats, rows: Floats, ctrl: Floats) -> None:
    """One substep of rate controller and rotors: thrusts into `rows`, and times their gain into `ctrl`."""
    for i in range(len(rows)):
        asked = plans[i, 4:8] if substep >= plans[i, ARRIVAL] else plans[i, :4]
        roll = asked[1] - _PER_RATE[0] * qvel[i, 3]
        pitch = asked[2] - _PER_RATE[1] * qvel[i, 4]
        yaw = asked[3] - _PER_RATE[2] * qvel[i, 5]
        for rotor in range(4):
            left = 1 if rotor < 2 else -1
            front = 1 if rotor in (0, 3) else -1
            spin = 1 if rotor in (0, 2) else -1
            wanted = asked[0] + left * roll - front * pitch + spin * yaw
            missing = min(max(wanted, LEAST_THRUST), MOST_THRUST) - rows[i, THRUST + rotor]
            rows[i, THRUST + rotor] += missing * plans[i, RISING if missing > 0 else FALLING]
            ctrl[i, rotor] = plans[i, GAIN] * rows[i, THRUST + rotor]
