"""What a step of the quadrotor is worth, and when it has crashed."""

import numpy as np

from rapo.arrays import Bools, Floats
from rapo.tasks.quadrotor.episode_row import (
    ACTION,
    CLOCK,
    FARTHEST,
    LOWEST,
    RECORD,
    RECORDS,
    REFERENCE,
    STEEPEST,
)
from rapo.tasks.quadrotor.following import point
from rapo.tasks.quadrotor.reference import SIZE as REFERENCE_SIZE
from rapo.world.hashing import compiled


@compiled
def score(
    rows: Floats,
    step_time: float,
    qpos: Floats,
    qvel: Floats,
    weights: Floats,
    scales: Floats,
    reward: Floats,
    crashed: Bools,
) -> None:
    """Rewards `[n]`, exponentials of six errors, and crashes `[n]`."""
    now = np.empty((3, 3))
    for i in range(len(rows)):
        point(rows[i, REFERENCE : REFERENCE + REFERENCE_SIZE], rows[i, CLOCK] * step_time, now)
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
def euler_angles(quaternion: Floats) -> tuple[float, float, float]:
    """Roll, pitch and yaw of one quaternion `[4]`."""
    w, x, y, z = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    roll = np.arctan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = np.arcsin(min(max(2 * (w * y - z * x), -1.0), 1.0))
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return roll, pitch, yaw
