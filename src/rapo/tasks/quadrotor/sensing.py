"""What the quadrotor measures, remembers and sees: noisy measurements, earlier ones, the reference ahead."""

import numpy as np

from rapo.arrays import Floats
from rapo.tasks.quadrotor.episode_row import (
    ACTION,
    AHEAD,
    CLOCK,
    DRAWS,
    GAP,
    KEY,
    LOAD_POSITION,
    LOAD_VELOCITY,
    NOISE,
    PAST,
    POSITION,
    QUATERNION,
    RATE,
    RECORD,
    RECORDS,
    REFERENCE,
    SIZE,
    VELOCITY,
)
from rapo.tasks.quadrotor.following import course
from rapo.tasks.quadrotor.reference import SIZE as REFERENCE_SIZE
from rapo.world.hashing import compiled, hashed

_QUANTILE = (0.02385331, -0.00593666, 0.0325571, 0.05704547, 0.1667464, 0.99999922)


@compiled
def move_on(rows: Floats, qpos: Floats, qvel: Floats, actions: Floats) -> None:
    """Advance the clocks, and put a new record before the earlier ones; actions end at -1 and 1."""
    for i in range(len(rows)):
        rows[i, CLOCK] += 1
        for j in range(SIZE - 1, RECORDS + RECORD - 1, -1):
            rows[i, j] = rows[i, j - RECORD]
        measure(rows[i], qpos[i], qvel[i])
        for j in range(4):
            rows[i, RECORDS + ACTION + j] = min(max(actions[i, j], -1.0), 1.0)


@compiled
def measure(row: Floats, qpos: Floats, qvel: Floats) -> None:
    """What the sensors say, into the first record of a row."""
    key, clock = np.uint64(row[KEY]), np.uint64(row[CLOCK])
    noise = np.empty(18)
    for j in range(18):
        noise[j] = NOISE[j // 3] * _clipped_normal(hashed(key, clock * DRAWS + np.uint64(j)))
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
def _clipped_normal(share: float) -> float:
    """The normal quantile of a share, clipped to -1 and 1: there a polynomial is right to 4e-6."""
    x = np.sqrt(2 * np.pi) * (share - 0.5)
    quantile, square = 0.0, x * x
    for coefficient in _QUANTILE:
        quantile = quantile * square + coefficient
    return min(max(x * quantile, -1.0), 1.0)


@compiled
def measure_all(rows: Floats, qpos: Floats, qvel: Floats) -> None:
    """The first measurement of episodes, into all of their records."""
    for i in range(len(rows)):
        measure(rows[i], qpos[i], qvel[i])
        for past in range(1, 1 + PAST):
            for j in range(ACTION):
                rows[i, RECORDS + past * RECORD + j] = rows[i, RECORDS + j]


@compiled
def observe(rows: Floats, step_time: float, seen: Floats) -> None:
    """What the policy sees, `[n, OBSERVATION]`.

    Attitude as a matrix; in the frame of the body: errors of the payload's position and velocity, where the
    quadrotor is and moves relative to it, its velocity, and where the reference goes and how it speeds up;
    body rates, height, last action; and the past: earlier measurements less the present one, and actions.
    """
    turn, vector, path = np.empty((3, 3)), np.empty(3), np.empty((1 + AHEAD, 2, 3))
    for i in range(len(rows)):
        record = rows[i, RECORDS : RECORDS + RECORD]
        time = rows[i, CLOCK] * step_time
        course(rows[i, REFERENCE : REFERENCE + REFERENCE_SIZE], time, GAP, path)
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
def _matrix(quaternion: Floats, turn: Floats) -> None:
    """The rotation matrix `[3, 3]` of a quaternion, from the frame of the body to the world's."""
    w, x, y, z = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    turn[0, 0], turn[0, 1], turn[0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
    turn[1, 0], turn[1, 1], turn[1, 2] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    turn[2, 0], turn[2, 1], turn[2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)


@compiled
def _to_body(turn: Floats, vector: Floats, turned: Floats) -> None:
    """A vector of the world in the frame of the body."""
    for j in range(3):
        turned[j] = turn[0, j] * vector[0] + turn[1, j] * vector[1] + turn[2, j] * vector[2]
