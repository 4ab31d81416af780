"""n MuJoCo simulations of a task's model on mjbatch's threads, each under its own dynamics.

`Physics` writes dynamics, steps, and says which simulations failed; observations and rewards are the task's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rapo.arrays import Bools, Floats, Ids
from rapo.heavy import mjbatch, mujoco
from rapo.world import last_stage
from rapo.world.derived_constants import DerivedConstants
from rapo.world.last_stage import LastStage, without_sensors
from rapo.world.task import BeforeSubstep, Data, States, Task

_STATE_FIELDS = ("qpos", "qvel", "act", "ctrl", "time", "mocap_pos", "mocap_quat", "xfrc_applied")
_TIME = 0
_UNDERIVED = (
    "geom_friction",
    "geom_solref",
    "geom_solimp",
    "dof_damping",
    "dof_frictionloss",
    "jnt_stiffness",
    "actuator_gear",
    "actuator_gainprm",
    "actuator_biasprm",
    "actuator_ctrlrange",
    "actuator_forcerange",
    "gravity",
    "wind",
)
"""Model fields from which `set_const` derives nothing that a step reads; muscles read what gears derive."""


class Physics:
    """A batch of simulations with live arrays over their state.

    state: `[n, nstate]`, MuJoCo's integration states; userdata: `[n, userdata]`, what episodes carry along
    beside them; data: the mjData `fields` asked for; xfrc_applied `[n, nbody, 6]`: the forces.
    """

    def __init__(self, task: Task, n: int, threads: int = 0) -> None:
        dynamics, fields = task.dynamics, task.fields
        model = dynamics.model
        self.dynamics = dynamics
        self.n = n
        self._timestep = model.opt.timestep
        self._last_stage = None
        if last_stage.is_needed(model, fields):
            self.batch = mjbatch.Batch(without_sensors(model), n, threads)
            self._last_stage = LastStage(model, self.batch)
        else:
            self.batch = mjbatch.Batch(model, n, threads)
        self.state: Floats = self.batch.bind("state")
        self.userdata: Floats = np.zeros((n, task.userdata_size))
        self._kept = np.empty_like(self.state), np.empty_like(self.userdata)
        self.xfrc_applied: Floats = self.batch.bind("xfrc_applied")
        self._rows = np.full((n, len(dynamics)), np.nan)
        self._fields = [
            _Field(field, dynamics.touching(field), field not in _UNDERIVED or _has_muscles(model))
            for field in dynamics.defaults
        ]
        deriving = [field.columns for field in self._fields if field.derives]
        self._deriving = np.unique(np.concatenate(deriving)) if deriving else np.empty(0, np.intp)
        self._derived_constants = [DerivedConstants(batch, model) for batch in self._batches()]
        self._derived = any(field not in _STATE_FIELDS for field in fields)
        read = dict.fromkeys(("qpos", "qvel", "ctrl", *fields))
        bound = {field: self._source(field).bind(field) for field in read}
        written = {field: self.batch.expand(field) for field in task.model_fields}
        self.data = Data({**bound, **written, "userdata": self.userdata, "dynamics": self._rows})
        self.batch.reset()
        self._initial = self.state[0].copy()
        # MuJoCo prints a warning only when its counter is 0, and clears the counters when it resets a
        # simulation gone wrong: counters kept at 1 make it silent, and any other value means trouble.
        self._warnings = self.batch.bind("warning")
        self._warnings[...] = (0, 1)
        self._quiet = self._warnings.tobytes()
        self.set_dynamics(dynamics.nominal(n))

    @property
    def size(self) -> int:
        """How many numbers a row of `save` has: state and userdata."""
        return self.state.shape[1] + self.userdata.shape[1]

    def save(self, ids: Ids | None = None) -> Floats:
        """A copy of states and userdata `[n, size]`, or of those of `ids`: all but the dynamics."""
        rows = slice(None) if ids is None else ids
        return np.concatenate((self.state[rows], self.userdata[rows]), axis=1)

    def keep(self) -> None:
        """Copy states and userdata aside, for `kept`: faster than `save`."""
        np.copyto(self._kept[0], self.state)
        if self.userdata.size:
            np.copyto(self._kept[1], self.userdata)

    def kept(self) -> Floats:
        """What `save` would have returned at the last `keep`."""
        return np.concatenate(self._kept, axis=1)

    def load(self, saved: Floats, copies: int = 1) -> None:
        """Put rows of `save` `[m, size]` into the first m * copies simulations, each into `copies` ones."""
        used, split = slice(0, len(saved) * copies), self.state.shape[1]
        for array, values in ((self.state, saved[:, :split]), (self.userdata, saved[:, split:])):
            array[used].reshape(len(saved), copies, -1)[...] = values[:, None]

    def set_dynamics(self, rows: Floats, ids: Ids | None = None, remember: bool = False) -> None:
        """Put rows `[n, P]` of parameter values into all simulations, or into those of `ids`.

        Only fields that change are written, and constants are derived anew only if some are derived from a
        field that changes. remember: whether to keep what is derived, for dynamics that may come back.
        """
        changes = (rows != (self._rows if ids is None else self._rows[ids])).any(axis=0)
        self._rows[slice(None) if ids is None else ids] = rows
        changed = [field for field in self._fields if changes[field.columns].any()]
        derive = any(field.derives for field in changed)
        for batch, constants in zip(self._batches(), self._derived_constants, strict=True):
            for field in changed:
                values = batch.expand(field.name)
                if ids is None:
                    self.dynamics.fill(field.name, rows, values)
                else:
                    written = np.empty((len(rows), *values.shape[1:]))
                    self.dynamics.fill(field.name, rows, written)
                    values[ids] = written
            if derive:
                constants.put(rows[:, self._deriving], ids, remember)

    def place(self, ids: Ids, states: States) -> None:
        """Start simulations `ids` anew from these states; everything else is as in the model."""
        self.state[ids] = self._initial
        self.data.qpos[ids] = states.qpos
        self.data.qvel[ids] = states.qvel
        self.userdata[ids] = 0 if states.userdata is None else states.userdata
        if self._last_stage is not None:
            self._last_stage.read(ids, stepped=False)
        elif self._derived:
            self.batch.forward(ids)

    def adopt(self, other: Physics, rows: Ids) -> None:
        """Go on from simulations `rows` `[n]` of another batch of the same task, under one's own dynamics."""
        self.state[...] = other.state[rows]
        for name, array in vars(self.data).items():
            if name != "dynamics":
                array[...] = getattr(other.data, name)[rows]

    def step(
        self, substeps: int, ids: Ids | None = None, before: BeforeSubstep | None = None
    ) -> Bools | None:
        """Advance all simulations, or those of `ids`; return which `[n]` failed, or None if none did.

        before: a function that is called before every substep.
        """
        failed, began = None, self.state[:, _TIME].copy()
        solving = self._last_stage if self._last_stage is not None and self._last_stage.solves else None
        at_once, taken = 1 if before is not None else substeps, 0
        if solving is not None:
            at_once = min(at_once, max(1, substeps - 1))
        while taken < substeps:
            if before is not None:
                before(taken)
            if solving is not None and taken == substeps - 1:
                solving.begin_last_substep()
            count = min(at_once, substeps - taken)
            try:
                self.batch.step(ids, nstep=count)
            except RuntimeError:
                # mjbatch names only the first that failed; the clock of every one that did is behind.
                ids = np.arange(self.n) if ids is None else ids
                failed = np.zeros(self.n, bool) if failed is None else failed
                failed[ids] = self.state[ids, _TIME] - began[ids] < (taken + 0.5) * self._timestep
                ids = ids[~failed[ids]]
            taken += count
        if self._last_stage is not None:
            self._last_stage.read(ids)
        if self._warnings.tobytes() != self._quiet:
            warned = (self._warnings != (0, 1)).any(axis=(1, 2))
            self._warnings[...] = (0, 1)
            failed = warned if failed is None else failed | warned
        return failed

    def _batches(self) -> list[mjbatch.Batch]:
        """The batch that is stepped, and the one that the last stage is read from, if there is one."""
        return [self.batch] + ([self._last_stage.batch] if self._last_stage else [])

    def _source(self, field: str) -> mjbatch.Batch:
        """The batch that a field is read from."""
        if self._last_stage is None or field in _STATE_FIELDS:
            return self.batch
        return self._last_stage.batch


class _Field(NamedTuple):
    """A model field that dynamics change."""

    name: str
    columns: NDArray[np.intp]
    """The columns of the parameters that change it."""
    derives: bool
    """Whether constants that a step reads are derived from it."""


def _has_muscles(model: mujoco.MjModel) -> bool:
    muscle = (mujoco.mjtGain.mjGAIN_MUSCLE, mujoco.mjtBias.mjBIAS_MUSCLE)
    return bool((model.actuator_gaintype == muscle[0]).any() or (model.actuator_biastype == muscle[1]).any())
