"""Contact forces as Gymnasium reads them after a step of MuJoCo's fourth-order Runge-Kutta.

Gymnasium calls `mj_rnePostConstraint` when `mj_step` returns, and so gets the forces of the integrator's
last stage. mjbatch has no such call, and MuJoCo itself reads sensors (which trigger it) in the first stage
only. But the last stage left its kinematics behind: from them its positions and velocities are recovered,
and one forward pass there, which need not solve for the accelerations again, gives the forces.

For models whose joints are free bodies and hinges or slides with a motor each, without activations, under
a solver in which accelerations determine the forces (Newton or CG).
"""

from copy import copy

import mujoco
import numpy as np
from mjbatch import Batch
from numpy.typing import NDArray

from rapo.errors import InputError

Floats = NDArray[np.float64]

_NEXT, _NEXT_BUT_ONE = np.array([1, 2, 0]), np.array([2, 0, 1])


def without_sensors(model: mujoco.MjModel) -> mujoco.MjModel:
    """A copy of `model` for stepping: its sensors are read by `LastStage`."""
    model = copy(model)
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_SENSOR
    return model


class LastStage:
    """A second batch of simulations that looks at the last Runge-Kutta stage of a first one."""

    def __init__(self, model: mujoco.MjModel, stepped: Batch) -> None:
        # The accelerations of the last stage are the warm start of the next: no iterations are needed,
        # nor what Newton's method prepares for them.
        model = copy(model)
        model.opt.iterations = 0
        model.opt.solver = mujoco.mjtSolver.mjSOL_CG
        self.batch = Batch(model, stepped.num_sims, stepped.num_threads)
        self._state, self._qpos, self._qvel = (self.batch.bind(f) for f in ("state", "qpos", "qvel"))
        self._stepped_state = stepped.bind("state")
        self._xpos, self._xquat, self._xmat, self._cvel, self._com, self._length, self._velocity = (
            stepped.bind(field)
            for field in (
                "xpos",
                "xquat",
                "xmat",
                "cvel",
                "subtree_com",
                "actuator_length",
                "actuator_velocity",
            )
        )
        self._gear = stepped.expand("actuator_gear")[:, :, 0]
        self._free = [
            (model.jnt_bodyid[j], model.jnt_qposadr[j], model.jnt_dofadr[j])
            for j in np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
        ]
        joints = _driven_joints(model)
        self._driven_q, self._driven_v = model.jnt_qposadr[joints], model.jnt_dofadr[joints]

    def read(self, ids: NDArray[np.intp] | None, *, stepped: bool = True) -> None:
        """Make the fields of this batch those of the other's last stage, or of its state as placed."""
        self._state[...] = self._stepped_state
        if stepped:
            self._recover()
        self.batch.forward(ids)

    def _recover(self) -> None:
        """Set positions and velocities to those of the last stage."""
        for body, q, v in self._free:
            place, spin = self._xpos[:, body], self._cvel[:, body, :3]
            self._qpos[:, q : q + 3] = place
            self._qpos[:, q + 3 : q + 7] = self._xquat[:, body]
            self._qvel[:, v : v + 3] = self._cvel[:, body, 3:] + _cross(spin, place - self._com[:, body])
            rotation = self._xmat[:, body].reshape(-1, 3, 3)
            self._qvel[:, v + 3 : v + 6] = np.vecdot(rotation.transpose(0, 2, 1), spin[:, None])
        self._qpos[:, self._driven_q] = self._length / self._gear
        self._qvel[:, self._driven_v] = self._velocity / self._gear


def _cross(a: Floats, b: Floats) -> Floats:
    return a[:, _NEXT] * b[:, _NEXT_BUT_ONE] - a[:, _NEXT_BUT_ONE] * b[:, _NEXT]


def _driven_joints(model: mujoco.MjModel) -> NDArray[np.intp]:
    """The joint of every actuator; together they must be all hinges and slides."""
    joints = model.actuator_trnid[:, 0]
    on_joints = (model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT).all()
    others = np.flatnonzero(model.jnt_type != mujoco.mjtJoint.mjJNT_FREE)
    ball = (model.jnt_type == mujoco.mjtJoint.mjJNT_BALL).any()
    dual = model.opt.solver == mujoco.mjtSolver.mjSOL_PGS
    if model.na or ball or dual or not on_joints or set(joints) != set(others):
        raise InputError(
            "contact forces can be read with integrator RK4 only from a model whose joints are free bodies "
            "and hinges or slides with a motor each, and whose solver is not PGS: choose integrator "
            "implicitfast for others"
        )
    return joints
