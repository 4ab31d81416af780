"""The table of uncertain parameters: what may differ between the simulator and the world.

A `Parameter` names the mjModel fields it touches and how. `Dynamics` binds such parameters to one model
and turns rows of parameter values `[n, P]` into model fields. The same table feeds the samplers, the
simulator, the command line and the axes of the plots.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import qmc

from rapo.errors import InputError, unknown

Range = tuple[float, float]
Floats = NDArray[np.float64]

_OBJECTS = {
    "body": mujoco.mjtObj.mjOBJ_BODY,
    "geom": mujoco.mjtObj.mjOBJ_GEOM,
    "site": mujoco.mjtObj.mjOBJ_SITE,
    "actuator": mujoco.mjtObj.mjOBJ_ACTUATOR,
    "tendon": mujoco.mjtObj.mjOBJ_TENDON,
    "jnt": mujoco.mjtObj.mjOBJ_JOINT,
    "dof": mujoco.mjtObj.mjOBJ_JOINT,
}
_POSITIVE = ("body_mass", "body_inertia")
_NOT_NEGATIVE = ("geom_friction", "dof_damping", "dof_armature", "dof_frictionloss", "tendon_range")


@dataclass(frozen=True)
class Parameter:
    """One uncertain quantity of a model."""

    name: str
    """What users call it."""
    fields: tuple[str, ...]
    """The mjModel (or mjOption) fields it touches; mass and inertia together make a density."""
    train: Range
    """Values met in training: the in-distribution range."""
    test: Range
    """Values met in evaluation."""
    nominal: float = 1.0
    """Its value in the model as written."""
    apply: Literal["scale", "set"] = "scale"
    """`scale` multiplies the model's own values, `set` replaces them."""
    of: tuple[str, ...] | None = None
    """Names of the bodies, geoms, actuators, tendons or joints it concerns; None means all of them."""
    columns: tuple[int, ...] | None = None
    """Which columns of a field with several (sliding friction is column 0); None means all of them."""

    def __post_init__(self) -> None:
        if not self.fields:
            raise InputError(f"parameter '{self.name}' touches no mjModel field: name at least one")
        if self.apply not in ("scale", "set"):
            raise InputError(f"parameter '{self.name}' has apply '{self.apply}': allowed are scale, set")
        for which, (low, high) in (("training", self.train), ("test", self.test)):
            if not (np.isfinite(low) and np.isfinite(high)) or low > high:
                raise InputError(
                    f"parameter '{self.name}' has {which} range [{low:g}, {high:g}]: "
                    "it must be finite with its lower end first"
                )


class Dynamics:
    """The parameters of one model, in a fixed order; rows of values have shape `[n, P]`."""

    def __init__(self, model: mujoco.MjModel, parameters: Sequence[Parameter]) -> None:
        names = [p.name for p in parameters]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"parameter '{name}' is listed twice: every name may appear once")
        self.model = model
        self.parameters = tuple(parameters)
        self.names = tuple(names)
        self.defaults = {f: _default(model, f) for p in parameters for f in p.fields}
        self._targets = {(p.name, f): _target(model, p, f) for p in parameters for f in p.fields}
        for parameter in self.parameters:
            self._check_ends(parameter)

    def __len__(self) -> int:
        return len(self.parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self.parameters)

    def __getitem__(self, name: str) -> Parameter:
        return self.parameters[self.column(name)]

    def column(self, name: str) -> int:
        """The column of parameter `name` in a row of values."""
        if name not in self.names:
            raise unknown("parameter", name, self.names)
        return self.names.index(name)

    def with_ranges(self, name: str, *, train: Range | None = None, test: Range | None = None) -> "Dynamics":
        """The same table with other ranges for one parameter."""
        old = self[name]
        new = replace(old, train=train or old.train, test=test or old.test)
        return Dynamics(self.model, [new if p is old else p for p in self.parameters])

    def nominal(self, n: int = 1) -> Floats:
        """`[n, P]`, every row the model as written."""
        return np.tile([p.nominal for p in self.parameters], (n, 1)).astype(np.float64)

    def uniform(self, n: int, rng: np.random.Generator, over: Literal["train", "test"] = "train") -> Floats:
        """`[n, P]`, independent and uniform in the box of the training (or test) ranges."""
        low, high = self.box(over)
        return rng.uniform(low, high, (n, len(self)))

    def ensemble(
        self,
        n: int,
        rng: np.random.Generator,
        over: Literal["train", "test"] = "train",
        method: Literal["sobol", "latin"] = "sobol",
    ) -> Floats:
        """`[n, P]`, spread evenly over the box: scrambled Sobol points or a Latin hypercube."""
        if n < 1:
            raise InputError(f"an ensemble of {n} models was asked for: it needs at least 1")
        if method == "sobol":
            points = qmc.Sobol(len(self), rng=rng).random_base2((n - 1).bit_length())[:n]
        elif method == "latin":
            points = qmc.LatinHypercube(len(self), rng=rng).random(n)
        else:
            raise unknown("ensemble method", method, ("sobol", "latin"))
        low, high = self.box(over)
        return low + (high - low) * points

    def sweep(self, name: str, values: ArrayLike) -> Floats:
        """`[n, P]`, one parameter through `values`, the others nominal."""
        column = self.column(name)
        values = np.asarray(values, np.float64).reshape(-1)
        rows = self.nominal(len(values))
        rows[:, column] = values
        return self.check(rows)

    def grid(self, axes: Mapping[str, ArrayLike]) -> Floats:
        """`[n, P]`, every combination of the values on the named axes, the last axis fastest."""
        columns = [self.column(name) for name in axes]
        points = np.array(list(product(*(np.asarray(a, np.float64).reshape(-1) for a in axes.values()))))
        rows = self.nominal(len(points))
        rows[:, columns] = points
        return self.check(rows)

    def box(self, over: Literal["train", "test"] = "train") -> tuple[Floats, Floats]:
        """Lower and upper ends `[P]` of the training (or test) ranges."""
        if over not in ("train", "test"):
            raise unknown("range", over, ("train", "test"))
        low, high = np.array([getattr(p, over) for p in self.parameters], np.float64).reshape(-1, 2).T
        return low, high

    def check(self, rows: ArrayLike) -> Floats:
        """`rows` as float64 `[n, P]`, refused unless every value is finite and physically possible."""
        rows = np.atleast_2d(np.asarray(rows, np.float64))
        if rows.ndim != 2 or rows.shape[1] != len(self) or not len(rows):
            raise InputError(
                f"dynamics of shape {rows.shape} were given: "
                f"allowed is [rows, {len(self)}] for {', '.join(self.names)}"
            )
        if not np.isfinite(rows).all():
            row, column = np.argwhere(~np.isfinite(rows))[0]
            raise InputError(
                f"parameter '{self.names[column]}' is {rows[row, column]} in row {row}: it must be finite"
            )
        for field, values in self.values(rows).items():
            self._check_possible(field, values, f"dynamics row {{row}} ({', '.join(self.names)})")
        return rows

    def values(self, rows: Floats) -> dict[str, Floats]:
        """The model fields that `rows` `[n, P]` stand for, each `[n, *field shape]`.

        Always computed from the model's own values, so that applying twice is applying once.
        """
        fields = {f: np.repeat(default[None], len(rows), axis=0) for f, default in self.defaults.items()}
        for column, parameter in enumerate(self.parameters):
            for field in parameter.fields:
                at = (slice(None), *self._targets[parameter.name, field])
                value = rows[:, column].reshape(-1, *(1,) * (fields[field].ndim - 1))
                if parameter.apply == "scale":
                    fields[field][at] *= value
                else:
                    fields[field][at] = value
        return fields

    def write(self, model: mujoco.MjModel, row: ArrayLike) -> None:
        """Put one row `[P]` into `model` itself and recompute its derived constants."""
        for field, values in self.values(self.check(row)).items():
            _owner(model, field)[...] = values[0]
        mujoco.mj_setConst(model, mujoco.MjData(model))

    def _check_ends(self, parameter: Parameter) -> None:
        """Refuse a parameter whose nominal value or range ends are physically impossible."""
        for what, value in (
            ("nominal value", parameter.nominal),
            *(("training range", end) for end in parameter.train),
            *(("test range", end) for end in parameter.test),
        ):
            row = self.nominal()
            row[0, self.column(parameter.name)] = value
            for field, values in self.values(row).items():
                if field in parameter.fields:
                    self._check_possible(field, values, f"{what} {value:g} of parameter '{parameter.name}'")

    def _check_possible(self, field: str, values: Floats, what: str) -> None:
        """Refuse field values `[n, *shape]` that no body can have; zeros of the model itself may stay."""
        if field in _POSITIVE:
            wrong = (values <= 0) & (self.defaults[field] > 0)
            rule = "it must stay above 0"
        elif field in _NOT_NEGATIVE:
            wrong = values < 0
            rule = "it must not be negative"
        else:
            return
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0])
            raise InputError(f"{what.format(row=at[0])} makes {field} {values[at]:g}: {rule}")


def _owner(model: mujoco.MjModel, field: str) -> NDArray[np.float64]:
    """The live array of a field of `model` or of its options."""
    for owner in (model, model.opt):
        array = getattr(owner, field, None)
        if isinstance(array, np.ndarray) and array.dtype == np.float64:
            return array
    fields = [f for f in dir(model) if isinstance(getattr(model, f, None), np.ndarray)]
    raise unknown("mjModel field", field, [f for f in fields if f.split("_")[0] in _OBJECTS])


def _default(model: mujoco.MjModel, field: str) -> Floats:
    return _owner(model, field).copy()


def _target(model: mujoco.MjModel, parameter: Parameter, field: str) -> tuple[NDArray | slice, ...]:
    """The index into a field that `parameter` touches: its rows, and its columns where it names some."""
    shape = _default(model, field).shape
    ids: NDArray | slice = slice(None)
    if parameter.of is not None:
        ids = _ids(model, parameter.of, field)
    if parameter.columns is None:
        return (ids,)
    columns = np.array(parameter.columns)
    if len(shape) < 2 or columns.min() < 0 or columns.max() >= shape[1]:
        width = shape[1] if len(shape) > 1 else 1
        raise InputError(
            f"parameter '{parameter.name}' names columns {parameter.columns} of {field}: it has {width}"
        )
    if isinstance(ids, slice):
        return (ids, columns)
    return (ids[:, None], columns)


def _ids(model: mujoco.MjModel, names: Sequence[str], field: str) -> NDArray[np.intp]:
    """Row numbers in `field` of the named objects (for dof fields: of the joints' degrees of freedom)."""
    kind = field.split("_")[0]
    if kind not in _OBJECTS:
        raise InputError(f"{field} has no named rows: allowed with names are {', '.join(_OBJECTS)} fields")
    count = {"body": "nbody", "geom": "ngeom", "site": "nsite", "actuator": "nu", "tendon": "ntendon"}
    known = [
        mujoco.mj_id2name(model, _OBJECTS[kind], i) for i in range(getattr(model, count.get(kind, "njnt")))
    ]
    rows: list[int] = []
    for name in names:
        if name not in known:
            raise unknown({"jnt": "joint", "dof": "joint"}.get(kind, kind), name, [k for k in known if k])
        i = known.index(name)
        if kind == "dof":
            rows += [d for d in range(model.nv) if model.dof_jntid[d] == i]
        else:
            rows.append(i)
    return np.array(rows, np.intp)
