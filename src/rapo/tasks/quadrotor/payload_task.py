"""A quadrotor that carries a payload on a cable along a reference.

The policy asks for collective thrust and body rates 100 times a second. What it asks for arrives 10 to 20 ms
later; a rate controller turns it into rotor thrusts 500 times a second, and the rotors follow with a lag. The
policy sees noisy measurements and their history; forces and torques disturb the quadrotor, and near the
ground its own downwash does. Payload mass and cable length are hidden from it unless the task is the informed
one.

What an episode carries along lives in `userdata`, a row as `episode_row` says: branches of one state
therefore share noise, delay and disturbance, and so do episodes that begin alike under other dynamics. They
share the cable too: how long it is shows in where its ends are, and no cable changes within a step.
"""

from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from rapo.arrays import Bools, Floats
from rapo.tasks.quadrotor import reference
from rapo.tasks.quadrotor.episode_row import (
    ACTION,
    CABLE,
    KEY,
    OBSERVATION,
    PLAN,
    RECORD,
    RECORDS,
    REFERENCE,
    SIZE,
    SUBSTEPS,
    THRUST,
    sensed,
)
from rapo.tasks.quadrotor.flights import TRACKING
from rapo.world.parameter import Parameter
from rapo.world.task import BeforeSubstep, Data, States, Task

SWING, OFFSET, TILT = np.pi / 12, 0.1, np.pi / 12
"""Largest initial angle of the cable (rad), error of position (m) and velocity (m/s), Euler angle (rad) and
rate (rad/s)."""
TEST = reference.lissajous(
    np.array([[0.0, 0.0, 1.0]]),
    amplitude=np.array([1.0, 0.8, 0.25]),
    frequency=np.array([0.15, 0.2, 0.1]),
    phase=np.zeros(3),
    start=2.0,
    rise=2.0,
    length=10.0,
)
TEST_STEPS = 1500
"""The reference of the test, and its length: 2 seconds of hover, 10 of a Lissajous curve, 3 of hover."""


class QuadrotorPayload(Task):
    """Carry a payload of unknown mass on a cable of unknown length along a moving reference."""

    name = "quadrotor-payload"
    model_file = Path(__file__).with_name("payload.xml")
    frame_skip = SUBSTEPS
    fields = ("xfrc_applied",)
    model_fields = ("tendon_range",)
    userdata_size = SIZE
    pushed_bodies = ("quadrotor",)
    parameters = (
        Parameter("payload", "body_mass", (0.0, 0.25), (0.0, 0.5), 0.025, "add", "payload"),
        Parameter("cable", "tendon_range", (0.0, 0.5), (0.0, 1.0), 0.25, "set", "cable", (1,), False),
        Parameter("mass", "body_mass", (0.9, 1.1), (0.5, 1.5), of="quadrotor"),
        Parameter("inertia", "body_inertia", (0.9, 1.1), (0.5, 1.5), of="quadrotor"),
        Parameter("gain", (), (0.9, 1.1), (0.5, 1.5), 1.0, "read"),
        Parameter("lag", (), (0.05, 0.2), (0.0, 0.4), 0.125, "read"),
        Parameter("disturbance", (), (1.0, 1.0), (0.0, 2.0), 1.0, "read"),
    )
    measurements: ClassVar = (TRACKING,)
    options: ClassVar = {
        "num_envs": 64,
        "horizon": 32,
        "epochs": 4,
        "minibatches": 8,
        "first_std": 0.3,
        "entropy_bonus": 0.015,
    }
    settings: ClassVar = {"id": {}, "ood": {"payload": 0.5, "cable": 1.0, "disturbance": 2.0}}
    weights: ClassVar = {
        "position": 1.0,
        "velocity": 0.4,
        "yaw": 0.1,
        "rates": 0.1,
        "action": 0.1,
        "change": 0.1,
    }
    """What a step on the reference earns, in shares of 1."""
    scales: ClassVar = {
        "position": 0.3,
        "velocity": 0.5,
        "yaw": 0.5,
        "rates": 1.0,
        "action": 1.0,
        "change": 0.3,
    }
    """Errors that leave 1/e of it, in m, m/s, rad, rad/s and units of the action."""
    informed: ClassVar[bool] = False
    """Whether the policy is told payload mass and cable length."""

    def __init__(self, path: Floats | None = None) -> None:
        """path: a reference `[1, reference.SIZE]` for all episodes; drawn for each where it is not given."""
        self.path = path
        if path is not None:
            self.time_limit = TEST_STEPS
        super().__init__()

    def tested(self) -> "QuadrotorPayload":
        """The same task along the reference of the test."""
        return type(self)(TEST)

    @property
    def action_range(self) -> tuple[Floats, Floats]:
        """Every action is a share of its range."""
        return -np.ones(4), np.ones(4)

    def reset(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Near the reference, for the nominal cable."""
        states = self.begin(self.dynamics.nominal(n), rng)
        return states.qpos, states.qvel

    def begin(self, dynamics: Floats, rng: np.random.Generator) -> States:
        """Near the reference and moving with it, the cable almost straight, the rotors ready to hover."""
        from rapo.tasks.quadrotor import rotors, sensing  # imported here: Numba is slow to load
        from rapo.tasks.quadrotor.following import at

        n = len(dynamics)
        paths, keys = self.references(n, rng), rng.integers(1, 2**53, n)
        offset, (polar, around, slack) = rng.uniform(-1, 1, (4, n, 3)), rng.uniform(0, 1, (3, n))
        start = at(paths, np.zeros((n, 1)))
        payload = start.position[:, 0] + OFFSET * offset[0]
        angle, around = SWING * polar, 2 * np.pi * around
        upward = (np.sin(angle) * np.cos(around), np.sin(angle) * np.sin(around), np.cos(angle))
        cable = dynamics[:, self.dynamics.column("cable")]
        length = np.maximum(cable - 0.01 * slack, 0)
        velocity = start.velocity[:, 0] + OFFSET * offset[1]
        tilted = _quaternions(TILT * offset[2])
        qpos = np.concatenate((payload + (length * upward).T, tilted, payload), axis=1)
        qvel = np.concatenate((velocity, TILT * offset[3], velocity), axis=1)
        rows = np.zeros((n, SIZE))
        rows[:, KEY], rows[:, CABLE] = keys, cable
        rows[:, REFERENCE : REFERENCE + reference.SIZE] = paths
        rows[:, THRUST : THRUST + 4] = self.hover_thrust
        rows[:, RECORDS + ACTION :: RECORD] = rotors.asking_for(self.hover_thrust)
        sensing.measure_all(rows, qpos, qvel)
        return States(qpos, qvel, rows)

    def references(self, n: int, rng: np.random.Generator) -> Floats:
        """Draw n references, hovers, set-points, Lissajous curves and eights, unless one is given."""
        if self.path is not None:
            return np.repeat(self.path, n, axis=0)
        unit = rng.uniform(-1, 1, (20, n))
        share = (unit + 1) / 2
        kind = share[0][:, None]
        centre = np.column_stack((unit[1], unit[2], 0.6 + 1.2 * share[3]))
        reach = (np.array([1.5, 1.5, 0.4])[:, None] * unit[4:7]).T
        speed = (np.array([1.5, 1.5, 0.6])[:, None] * share[7:10]).T
        frequency = np.minimum(speed / (2 * np.pi * np.maximum(np.abs(reach), 0.1)), 0.35)
        window = (-3 + 5 * share[10], 2 + share[11], 6 + 6 * share[12])
        choices = (
            (kind < 0.15, reference.hover(centre)),
            (kind < 0.35, reference.set_point(centre, reach, 4 * share[13], 1.5 + 2 * share[14])),
            (kind < 0.85, reference.lissajous(centre, reach, frequency, np.pi * unit[15:18].T, *window)),
        )
        slower = frequency[:, :2].min(axis=1)
        eights = reference.figure_eight(centre, reach[:, :2] * (1, 0.5), slower, *window)
        return np.select([chosen for chosen, _ in choices], [rows for _, rows in choices], eights)

    def drive(self, data: Data, actions: Floats) -> BeforeSubstep | None:
        """Disturb the quadrotor; rate controller and rotors run in the substeps, on late actions."""
        from rapo.tasks.quadrotor import disturbances, rotors

        rows, plans = data.userdata, np.empty((len(data), PLAN))
        gain, lag, scale = (data.dynamics[:, column] for column in self._columns)
        data.tendon_range[:, 0, 1] = rows[:, CABLE]
        disturbances.disturb(rows, data.qpos[:, 2], scale, data.xfrc_applied[:, self._body])
        rotors.plan(rows, lag, gain, plans)
        return lambda substep: rotors.actuate(substep, plans, data.qvel, rows, data.ctrl)

    def settle(self, data: Data, actions: Floats) -> None:
        """Measure, and remember it with the actions."""
        from rapo.tasks.quadrotor import sensing

        sensing.move_on(data.userdata, data.qpos, data.qvel, actions)

    def observe(self, data: Data) -> Floats:
        """What `sensing.observe` says, and payload and cable where the policy is informed."""
        from rapo.tasks.quadrotor import sensing

        seen = np.empty((len(data), OBSERVATION + 2 * self.informed))
        sensing.observe(data.userdata, self.dt, seen)
        if self.informed:
            seen[:, -2] = data.dynamics[:, self.dynamics.column("payload")]
            seen[:, -1] = data.userdata[:, CABLE]
        return seen

    def observed(self) -> list[tuple[str, int, str]]:
        """What `sensing.observe` puts together; a robot keeps the last measurements and actions for it."""
        told = [("payload", 1, "kg"), ("cable", 1, "m")] if self.informed else []
        return [*sensed(), *told]

    def score(self, before: Floats, after: Floats, data: Data, actions: Floats) -> tuple[Floats, Bools]:
        """Exponentials of errors, the payload's position first; an episode ends with a crash."""
        from rapo.tasks.quadrotor import scoring

        reward, crashed = np.empty(len(data)), np.empty(len(data), bool)
        scoring.score(data.userdata, self.dt, data.qpos, data.qvel, *self._worth, reward, crashed)
        return reward, crashed

    @cached_property
    def hover_thrust(self) -> float:
        """What each rotor gives in a nominal hover, in newtons."""
        carried = self.model.body_mass.sum() + float(self.dynamics["payload"].nominal or 0)
        return float(carried * -self.model.opt.gravity[2] / 4)

    @cached_property
    def _body(self) -> int:
        return self.model.body("quadrotor").id

    @cached_property
    def _columns(self) -> tuple[int, ...]:
        """Columns of the parameters that `drive` reads."""
        return tuple(self.dynamics.column(name) for name in ("gain", "lag", "disturbance"))

    @cached_property
    def _worth(self) -> tuple[Floats, Floats]:
        """Weights that sum to 1, and scales."""
        weights = np.array(list(self.weights.values()))
        return weights / weights.sum(), np.array([self.scales[name] for name in self.weights])


class InformedQuadrotorPayload(QuadrotorPayload):
    """The same task with payload mass and cable length in the observation."""

    name = "quadrotor-informed"
    informed = True


def _quaternions(euler: Floats) -> Floats:
    """Quaternions `[n, 4]` of roll, pitch and yaw `[n, 3]`."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(euler.T / 2), np.sin(euler.T / 2)
    parts = (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )
    return np.column_stack(parts)
