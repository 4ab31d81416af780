"""A controller of the quadrotor with a payload that is not learned: where it fails, the model is at fault.

A cascade. Errors of the payload ask for an acceleration of everything that flies; a spring and a damper
between payload and quadrotor keep the cable from swinging; the force that both add up to is what thrust and
attitude have to give; and the attitude's error asks for body rates.
"""

from collections.abc import Callable

import numpy as np

from rapo.arrays import Floats
from rapo.errors import InputError
from rapo.tasks.quadrotor.episode_row import AHEAD, ATTITUDE, FASTEST, GAP, MASS, OBSERVATION, VECTORS
from rapo.tasks.quadrotor.payload_task import InformedQuadrotorPayload
from rapo.tasks.quadrotor.rotors import asking_for
from rapo.world.task import Task

PULL, BRAKE = np.array([4.0, 4.0, 25.0]), np.array([3.5, 3.5, 8.0])
"""Acceleration for each metre and each m/s of the payload's error. It is larger upwards, where no cable
swings and where a rotor that gives 10% less than it should has to be made up for."""
SPRING, DAMPER = 14.0, 5.0
"""Acceleration of the quadrotor for each metre and each m/s by which it is not where the cable should be."""
LEAD = 0.15
"""The share of a swing's own spring, gravity over length, that is taken off ours: the attitude answers late,
and a spring as stiff on a short cable would excite it."""
SHORT = 0.05
"""Cables below this length, in metres, are hardly seen in the noise: their spring fades to nothing."""
UPRIGHT, FACING = 8.0, 2.0
"""Body rate for each radian of tilt and of yaw."""
STEEPEST = np.tan(0.6)
"""The largest force to the side for each newton upwards."""


def classical_controller(task: Task) -> Callable[[Floats], Floats]:
    """Actions `[n, 4]` for observations `[n, observation]` of the informed task, from mechanics alone.

    It flies what can be flown: a setting in which it crashes is one whose model is worth a look.
    """
    if not isinstance(task, InformedQuadrotorPayload):
        raise InputError(
            f"the classical controller was asked for task '{task.name}': "
            "allowed is 'quadrotor-informed', which tells it payload and cable"
        )
    gravity, hook = -float(task.model.opt.gravity[2]), float(task.model.body("payload").mass[0])

    def act(seen: Floats) -> Floats:
        payload, cable = seen[:, OBSERVATION, None] + hook, seen[:, OBSERVATION + 1, None]
        turn = seen[:, ATTITUDE].reshape(-1, 3, 3)
        vectors = seen[:, VECTORS].reshape(len(seen), -1, 3) @ turn.transpose(0, 2, 1)
        error, error_rate, above, above_rate = vectors[:, :4].transpose(1, 0, 2)
        speeding = vectors[:, 5:].reshape(-1, AHEAD, 2, 3)[:, :, 1]
        acceleration = speeding[:, 1] / (2 * GAP)
        jerk = (speeding[:, 3] - 2 * speeding[:, 1]) / (2 * GAP) ** 2

        wanted = acceleration + PULL * error + BRAKE * error_rate + (0, 0, gravity)
        own = gravity * (1 + payload / MASS) / np.maximum(cable, SHORT)
        spring = (SPRING - LEAD * own) * np.minimum(cable / SHORT, 1)
        swing = spring * (cable * acceleration / gravity - above)
        swing += DAMPER * (cable * jerk / gravity - above_rate)
        force = (MASS + payload) * wanted + MASS * swing * (1, 1, 0)
        return _actions(force, turn)

    return act


def _actions(force: Floats, turn: Floats) -> Floats:
    """Actions that make thrust and attitude `[n, 3, 3]` give a force `[n, 3]`, and face along x."""
    up = np.maximum(force[:, 2], 0.3)
    aside = np.hypot(force[:, 0], force[:, 1])
    fits = np.minimum(1, STEEPEST * up / np.maximum(aside, 1e-9))
    force = np.column_stack((fits * force[:, 0], fits * force[:, 1], up))
    x, y, thrust = (force[:, None] @ turn)[:, 0].T
    size = np.linalg.norm(force, axis=1)
    yaw = np.arctan2(turn[:, 1, 0], turn[:, 0, 0])
    rates = np.column_stack((-UPRIGHT * y / size, UPRIGHT * x / size, -FACING * yaw)) / FASTEST
    return np.clip(np.column_stack((asking_for(np.maximum(thrust, 0.1) / 4), rates)), -1, 1)
