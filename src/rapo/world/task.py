"""What a task is: a model, an observation, a reward, a termination and a reset. No learning.

Everything is batched NumPy over n simulations; a task has no state of its own. What a reward needs
from before the step is kept, row by row, in `memory`, which the simulator snapshots with the physics.
A robot of your own is a subclass of `Task`, as the built-in ones are.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import mujoco
import numpy as np
from mjbatch import Batch
from numpy.typing import NDArray

from rapo.errors import InputError
from rapo.world import last_stage
from rapo.world.dynamics import Dynamics, Parameter
from rapo.world.model import load_model

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class Data:
    """mjData fields of n simulations as attributes: `data.qpos` is `[n, nq]`, `data.xpos` `[n, nbody, 3]`.

    The arrays are live: copy what has to outlast the next step.
    """

    def __init__(self, fields: Mapping[str, NDArray[Any]]) -> None:
        self.__dict__.update(fields)

    def __getattr__(self, name: str) -> NDArray[Any]:
        raise AttributeError(f"mjData field '{name}' is not read by this task: add it to Task.fields")

    def __len__(self) -> int:
        return len(next(iter(self.__dict__.values())))

    def rows(self, index: slice | NDArray[np.intp]) -> "Data":
        """The same fields for some of the simulations."""
        return Data({name: array[index] for name, array in self.__dict__.items()})


class Task(ABC):
    """A robot and what it should do."""

    name: ClassVar[str]
    """What users call it."""
    model_file: ClassVar[str | Path]
    """Its MJCF file."""
    frame_skip: ClassVar[int]
    """Physics substeps per action."""
    parameters: ClassVar[tuple[Parameter, ...]]
    """What is uncertain about its physics."""
    time_limit: ClassVar[int] = 1000
    """Steps after which an episode is truncated."""
    fields: ClassVar[tuple[str, ...]] = ()
    """The mjData fields its methods read, beside qpos and qvel."""
    pushed_bodies: tuple[str, ...] = ()
    """Bodies that an adversary pushes; none named means the first one that can move."""
    pushed_axes: ClassVar[tuple[int, ...]] = (0, 1, 2)
    """World axes along which it pushes: 0, 1 and 2 are x, y and z."""

    def __init__(self) -> None:
        if self.frame_skip < 1 or self.time_limit < 1:
            raise InputError(
                f"task '{self.name}' has frame_skip {self.frame_skip} and time_limit {self.time_limit}: "
                "both must be at least 1"
            )
        self.model = load_model(self.model_file, self.fields)
        never_zero = ("actuator_gear",) if last_stage.is_needed(self.model, self.fields) else ()
        self.dynamics = Dynamics(self.model, self.parameters, never_zero)
        self.action_size: int = self.model.nu
        self.dt: float = self.model.opt.timestep * self.frame_skip
        if not self.pushed_bodies:
            named = [self.model.body(i).name for i in range(1, self.model.nbody)]
            self.pushed_bodies = tuple([name for name in named if name][:1])
        two = _two_simulations(self.model, self.fields)
        self.initial_qpos: Floats = two.qpos[0].copy()
        self.initial_qvel: Floats = two.qvel[0].copy()
        self.observation_size, self.memory_size = self._check_methods(two)

    def _check_methods(self, data: Data) -> tuple[int, int]:
        """Try every method on two simulations, and refuse results that are not as documented."""
        n, sizes = len(data), []
        for what, array in (("observe", self.observe(data)), ("remember", self.remember(data))):
            live = any(np.shares_memory(array, field) for field in data.__dict__.values())
            if array.shape[:1] != (n,) or array.ndim != 2 or array.dtype != np.float64 or live:
                raise InputError(
                    f"{what} of task '{self.name}' returns {array.dtype} of shape {array.shape}: "
                    f"allowed for {n} rows are new float64 arrays of shape ({n}, size)"
                )
            sizes.append(array.shape[1])
        memory = self.remember(data)
        reward, terminated = self.score(memory, memory, data, np.zeros((n, self.action_size)))
        for what, array, kind in (("rewards", reward, np.float64), ("terminations", terminated, np.bool_)):
            if not isinstance(array, np.ndarray) or array.shape != (n,) or array.dtype != kind:
                raise InputError(
                    f"score of task '{self.name}' returns {what} {np.shape(array)} for {n} rows: "
                    f"allowed are {kind.__name__} arrays of shape ({n},)"
                )
        shapes = tuple(np.shape(x) for x in self.reset(n, np.random.default_rng(0)))
        wanted = ((n, self.model.nq), (n, self.model.nv))
        if shapes != wanted:
            raise InputError(f"reset of task '{self.name}' returns shapes {shapes}: allowed are {wanted}")
        return sizes[0], sizes[1]

    @property
    def action_range(self) -> tuple[Floats, Floats]:
        """Lower and upper ends `[action]` of what the actuators follow; unlimited ones are infinite."""
        limited = self.model.actuator_ctrllimited.astype(bool)
        low, high = self.model.actuator_ctrlrange.T
        return np.where(limited, low, -np.inf), np.where(limited, high, np.inf)

    @abstractmethod
    def reset(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw n initial states: qpos `[n, nq]` and qvel `[n, nv]`."""

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


def _two_simulations(model: mujoco.MjModel, fields: tuple[str, ...]) -> Data:
    """The fields of two simulations at the model's own initial state."""
    batch = Batch(model, 2)
    arrays = {}
    for field in dict.fromkeys((*fields, "qpos", "qvel")):
        try:
            arrays[field] = batch.bind(field)
        except ValueError:
            raise InputError(
                f"mjData field '{field}' can't be read by a task: allowed are those of fixed size, such as "
                "qpos, qvel, xpos, xquat, cvel, sensordata, cfrc_ext"
            ) from None
    batch.reset()
    return Data(arrays)
