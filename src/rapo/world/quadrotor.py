"""What goes on inside an episode of the quadrotor that carries a payload, compiled, for n of them at a time.

An episode carries a row of `SIZE` numbers along: its key, from which noise, delay and disturbance follow;
its clock; the length of its cable; the thrust of its rotors; the reference; and the latest measurements,
newest first, each with the action that led to it. Every function below reads such rows `[n, SIZE]` and writes
into arrays it is given; no row depends on another. Quaternions and rates are MuJoCo's: w x y z,
in the body's frame.
"""

import numpy as np
from numba import njit
from numpy.typing import ArrayLike

from rapo.world import reference
from rapo.world.reference import course, point
from rapo.world.streams import hashed
from rapo.world.task import Floats

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
RECORDS = REFERENCE + reference.SIZE
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

compiled = njit(cache=True, error_model="numpy", nogil=True)
"""How every function here is compiled: other threads may go on meanwhile."""

_DRAWS, _DELAY, _WASH = np.uint64(32), np.uint64(18), np.uint64(19)
_PUSHES, _PUSH_DRAWS = np.uint64(1 << 40), np.uint64(8)
_EVERY = np.uint64(PUSH_EVERY)
_QUANTILE = (0.02385331, -0.00593666, 0.0325571, 0.05704547, 0.1667464, 0.99999922)
_PER_RATE = tuple(
    inertia / time / (4 * lever)
    for inertia, time, lever in zip(INERTIA, RATE_TIME, (ARM / 2**0.5, ARM / 2**0.5, SPIN), strict=True)
)


def asking_for(thrust: ArrayLike) -> Floats:
    """The first actions that ask for these thrusts of each rotor, in newtons."""
    return np.log(np.divide(thrust, MIDDLE_THRUST)) / np.log(THRUST_FACTOR)


@compiled
def disturb(rows, height, scale, wrench):
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
            polar = 0.5 * np.pi * hashed(key, clock * _DRAWS + _WASH)
            around = 2 * np.pi * hashed(key, clock * _DRAWS + _WASH + np.uint64(1))
            wrench[i, 0] += below * np.sin(polar) * np.cos(around)
            wrench[i, 1] += below * np.sin(polar) * np.sin(around)
            wrench[i, 2] += below * np.cos(polar)


@compiled
def plan(rows, lag, gain, plans):
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
        plans[i, ARRIVAL] = np.floor(delays * hashed(key, clock * _DRAWS + _DELAY))
        plans[i, RISING] = 1 - np.exp(-TIMESTEP / (lag[i] * TAU_UP))
        plans[i, FALLING] = 1 - np.exp(-TIMESTEP / (lag[i] * TAU_DOWN))
        plans[i, GAIN] = gain[i]


@compiled
def actuate(substep, plans, qvel, rows, ctrl):
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


@compiled
def move_on(rows, qpos, qvel, actions):
    """Advance the clocks, and put a new record before the earlier ones; actions end at -1 and 1."""
    for i in range(len(rows)):
        rows[i, CLOCK] += 1
        for j in range(SIZE - 1, RECORDS + RECORD - 1, -1):
            rows[i, j] = rows[i, j - RECORD]
        measure(rows[i], qpos[i], qvel[i])
        for j in range(4):
            rows[i, RECORDS + ACTION + j] = min(max(actions[i, j], -1.0), 1.0)


@compiled
def measure(row, qpos, qvel):
    """What the sensors say, into the first record of a row."""
    key, clock = np.uint64(row[KEY]), np.uint64(row[CLOCK])
    noise = np.empty(18)
    for j in range(18):
        noise[j] = NOISE[j // 3] * _clipped_normal(hashed(key, clock * _DRAWS + np.uint64(j)))
    record = row[RECORDS:]
    for j in range(3):
        record[POSITION + j] = qpos[j] + noise[j]
        record[VELOCITY + j] = qvel[j] + noise[6 + j]
        record[RATE + j] = qvel[3 + j] + noise[9 + j]
        record[LOAD_POSITION + j] = qpos[7 + j] + noise[12 + j]
        record[LOAD_VELOCITY + j] = qvel[6 + j] + noise[15 + j]
    w, x, y, z = qpos[3], qpos[4], qpos[5], qpos[6]
    a, b, c = noise[3] / 2, noise[4] / 2, noise[5] / 2
    record[QUATERNION] = w - x * a - y * b - z * c
    record[QUATERNION + 1] = x + w * a + y * c - z * b
    record[QUATERNION + 2] = y + w * b - x * c + z * a
    record[QUATERNION + 3] = z + w * c + x * b - y * a


@compiled
def _clipped_normal(share):
    """The normal quantile of a share, clipped to -1 and 1: there a polynomial is right to 4e-6."""
    x = np.sqrt(2 * np.pi) * (share - 0.5)
    quantile, square = 0.0, x * x
    for coefficient in _QUANTILE:
        quantile = quantile * square + coefficient
    return min(max(x * quantile, -1.0), 1.0)


@compiled
def measure_all(rows, qpos, qvel):
    """The first measurement of episodes, into all of their records."""
    for i in range(len(rows)):
        measure(rows[i], qpos[i], qvel[i])
        for past in range(1, 1 + PAST):
            for j in range(ACTION):
                rows[i, RECORDS + past * RECORD + j] = rows[i, RECORDS + j]


@compiled
def observe(rows, step_time, seen):
    """What the policy sees, `[n, OBSERVATION]`.

    Attitude as a matrix; in the frame of the body: errors of the payload's position and velocity, where the
    quadrotor is and moves relative to it, its velocity, and where the reference goes and how it speeds up;
    body rates, height, last action; and the past: earlier measurements less the present one, and actions.
    """
    turn, vector, path = np.empty((3, 3)), np.empty(3), np.empty((1 + AHEAD, 2, 3))
    for i in range(len(rows)):
        record = rows[i, RECORDS : RECORDS + RECORD]
        time = rows[i, CLOCK] * step_time
        course(rows[i, REFERENCE : REFERENCE + reference.SIZE], time, GAP, path)
        _matrix(record[QUATERNION : QUATERNION + 4], turn)
        at = 0
        for j in range(9):
            seen[i, at + j] = turn[j // 3, j % 3]
        at += 9
        for what in range(5):
            for j in range(3):
                if what == 0:
                    vector[j] = path[0, 0, j] - record[LOAD_POSITION + j]
                elif what == 1:
                    vector[j] = path[0, 1, j] - record[LOAD_VELOCITY + j]
                elif what == 2:
                    vector[j] = record[POSITION + j] - record[LOAD_POSITION + j]
                elif what == 3:
                    vector[j] = record[VELOCITY + j] - record[LOAD_VELOCITY + j]
                else:
                    vector[j] = record[VELOCITY + j]
            _to_body(turn, vector, seen[i, at : at + 3])
            at += 3
        for ahead in range(1, 1 + AHEAD):
            for what in range(2):
                for j in range(3):
                    vector[j] = path[ahead, what, j] - path[0, what, j]
                _to_body(turn, vector, seen[i, at : at + 3])
                at += 3
        for j in range(3):
            seen[i, at + j] = record[RATE + j]
        seen[i, at + 3] = record[POSITION + 2]
        for j in range(4):
            seen[i, at + 4 + j] = record[ACTION + j]
        at += 8
        for past in range(1, 1 + PAST):
            earlier = rows[i, RECORDS + past * RECORD :]
            for j in range(RECORD):
                seen[i, at + j] = earlier[j] - record[j] if j < ACTION else earlier[j]
            at += RECORD


@compiled
def score(rows, step_time, qpos, qvel, weights, scales, reward, crashed):
    """Rewards `[n]`, exponentials of six errors, and crashes `[n]`."""
    now = np.empty((3, 3))
    for i in range(len(rows)):
        point(rows[i, REFERENCE : REFERENCE + reference.SIZE], rows[i, CLOCK] * step_time, now)
        far = fast = turning = asked = changed = 0.0
        for j in range(3):
            far += (now[0, j] - qpos[i, 7 + j]) ** 2
            fast += (now[1, j] - qvel[i, 6 + j]) ** 2
            turning += qvel[i, 3 + j] ** 2
        for j in range(4):
            action = rows[i, RECORDS + ACTION + j]
            asked += action**2
            changed += (action - rows[i, RECORDS + RECORD + ACTION + j]) ** 2
        far = np.sqrt(far)
        roll, pitch, yaw = euler_angles(qpos[i, 3:7])
        reward[i] = (
            weights[0] * np.exp(-far / scales[0])
            + weights[1] * np.exp(-np.sqrt(fast) / scales[1])
            + weights[2] * np.exp(-abs(yaw) / scales[2])
            + weights[3] * np.exp(-np.sqrt(turning) / scales[3])
            + weights[4] * np.exp(-np.sqrt(asked) / scales[4])
            + weights[5] * np.exp(-np.sqrt(changed) / scales[5])
        )
        steep = max(abs(roll), abs(pitch), abs(yaw))
        crashed[i] = qpos[i, 2] < LOWEST or steep > STEEPEST or far > FARTHEST


@compiled
def euler_angles(quaternion):
    """Roll, pitch and yaw of one quaternion `[4]`."""
    w, x, y, z = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = np.arcsin(min(max(2 * (w * y - z * x), -1.0), 1.0))
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return roll, pitch, yaw


@compiled
def _matrix(quaternion, turn):
    """The rotation matrix `[3, 3]` of a quaternion, from the frame of the body to the world's."""
    w, x, y, z = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    turn[0, 0], turn[0, 1], turn[0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
    turn[1, 0], turn[1, 1], turn[1, 2] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    turn[2, 0], turn[2, 1], turn[2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)


@compiled
def _to_body(turn, vector, turned):
    """A vector of the world in the frame of the body."""
    for j in range(3):
        turned[j] = turn[0, j] * vector[0] + turn[1, j] * vector[1] + turn[2, j] * vector[2]
