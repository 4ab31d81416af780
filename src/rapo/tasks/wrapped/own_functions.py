"""An environment's own `step`, run on states that a batch of simulations has reached.

One environment stands for all simulations. Before its `step`, the numbers it knew before the step are put
into it; where it would simulate, the arrays of the simulation that was stepped are put into its mjData.
Which arrays it reads, and which of its attributes change, is found out by trying it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from rapo.arrays import Floats
from rapo.errors import InputError
from rapo.world.task import Data

EPISODES, STEPS = 3, 20
"""How long an environment is tried."""
_NAMED = {
    "body": "",
    "joint": "",
    "jnt": "",
    "site": "site_",
    "geom": "geom_",
    "camera": "cam_",
    "cam": "cam_",
    "light": "light_",
    "actuator": "actuator_",
    "tendon": "ten_",
    "ten": "ten_",
    "sensor": "sensor",
}
"""What mjData is asked for by name, and how the names of such arrays begin: site("tip").xpos is site_xpos."""


class Watched:
    """mjData as an environment sees it: notes which arrays are read and, once sealed, refuses all others."""

    def __init__(self, real: Any, fields: Iterable[str]) -> None:
        self.real, self.noted, self.sealed = real, dict.fromkeys(fields), False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # so that MuJoCo itself does not take it for an mjData
            raise AttributeError(name)
        if name in _NAMED:
            return lambda *which: _Named(self, getattr(self.real, name)(*which), _NAMED[name])
        value = getattr(self.real, name)
        self.note(name)
        if isinstance(value, np.ndarray):
            self.__dict__[name] = value  # a live array: found here from now on
        return value

    def note(self, field: str) -> None:
        """Note that a field is read."""
        if self.sealed and field not in self.noted:
            raise InputError(
                f"it reads mjData.{field}, which it did not when it was tried: add it to the fields of its "
                "task"
            )
        self.noted[field] = None


class _Named:
    """What mjData has of one named body, site or the like."""

    def __init__(self, watched: Watched, part: Any, prefix: str) -> None:
        self._watched, self._part, self._prefix = watched, part, prefix

    def __getattr__(self, name: str) -> Any:
        if name not in ("id", "name"):
            full = self._prefix + name
            self._watched.note(full if hasattr(self._watched.real, full) else name)
        return getattr(self._part, name)


class _Attribute(NamedTuple):
    """A number or an array that an environment keeps between steps, and where it is in a row."""

    name: str
    like: Any
    place: slice


class _Reached(BaseException):
    """The environment has come to where it would simulate."""


class OwnFunctions:
    """The functions of one environment, for rows `[size]`: observation, reward, end, and what it knew."""

    def __init__(self, env: Any, name: str, fields: Iterable[str] = ()) -> None:
        self.env, self._name, self.real = env, name, env.data
        self._before, self._after = (Watched(env.data, fields) for _ in range(2))
        self._physics: Callable[[Any, int], None] = self._simulate
        self._ctrl: Any = None
        self.changes_actions = False
        """Whether controls are not just the actions."""
        env.do_simulation = self._do_simulation
        changing = self._called(self._try)
        self._before.sealed = self._after.sealed = True
        self.fields = tuple(self._after.noted | self._before.noted)
        self.observed: int = env.observation_space.shape[0]
        self._reward, self._ended, at = self.observed, self.observed + 1, self.observed + 2
        self._attributes: list[_Attribute] = []
        for attribute, value in changing.items():
            place = slice(at, at := at + np.size(value))
            self._attributes.append(_Attribute(attribute, value, place))
        self._remembered: list[tuple[str, slice]] = []
        for field in self._before.noted:
            self._remembered.append((field, slice(at, at := at + np.size(getattr(env.data, field)))))
        self.size = at
        arrays = {field: getattr(env.data, field) for field in self.fields}
        self._arrays: dict[str, Floats] = {
            field: array.reshape(-1) for field, array in arrays.items() if isinstance(array, np.ndarray)
        }
        """Live arrays of the environment's mjData, flat."""

    def begin(self, rng: np.random.Generator) -> Floats:
        """Reset the environment, drawing from `rng`; return its row. Its past makes no difference."""

        def begun() -> Any:
            self.env.data = self.real
            for attribute in self._attributes:
                setattr(self.env, attribute.name, copy(attribute.like))
            self.env.np_random = rng
            return self.env.reset()[0]

        row = np.zeros(self.size)
        row[: self.observed] = self._called(begun)
        self._keep(row)
        return row

    def step(self, data: Data, actions: Floats, model: Mapping[str, Floats]) -> None:
        """Run `step` on every row of `data.userdata` `[n, size]` and put what it leads to there.

        model: what the dynamics make of model fields, `[n, *shape]` each. Rows of simulations that are not
        finite are not looked at: they become NaN.
        """
        arrived = {field: getattr(data, field).reshape(len(data), -1) for field in self.fields}
        finite = np.isfinite(data.qpos).all(axis=1) & np.isfinite(data.qvel).all(axis=1)
        rows = data.userdata
        rows[~finite, : self.observed] = np.nan
        with np.errstate(all="ignore"):
            for i in np.flatnonzero(finite).tolist():
                self._place(rows[i], {field: values[i] for field, values in model.items()})
                self._physics = lambda ctrl, frames, i=i: self._arrive(arrived, i)
                found = self._called(lambda i=i: self.env.step(actions[i].copy()))
                observation, reward, terminated, truncated, _ = found
                if truncated:
                    raise InputError(
                        f"environment '{self._name}' truncates an episode itself: allowed is a time limit"
                    )
                rows[i, : self.observed] = observation
                rows[i, self._reward], rows[i, self._ended] = reward, terminated
                self._keep(rows[i])

    def controls(self, data: Data, actions: Floats, model: Mapping[str, Floats]) -> Floats:
        """What `step` would simulate actions `[n, action]` with, from the rows before it."""

        def reach() -> None:
            raise _Reached

        controls = np.empty_like(actions)
        with np.errstate(all="ignore"):
            self._physics = lambda ctrl, frames: reach()
            for i, row in enumerate(data.userdata):
                self._place(row, {field: values[i] for field, values in model.items()})
                try:
                    self._called(lambda i=i: self.env.step(actions[i].copy()))
                except _Reached:
                    controls[i] = self._ctrl
        return controls

    def _place(self, row: Floats, model: Mapping[str, Floats]) -> None:
        """Put what the environment knew before the step into it."""
        env = self.env
        for name, like, place in self._attributes:
            value = row[place]
            array = isinstance(like, np.ndarray)
            setattr(
                env, name, value.astype(like.dtype).reshape(like.shape) if array else type(like)(value[0])
            )
        for field, place in self._remembered:
            self._put(field, row[place])
        for field, values in model.items():
            owner = env.model if hasattr(env.model, field) else env.model.opt
            getattr(owner, field)[...] = values
        env.data = self._before

    def _arrive(self, arrived: Mapping[str, Floats], i: int) -> None:
        """Put what was simulated where the environment would simulate."""
        for field, values in arrived.items():
            self._put(field, values[i])

    def _put(self, field: str, values: Floats) -> None:
        if field == "time":
            self.real.time = float(values[0])
        else:
            self._arrays[field][:] = values

    def _keep(self, row: Floats) -> None:
        """Write what the environment knows now, for the next step."""
        for name, _, place in self._attributes:
            row[place] = np.ravel(getattr(self.env, name))
        for field, place in self._remembered:
            row[place] = self.real.time if field == "time" else self._arrays[field]

    def _do_simulation(self, ctrl: Any, frames: int) -> None:
        """Stands in for the environment's `do_simulation`."""
        self._ctrl = np.array(ctrl, np.float64)
        self._physics(ctrl, frames)
        self.env.data = self._after

    def _simulate(self, ctrl: Any, frames: int) -> None:
        """Simulate as the environment does."""
        self.env.data = self.real
        if frames != self.env.frame_skip:
            raise InputError(f"it simulates {frames} substeps, and its frame_skip is {self.env.frame_skip}")
        type(self.env).do_simulation(self.env, ctrl, frames)

    def _called(self, function: Callable[[], Any]) -> Any:
        """What a function of the environment returns; its errors are said in one sentence."""
        try:
            return function()
        except Exception as error:
            said = str(error).split("\n")[0]
            if "incompatible function arguments" in said:
                said = "it gives its mjData to a function of MuJoCo in its step"
            raise InputError(f"environment '{self._name}' can't be used as a task: {said}") from error

    def _try(self) -> dict[str, Any]:
        """Reset and step the environment, and return the attributes that change, as they were at first."""
        env, rng = self.env, np.random.default_rng(0)
        low, high = (np.clip(end, -1, 1) for end in (env.action_space.low, env.action_space.high))
        seen: list[dict[str, Any]] = []
        for _ in range(EPISODES):
            env.data, env.np_random = self.real, rng
            env.reset()
            seen.append(_numbers(env))
            for _ in range(STEPS):
                env.data = self._before
                action = rng.uniform(1.2 * low, 1.2 * high)
                ended = env.step(action.copy())[2]
                self.changes_actions |= not np.array_equal(self._ctrl, action)
                seen.append(_numbers(env))
                if ended:
                    break
        first = seen[0]
        return {
            name: value
            for name, value in first.items()
            if all(_alike(value, now.get(name)) for now in seen)
            and any(not np.array_equal(value, now[name]) for now in seen)
        }


def _numbers(env: Any) -> dict[str, Any]:
    """Copies of the attributes of an environment that are numbers or arrays of numbers."""
    return {
        name: copy(value)
        for name, value in vars(env).items()
        if isinstance(value, int | float | np.number | np.bool_)
        or (isinstance(value, np.ndarray) and value.dtype.kind in "bif")
    }


def _alike(one: Any, other: Any) -> bool:
    return type(one) is type(other) and np.shape(one) == np.shape(other)
