"""What an episode of the quadrotor carries along, number by number, and the constants of its world.

An episode carries a row of `SIZE` numbers along: its key, from which noise, delay and disturbance follow;
its clock; the length of its cable; the thrust of its rotors; the reference; and the latest measurements,
newest first, each with the action that led to it. The compiled functions of this folder read such rows
`[n, SIZE]` and write into arrays they are given; no row depends on another. Quaternions and rates are
MuJoCo's: w x y z, in the body's frame.
"""

import numpy as np

from rapo.tasks.quadrotor.reference import SIZE as REFERENCE_SIZE

SUBSTEPS, TIMESTEP = 5, 0.002
"""Substeps of a step, and the time of each in seconds."""
MASS, INERTIA, ARM, SPIN = 0.280, (2.36e-4, 2.36e-4, 3.03e-4), 0.058, 0.005119
"""In kg, kg m^2, m from the centre to a rotor, and Nm of reaction torque for each N of thrust."""
MOST_THRUST, LEAST_THRUST = 5.63, 0.03
"""Of a rotor, in newtons."""
MIDDLE_THRUST, THRUST_FACTOR = 0.9, 4.0
"""The thrust of each rotor that action 0 asks for, in newtons, and how many times as much 1 asks for: equal
steps of the action are equal factors of thrust."""
TAU_UP, TAU_DOWN = 0.2164, 0.1644
"""Time constants of a rotor at lag 1, in seconds."""
FASTEST = (3.0, 3.0, 1.0)
"""The largest body rates that can be asked for, in rad/s."""
RATE_TIME = (0.03, 0.03, 0.15)
"""Time constants of the rate controller, in seconds."""
FORCE, TORQUE = 0.25, 0.0025
"""The largest disturbance along each axis at scale 1, in N and Nm."""
LONGEST_PUSH, PUSH_EVERY = 25, 125
"""A disturbance is held for up to so many steps; the next begins so many after it began."""
DOWNWASH_BELOW = 0.5
"""Height in metres below which the downwash comes back, with 1 N for each metre."""
SHORTEST_DELAY, LONGEST_DELAY = 5, 10
"""Substeps after which an action arrives: 10 to 20 ms."""
PAST = 5
"""How many earlier measurements and actions are seen."""
AHEAD, GAP = 5, 0.1
"""How many points of the reference ahead are seen, and how far apart they are, in seconds."""
NOISE = (2.5e-3, np.deg2rad(1.5), 5e-3, np.deg2rad(3.0), 2.5e-3, 5e-3)
"""Bounds of the noise on position, attitude, velocity and rate of the quadrotor, and on position and velocity
of the payload: Gaussian of that deviation, clipped there."""
LOWEST, STEEPEST, FARTHEST = 0.05, np.pi / 3, 1.0
"""What ends an episode: a lower quadrotor, a larger Euler angle, a larger error of the payload's position."""

KEY, CLOCK, CABLE, THRUST, REFERENCE = 0, 1, 2, 3, 7
RECORDS = REFERENCE + REFERENCE_SIZE
POSITION, QUATERNION, VELOCITY, RATE, LOAD_POSITION, LOAD_VELOCITY, ACTION, RECORD = (
    0,
    3,
    7,
    10,
    13,
    16,
    19,
    23,
)
"""Where things are in a record, and its length."""
SIZE = RECORDS + (1 + PAST) * RECORD
OBSERVATION = 9 + 15 + 6 * AHEAD + 3 + 1 + 4 + PAST * RECORD
ATTITUDE, VECTORS = slice(0, 9), slice(9, 24 + 6 * AHEAD)
"""Where an observation has the attitude's matrix, row by row, and the vectors in the frame of the body."""
ARRIVAL, RISING, FALLING, GAIN, PLAN = range(8, 13)
"""Where a plan, after two commands of four numbers, has the substep in which the later one arrives, the share
of what is missing that rotors make up in a substep, and their gain; and its length."""

DRAWS = np.uint64(32)
"""Random numbers that a step of an episode may draw; the first 18 are the noise of its measurements."""


def sensed() -> list[tuple[str, int, str]]:
    """What the numbers of an observation are, in order: a name, how many numbers, and their unit."""
    body = "in the frame of the body"
    said = [
        ("attitude, a matrix from body to world, row by row", 9, ""),
        (f"reference less payload position, {body}", 3, "m"),
        (f"reference less payload velocity, {body}", 3, "m/s"),
        (f"quadrotor less payload position, {body}", 3, "m"),
        (f"quadrotor less payload velocity, {body}", 3, "m/s"),
        (f"velocity, {body}", 3, "m/s"),
    ]
    for ahead in range(1, 1 + AHEAD):
        later = f"reference in {ahead * GAP:.1f} s less now"
        said += [(f"position of the {later}, {body}", 3, "m"), (f"velocity of the {later}, {body}", 3, "m/s")]
    said += [("body rates", 3, "rad/s"), ("height", 1, "m"), ("last action", 4, "")]
    for past in range(1, 1 + PAST):
        before = f"{past} step{'s' * (past > 1)} ago less now"
        said += [
            (f"position {before}", 3, "m"),
            (f"quaternion {before}", 4, ""),
            (f"velocity {before}", 3, "m/s"),
            (f"body rates {before}", 3, "rad/s"),
            (f"payload position {before}", 3, "m"),
            (f"payload velocity {before}", 3, "m/s"),
            (f"action {past + 1} steps ago", 4, ""),
        ]
    return said
