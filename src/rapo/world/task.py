"""What a task is: a model, an observation, a reward, a termination and a reset. No learning.

Everything is batched NumPy over n simulations; a task has no state of its own. What a reward needs
from before the step is kept, row by row, in `memory`, which the simulator snapshots with the physics.
What an episode carries along (a delay, a history, a reference) lives in `userdata`, beside mjData: MuJoCo
would take it in and out at every substep. Of many simulations, `settle`, `remember`, `observe` and `score`
see some at a time, on several threads: no row may depend on another, nor on an array that they share.
A robot of your own is a subclass of `Task`, as the built-in ones are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rapo.arrays import Bools, Floats
from rapo.errors import InputError, unknown
from rapo.heavy import mjbatch, mujoco
from rapo.world import last_stage
from rapo.world.dynamics import Dynamics
from rapo.world.model import load_model
from rapo.world.parameter import Parameter
from rapo.world.user_code import file_of

if TYPE_CHECKING:
    from rapo.evaluation.measurement import Measurement

BeforeSubstep = Callable[[int], None]
"""A function that is called before every substep of the physics, with the number of the substep."""


class States(NamedTuple):
    """Where episodes begin."""

    qpos: Floats
    """`[n, nq]`."""
    qvel: Floats
    """`[n, nv]`."""
    userdata: Floats | None = None
    """`[n, userdata]`; None means zeros."""


class Data:
    """mjData fields of n simulations as attributes: `data.qpos` is `[n, nq]`, `data.xpos` `[n, nbody, 3]`.

    The arrays are live: copy what has to outlast the next step. Beside qpos, qvel and the fields a task asks
    for there are always ctrl `[n, nu]`, userdata `[n, userdata]`, which is what episodes carry along, and the
    values of the parameters in force, dynamics `[n, P]`.
    """

    def __init__(self, fields: Mapping[str, NDArray[Any]]) -> None:
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> NDArray[Any]:
        raise AttributeError(f"mjData field '{name}' is not read by this task: add it to Task.fields")

    def __len__(self) -> int:
        return len(next(iter(self.__dict__.values())))

    def rows(self, index: slice | NDArray[np.intp]) -> Data:
        """The same fields for some of the simulations."""
        return Data({name: array[index] for name, array in self.__dict__.items()})


class Task(ABC):
    """A robot and what it should do."""

    name: ClassVar[str]
    """What users call the task."""
    model_file: str | Path
    """The task's MJCF file; a relative path begins at the folder of the Python file that names it."""
    frame_skip: int
    """Physics substeps per action."""
    parameters: ClassVar[tuple[Parameter, ...]]
    """What is uncertain about the robot's physics."""
    time_limit: int = 1000
    """Steps after which an episode is truncated."""
    settings: ClassVar[Mapping[str, Mapping[str, float]]] = {}
    """Named dynamics, each with the parameters that it fixes; the others come from their training ranges."""
    options: ClassVar[Mapping[str, Any]] = {}
    """Options of training that suit the task better than the defaults."""
    fields: tuple[str, ...] = ()
    """The mjData fields that the task's methods read, beside qpos and qvel."""
    model_fields: ClassVar[tuple[str, ...]] = ()
    """The mjModel arrays that `drive` writes for each simulation, over what the dynamics put there."""
    userdata_size: int = 0
    """How many numbers an episode carries along in `data.userdata`."""
    source: ClassVar[str | None] = None
    """Where it was loaded from, as FILE:CLASS or MODULE:CLASS; None for one that no name stands for."""
    measurements: ClassVar[tuple[Measurement, ...]] = ()
    """Ways of measuring its policies beside those that every task has."""
    pushed_bodies: tuple[str, ...] = ()
    """Bodies that an adversary pushes; if none are named, the first body that can move."""
    pushed_axes: ClassVar[tuple[int, ...]] = (0, 1, 2)
    """World axes along which an adversary pushes: 0, 1 and 2 are x, y and z."""

    def __init__(self) -> None:
        for needed in ("name", "model_file", "frame_skip", "parameters"):
            if not hasattr(self, needed):
                raise InputError(f"task {type(self).__name__} has no {needed}: set it in the class")
        for what, count in (("frame_skip", self.frame_skip), ("time_limit", self.time_limit)):
            if count < 1:
                raise InputError(f"task '{self.name}' has {what} {count}: allowed are whole numbers from 1")
        if "userdata" in self.fields:
            raise InputError(
                f"task '{self.name}' asks for field 'userdata': it is always there, of userdata_size numbers"
            )
        self.model = self.load_model()
        never_zero = ("actuator_gear",) if last_stage.is_needed(self.model, self.fields) else ()
        self.dynamics = Dynamics(self.model, self.parameters, never_zero)
        self.action_size: int = self.model.nu
        if not self.model.nu:
            raise InputError(f"model of task '{self.name}' has no actuators: a policy needs at least one")
        self.dt: float = self.model.opt.timestep * self.frame_skip
        if not self.pushed_bodies:
            named = [self.model.body(i).name for i in range(1, self.model.nbody)]
            self.pushed_bodies = tuple([name for name in named if name][:1])
        two = _two_simulations(self.dynamics, self.fields, self.userdata_size)
        self.initial_qpos: Floats = two.qpos[0].copy()
        self.initial_qvel: Floats = two.qvel[0].copy()
        self.observation_size, self.memory_size = self._check_methods(two)

    def load_model(self) -> mujoco.MjModel:
        """The compiled model: that of `model_file`, able to give `fields`."""
        return load_model(self.model_path, self.fields)

    @property
    def model_path(self) -> Path:
        """The model file, looked for beside the Python file that names it."""
        path = Path(self.model_file)
        naming = next((k for k in type(self).__mro__ if "model_file" in vars(k)), type(self))
        home = file_of(naming)
        return path if home is None else home.parent / path

    def _check_methods(self, data: Data) -> tuple[int, int]:
        """Try every method on two simulations, and refuse results that are not as documented."""
        n, sizes = len(data), []
        try:
            states = self.begin(self.dynamics.nominal(n), np.random.default_rng(0))
        except TypeError as error:
            raise InputError(
                f"reset of task '{self.name}' must return qpos [n, nq] and qvel [n, nv], two arrays: {error}"
            ) from None
        shapes = tuple(np.shape(x) for x in states if x is not None)
        wanted = ((n, self.model.nq), (n, self.model.nv), (n, self.userdata_size))[: len(shapes)]
        if shapes != wanted:
            raise InputError(f"reset of task '{self.name}' returns shapes {shapes}: allowed are {wanted}")
        if states.userdata is not None:
            data.userdata[...] = states.userdata
        for what, array in (("observe", self.observe(data)), ("remember", self.remember(data))):
            if not isinstance(array, np.ndarray):
                raise InputError(
                    f"{what} of task '{self.name}' returns a {type(array).__name__}: "
                    f"allowed for {n} rows are float64 arrays of shape ({n}, size)"
                )
            live = any(np.shares_memory(array, field) for field in data.__dict__.values())
            if array.shape[:1] != (n,) or array.ndim != 2 or array.dtype != np.float64 or live:
                raise InputError(
                    f"{what} of task '{self.name}' returns {array.dtype} of shape {array.shape}: "
                    f"allowed for {n} rows are new float64 arrays of shape ({n}, size)"
                )
            sizes.append(array.shape[1])
        memory = self.remember(data)
        scored = self.score(memory, memory, data, np.zeros((n, self.action_size)))
        if not isinstance(scored, tuple) or len(scored) != 2:
            raise InputError(
                f"score of task '{self.name}' returns a {type(scored).__name__}: allowed are two arrays, "
                "rewards and terminations"
            )
        reward, terminated = scored
        for what, array, kind in (("rewards", reward, np.float64), ("terminations", terminated, np.bool_)):
            if not isinstance(array, np.ndarray) or array.shape != (n,) or array.dtype != kind:
                raise InputError(
                    f"score of task '{self.name}' returns {what} {np.shape(array)} for {n} rows: "
                    f"allowed are {kind.__name__} arrays of shape ({n},)"
                )
        return sizes[0], sizes[1]

    def setting(self, name: str, n: int, rng: np.random.Generator) -> Floats:
        """Draw dynamics `[n, P]` of a named setting; the random draws do not depend on what it fixes."""
        if name not in self.settings:
            raise unknown("setting", name, self.settings)
        rows = self.dynamics.uniform(n, rng)
        for parameter, value in self.settings[name].items():
            rows[:, self.dynamics.column(parameter)] = value
        return self.dynamics.check(rows)

    def tested(self) -> Task:
        """The task on which policies are tested: this one, unless a subclass says otherwise."""
        return self

    @property
    def action_range(self) -> tuple[Floats, Floats]:
        """Smallest and largest actions `[action]` that the actuators follow; infinite where unlimited."""
        limited = self.model.actuator_ctrllimited.astype(bool)
        low, high = self.model.actuator_ctrlrange.T
        return np.where(limited, low, -np.inf), np.where(limited, high, np.inf)

    @property
    def bounded_actions(self) -> tuple[Floats, Floats]:
        """Between which ends random actions `[action]` are drawn: -1 and 1 where an actuator is unlimited."""
        low, high = self.action_range
        return np.where(np.isfinite(low), low, -1.0), np.where(np.isfinite(high), high, 1.0)

    def observed(self) -> Sequence[tuple[str, int, str]]:
        """What the numbers of an observation are, in order: a name, how many numbers, and their unit.

        An exported policy says it to those who use it.
        """
        return (("observation", self.observation_size, ""),)

    def checked_observed(self) -> Sequence[tuple[str, int, str]]:
        """What `observed` says, refused if it is not about as many numbers as are observed."""
        said = self.observed()
        if sum(size for _, size, _ in said) != self.observation_size:
            raise InputError(
                f"observed of task '{self.name}' is about {sum(size for _, size, _ in said)} numbers: "
                f"allowed are as many as an observation has, {self.observation_size}"
            )
        return said

    @abstractmethod
    def reset(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw n initial states: qpos `[n, nq]` and qvel `[n, nv]`."""

    def begin(self, dynamics: Floats, rng: np.random.Generator) -> States:
        """Draw the states in which episodes under `dynamics` `[n, P]` begin.

        They are those of `reset`; a task that has to know the dynamics or keeps `userdata` overrides this.
        The random draws may depend on n, not on the dynamics, so that the same stream gives comparable
        episodes.
        """
        return States(*self.reset(len(dynamics), rng))

    def drive(self, data: Data, actions: Floats) -> BeforeSubstep | None:
        """Before a step: turn actions `[n, action]` into `data.ctrl`.

        A controller that runs faster than the policy returns a function to be called before every substep.
        """
        data.ctrl[...] = actions
        return None

    def settle(self, data: Data, actions: Floats) -> None:
        """After a step, before it is observed and scored: update `data.userdata`; does nothing by default."""
        return

    @abstractmethod
    def observe(self, data: Data) -> Floats:
        """What the policy sees, `[n, observation]`, as a new array."""

    @abstractmethod
    def score(self, before: Floats, after: Floats, data: Data, actions: Floats) -> tuple[Floats, Bools]:
        """Reward `[n]` and termination `[n]` of the step that led to `data`, as new arrays.

        before, after: `[n, memory]`, what `remember` kept before the step and after it;
        actions: `[n, action]`.
        """

    def remember(self, data: Data) -> Floats:
        """What the next step's reward needs of this moment, `[n, memory]`, as a new array."""
        return np.empty((len(data), 0))


def _two_simulations(dynamics: Dynamics, fields: tuple[str, ...], userdata: int) -> Data:
    """The fields of two simulations at the model's own initial state."""
    batch = mjbatch.Batch(dynamics.model, 2)
    arrays = {}
    for field in dict.fromkeys((*fields, "qpos", "qvel", "ctrl")):
        try:
            arrays[field] = batch.bind(field)
        except ValueError:
            raise InputError(
                f"mjData field '{field}' can't be read by a task: allowed are those of fixed size, such as "
                "qpos, qvel, xpos, xquat, cvel, sensordata, cfrc_ext"
            ) from None
    batch.reset()
    return Data({**arrays, "userdata": np.zeros((2, userdata)), "dynamics": dynamics.nominal(2)})
