"""A policy that plays on and on while someone moves its uncertain parameters.

What is shown is a second model, whose controls are the robot's own and, after them, one for each uncertain
parameter. It is never simulated: poses are put into it, and a viewer gives every control a slider.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rapo.arrays import Floats
from rapo.deploy.clips import said_dynamics
from rapo.errors import InputError
from rapo.heavy import mujoco
from rapo.runs.run import Run
from rapo.world.dynamics import Dynamics
from rapo.world.engines import make_simulator
from rapo.world.parameter import Parameter
from rapo.world.simulator import Step
from rapo.world.task import Task


@dataclass(frozen=True)
class Played:
    """An episode, or what there is of it."""

    returned: float = 0.0
    """The sum of its rewards."""
    steps: int = 0
    """How many steps it had."""
    under: str = ""
    """What the sliders stood at when it ended, in words."""


class PlayedPolicy:
    """Plays one episode of a policy after the other, shown in `model` and `data`.

    seed: where the initial states come from.
    """

    def __init__(self, run: Run, seed: int = 1000) -> None:
        trained = run.trained_policy()
        self.task = trained.task.tested()
        self.dynamics = self.task.dynamics
        self.model = with_sliders(self.task)
        self.data = mujoco.MjData(self.model)
        self.episode = Played()
        self.finished: list[Played] = []
        self._act = trained.act
        self._own = self.task.model.nu
        self._sliders = [self.dynamics.column(p.name) for p in _with_sliders(self.dynamics)]
        self._fixed = np.array([not p.within_episode for p in self.dynamics], bool)
        self._simulator = make_simulator(self.task, 1, engine=trained.engine, seed=seed)
        self._drawn = np.empty(0)
        self.move(self.dynamics.nominal()[0])
        self._show()

    @property
    def wanted(self) -> Floats:
        """`[P]`, what the sliders stand at; one outside of the test range is put back to nominal."""
        row, sliders = self.dynamics.nominal()[0], self.data.ctrl[self._own :]
        low, high = self.dynamics.box("test")
        for slider, column in enumerate(self._sliders):
            if low[column] <= sliders[slider] <= high[column]:
                row[column] = sliders[slider]
            sliders[slider] = row[column]
        return row

    def move(self, row: Floats) -> None:
        """Put the sliders at some dynamics `[P]`."""
        self.data.ctrl[self._own :] = row[self._sliders]

    def step(self) -> Step:
        """Take one step under the dynamics that the sliders stand at, and show where it led.

        What can't change within an episode changes with the next one.
        """
        wanted = self.wanted
        now = np.where(self._fixed, self._simulator.dynamics[0], wanted)
        step = self._simulator.step(self._act(self._simulator.observation), dynamics=now[None])
        self.episode = Played(self.episode.returned + float(step.reward[0]), self.episode.steps + 1)
        if step.done[0]:
            self.finished.append(replace(self.episode, under=said_dynamics(self.dynamics, wanted)))
            self.episode = Played()
            self._simulator.reset(dynamics=wanted[None])
        self._show()
        return step

    def _show(self) -> None:
        """Put the state of the simulation into the model that is looked at."""
        row = self.wanted
        if not np.array_equal(row, self._drawn):
            for field, values in self.dynamics.values(row[None]).items():
                array = getattr(self.model, field, None)
                if isinstance(array, np.ndarray):
                    array[: len(values[0])] = values[0]
            mujoco.mj_setConst(self.model, mujoco.MjData(self.model))  # cameras follow centres of mass
            self._drawn = row
        state = self._simulator.data
        self.data.qpos[:], self.data.qvel[:] = state.qpos[0], state.qvel[0]
        self.data.ctrl[: self._own] = state.ctrl[0]
        self.data.time = self.episode.steps * self.task.dt
        mujoco.mj_forward(self.model, self.data)


def _with_sliders(dynamics: Dynamics) -> list[Parameter]:
    """The parameters whose test range is more than a point."""
    return [p for p in dynamics if p.test[0] < p.test[1]]


def with_sliders(task: Task) -> mujoco.MjModel:
    """The model of a task with one more control for each uncertain parameter, over its test range.

    These controls move nothing. A parameter whose test range is a point has none.
    """
    spec = mujoco.MjSpec.from_file(str(task.model_path))
    for key in spec.keys:  # they have a number for each control
        spec.delete(key)
    joint = spec.joints[0]
    joint.name = joint.name or "rapo_first_joint"
    taken = {actuator.name for actuator in spec.actuators}
    for parameter in _with_sliders(task.dynamics):
        slider = spec.add_actuator(
            name=f"{parameter.name} (dynamics)" if parameter.name in taken else parameter.name,
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            target=joint.name,
            gear=np.zeros(6),
        )
        slider.ctrllimited, slider.ctrlrange = True, parameter.test
    model = spec.compile()
    if (model.nq, model.nbody) != (task.model.nq, task.model.nbody):
        raise InputError(
            f"task '{task.name}' can't be played: its model is not that of its file '{task.model_path}'"
        )
    return model
