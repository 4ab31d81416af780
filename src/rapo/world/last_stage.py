"""Contact forces as Gymnasium reads them after a step of MuJoCo's fourth-order Runge-Kutta.

Gymnasium calls `mj_rnePostConstraint` when `mj_step` returns, and so gets the forces of the integrator's
last stage. mjbatch has no such call, and MuJoCo itself reads sensors (which trigger it) in the first stage
only. But the last stage left its kinematics behind: from them its positions and velocities are recovered,
and one forward pass there, which need not solve for the accelerations again, gives the forces.

Under solver PGS, in which accelerations do not determine the forces, the pass solves again, from the warm
start that the stage itself had: that of the last substep.

For models whose joints are free bodies and hinges or slides with a motor each, without activations; others
are refused.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from numpy.typing import NDArray

from rapo.arrays import Floats
from rapo.errors import InputError
from rapo.heavy import mjbatch, mujoco

_CROSS = np.array([[0, 2, 1], [2, 0, 0], [1, 0, 0]])
_CROSS_SIGN = np.array([[0.0, 1, -1], [-1, 0, 1], [1, -1, 0]])
"""`a[_CROSS] * _CROSS_SIGN` is the matrix that takes w to the cross product of w and a."""


def without_sensors(model: mujoco.MjModel) -> mujoco.MjModel:
    """A copy of `model` whose sensors are switched off, for stepping; `LastStage` reads the sensors."""
    model = copy(model)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_SENSOR
    return model


def is_needed(model: mujoco.MjModel, fields: tuple[str, ...]) -> bool:
    """Whether some of the `fields` that a task reads can only be read from the last Runge-Kutta stage."""
    if model.opt.integrator != mujoco.mjtIntegrator.mjINT_RK4:
        return False
    for field in ("cacc", "cfrc_int"):
        if field in fields:
            raise InputError(f"{field} can't be read with integrator RK4: choose integrator implicitfast")
    if "cfrc_ext" in fields and "sensordata" in fields:
        raise InputError(
            "cfrc_ext and sensordata can't be read together with integrator RK4: "
            "choose integrator implicitfast"
        )
    return "cfrc_ext" in fields


class LastStage:
    """A second batch of simulations, put into the last Runge-Kutta stage of a first one to read forces."""

    def __init__(self, model: mujoco.MjModel, stepped: mjbatch.Batch) -> None:
        joints = _driven_joints(model)
        model = copy(model)
        self.solves: bool = model.opt.solver == mujoco.mjtSolver.mjSOL_PGS
        """Whether the pass solves again: `begin_last_substep` has to be called before the last substep."""
        if not self.solves:
            # The accelerations of the last stage are the warm start of the next: no iterations are needed,
            # nor what Newton's method prepares for them.
            model.opt.iterations = 0
            model.opt.solver = mujoco.mjtSolver.mjSOL_CG
        self.batch = mjbatch.Batch(model, stepped.num_sims, stepped.num_threads)
        self._state, qpos, qvel = (self.batch.bind(field) for field in ("state", "qpos", "qvel"))
        self._stepped_state = stepped.bind("state")
        self._warmstart, self._stepped_warmstart = (b.bind("qacc_warmstart") for b in (self.batch, stepped))
        self._began_from = self._stepped_warmstart.copy()
        self._inputs = slice(1 + model.nq + model.nv, None)
        self._free = [
            _FreeBody(stepped, model.jnt_bodyid[j], qpos[:, q : q + 7], qvel[:, v : v + 6])
            for j, q, v in zip(range(model.njnt), model.jnt_qposadr, model.jnt_dofadr, strict=True)
            if model.jnt_type[j] == mujoco.mjtJoint.mjJNT_FREE
        ]
        self._driven_q, self._driven_v = model.jnt_qposadr[joints], model.jnt_dofadr[joints]
        self._qpos, self._qvel = qpos, qvel
        self._length, self._velocity = stepped.bind("actuator_length"), stepped.bind("actuator_velocity")
        self._gear = stepped.expand("actuator_gear")[:, :, 0]

    def begin_last_substep(self) -> None:
        """Keep the warm start of the substep that comes now, which all its stages begin from."""
        np.copyto(self._began_from, self._stepped_warmstart)

    def read(self, ids: NDArray[np.intp] | None, *, stepped: bool = True) -> None:
        """Compute this batch's fields at the other batch's last stage or, if not `stepped`, at its state."""
        if not stepped:
            self._state[...] = self._stepped_state
        else:
            self._state[:, self._inputs] = self._stepped_state[:, self._inputs]
            if self.solves:
                self._warmstart[...] = self._began_from
            for body in self._free:
                body.recover()
            self._qpos[:, self._driven_q] = self._length / self._gear
            self._qvel[:, self._driven_v] = self._velocity / self._gear
        self.batch.forward(ids)


class _FreeBody:
    """Live arrays of a free body: its place in the last stage, and the state that this is written to."""

    def __init__(self, stepped: mjbatch.Batch, body: int, qpos: Floats, qvel: Floats) -> None:
        cvel = stepped.bind("cvel")[:, body]
        self._xpos, self._xquat = stepped.bind("xpos")[:, body], stepped.bind("xquat")[:, body]
        self._inverse = stepped.bind("xmat")[:, body].reshape(-1, 3, 3).transpose(0, 2, 1)
        self._com = stepped.bind("subtree_com")[:, body]
        self._spins, self._drift = cvel[:, None, :3], cvel[:, 3:]
        self._position, self._orientation = qpos[:, :3], qpos[:, 3:]
        self._velocity, self._rate = qvel[:, :3], qvel[:, 3:]

    def recover(self) -> None:
        """Write the body's position and velocity; MuJoCo has its velocity at the centre of mass."""
        self._position[...] = self._xpos
        self._orientation[...] = self._xquat
        lever = (self._xpos - self._com)[:, _CROSS] * _CROSS_SIGN
        np.add(self._drift, np.vecdot(lever, self._spins), out=self._velocity)
        np.vecdot(self._inverse, self._spins, out=self._rate)


def _driven_joints(model: mujoco.MjModel) -> NDArray[np.intp]:
    """The joint of every actuator; together they must be all hinges and slides."""
    joints = model.actuator_trnid[:, 0]
    others = np.flatnonzero(model.jnt_type != mujoco.mjtJoint.mjJNT_FREE)
    refused = {
        "has ball joints": (model.jnt_type == mujoco.mjtJoint.mjJNT_BALL).any(),
        "has hinges or slides without a motor, or motors on something else": (
            (model.actuator_trntype != mujoco.mjtTrn.mjTRN_JOINT).any() or set(joints) != set(others)
        ),
        "has motors with gear 0": (model.actuator_gear[:, 0] == 0).any(),
        "has activation states": model.na > 0,
        "has noslip iterations": model.opt.noslip_iterations > 0,
        "has its warm start switched off": model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_WARMSTART,
    }
    for why, is_so in refused.items():
        if is_so:
            raise InputError(
                f"contact forces can't be read with integrator RK4 from a model that {why}: "
                "choose integrator implicitfast"
            )
    return joints
