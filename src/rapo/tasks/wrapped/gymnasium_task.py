"""A Gymnasium MuJoCo environment as a task: same observations, rewards and ends, under uncertain physics.

    class Swimmer(GymnasiumTask):
        environment = "Swimmer-v5"  # or a subclass of MujocoEnv
        parameters = (Parameter("mass", "body_mass", (0.8, 1.2), (0.5, 1.5)),)

The physics is simulated in batches, as for all tasks; observations, rewards and ends come from the
environment's own `step`, one simulation after another. A task that has `observe` and `score` of its own,
over batches, is faster. Either way it is stepped beside the environment when it is made, and refused if they
differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar
from weakref import WeakSet

import numpy as np

from rapo.arrays import Bools, Floats
from rapo.errors import InputError
from rapo.heavy import mujoco
from rapo.tasks.locomotion import PARAMETERS
from rapo.tasks.wrapped.environment import make_environment, title
from rapo.tasks.wrapped.own_functions import OwnFunctions
from rapo.tasks.wrapped.side_by_side import check_side_by_side
from rapo.world.model import POST_CONSTRAINT_FIELDS, without_islands
from rapo.world.parameter import Parameter
from rapo.world.task import BeforeSubstep, Data, States, Task

_checked: WeakSet[type[Task]] = WeakSet()
"""The classes that were found to be as their environments."""


class GymnasiumTask(Task):
    """An environment of Gymnasium as a task."""

    environment: ClassVar[str | type]
    """The id of the environment, or its class, a subclass of `gymnasium.envs.mujoco.MujocoEnv`."""
    environment_options: ClassVar[Mapping[str, Any]] = {}
    """What the environment is made with, beside its defaults."""
    parameters: ClassVar[tuple[Parameter, ...]] = PARAMETERS

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "environment" in vars(cls) and "name" not in vars(cls):
            cls.name = title(cls.environment).rpartition(":")[2].replace("/", "-")

    def __init__(self) -> None:
        if not hasattr(self, "environment"):
            raise InputError(f"task {type(self).__name__} has no environment: set it in the class")
        own = [
            getattr(type(self), method) is getattr(GymnasiumTask, method) for method in ("observe", "score")
        ]
        if own[0] != own[1]:
            raise InputError(
                f"task '{self.name}' has only one of observe and score: give both, or none to use those of "
                "its environment"
            )
        self.environment_name = title(self.environment)
        self.is_batched: bool = not own[0]
        """Whether observations and rewards are computed over batches, not by the environment."""
        self._lock = Lock()
        self._env, limit = make_environment(self.environment, self.environment_options)
        self._own = None if self.is_batched else OwnFunctions(self._env, self.environment_name, self.fields)
        if self._own is not None:
            self.fields, self.userdata_size = self._own.fields, self._own.size
        self.model_file: str | Path = self._env.fullpath
        self.frame_skip: int = self._env.frame_skip
        if limit is not None and type(self).time_limit is Task.time_limit:
            self.time_limit = limit
        super().__init__()
        if type(self) not in _checked:
            check_side_by_side(self)
            _checked.add(type(self))

    def make_original(self) -> Any:
        """Another environment like the one that the task stands for."""
        return make_environment(self.environment, self.environment_options)[0]

    def load_model(self) -> mujoco.MjModel:
        """The environment's model; from its file again if it has to get the sensor that forces need."""
        if any(field in POST_CONSTRAINT_FIELDS for field in self.fields):
            return super().load_model()
        return without_islands(copy(self._env.model))

    @property
    def action_range(self) -> tuple[Floats, Floats]:
        """Smallest and largest actions `[action]` of the environment."""
        space = self._env.action_space
        return space.low.astype(np.float64), space.high.astype(np.float64)

    def reset(self, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Initial states that the environment draws under nominal dynamics."""
        states = self.begin(self.dynamics.nominal(n), rng)
        return states.qpos, states.qvel

    def begin(self, dynamics: Floats, rng: np.random.Generator) -> States:
        """Initial states that the environment draws, one after another, from the one stream."""
        env, n = self._env, len(dynamics)
        qpos, qvel = np.empty((n, self.model.nq)), np.empty((n, self.model.nv))
        rows = np.empty((n, self.userdata_size))
        with self._lock:
            for i, row in enumerate(dynamics):
                if self._own is None:
                    env.np_random = rng
                    env.reset()
                else:
                    self.dynamics.write(env.model, row, self._own.real)
                    rows[i] = self._own.begin(rng)
                qpos[i], qvel[i] = env.data.qpos, env.data.qvel
        return States(qpos, qvel, None if self._own is None else rows)

    def drive(self, data: Data, actions: Floats) -> BeforeSubstep | None:
        """Turn actions into controls as the environment does."""
        data.ctrl[...] = actions
        if self._own is not None and self._own.changes_actions:
            with self._lock:
                data.ctrl[...] = self._own.controls(data, actions, self._model_rows(data))
        return None

    def settle(self, data: Data, actions: Floats) -> None:
        """Run the environment's own step on every simulation."""
        if self._own is not None:
            with self._lock:
                self._own.step(data, actions, self._model_rows(data))

    def observe(self, data: Data) -> Floats:
        """What the environment's step, or its reset, returned."""
        assert self._own is not None
        return data.userdata[:, : self._own.observed].copy()

    def score(self, before: Floats, after: Floats, data: Data, actions: Floats) -> tuple[Floats, Bools]:
        """What the environment's step returned."""
        assert self._own is not None
        reward, ended = data.userdata[:, self._own.observed : self._own.observed + 2].T
        return reward.copy(), ended > 0

    def _model_rows(self, data: Data) -> dict[str, Floats]:
        """What the dynamics of every simulation make of the model: rewards may depend on masses."""
        return self.dynamics.values(data.dynamics)
