"""The table of uncertain parameters: what may differ between the simulator and the world.

`Dynamics` binds parameters to one model and turns rows of their values `[n, P]` into model fields. The same
table feeds the samplers, the simulator, the command line and the axes of the plots.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rapo.arrays import Floats
from rapo.errors import InputError, unknown
from rapo.heavy import mujoco
from rapo.world.model_fields import impossible, live, target
from rapo.world.parameter import Parameter, Range


class Dynamics:
    """The parameters of one model, in a fixed order; rows of values have shape `[n, P]`.

    never_zero: fields that must not become 0 because something divides by them.
    """

    def __init__(
        self, model: mujoco.MjModel, parameters: Sequence[Parameter], never_zero: Sequence[str] = ()
    ) -> None:
        names = [p.name for p in parameters]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"parameter '{name}' is listed twice: every name may appear once")
        self.model = model
        self.names = tuple(names)
        self.defaults = {f: live(model, f).copy() for p in parameters for f in p.fields}
        self._never_zero = tuple(never_zero)
        self._targets = {
            (p.name, f): target(model, p, f, self.defaults[f].shape) for p in parameters for f in p.fields
        }
        self.parameters = tuple(self._with_nominal(p) for p in parameters)
        for parameter in self.parameters:
            self._check_ends(parameter)
            if parameter.test[0] > parameter.train[0] or parameter.test[1] < parameter.train[1]:
                raise InputError(
                    f"parameter '{parameter.name}' has test range {list(parameter.test)}: it must hold the "
                    f"training range, {list(parameter.train)}"
                )
        self._safe = self._safe_box()

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

    def with_ranges(self, name: str, *, train: Range | None = None, test: Range | None = None) -> Dynamics:
        """The same table with other ranges for one parameter."""
        old = self[name]
        new = replace(
            old, train=old.train if train is None else train, test=old.test if test is None else test
        )
        return Dynamics(self.model, [new if p is old else p for p in self.parameters], self._never_zero)

    def nominal(self, n: int = 1) -> Floats:
        """`[n, P]`, every row unperturbed."""
        return np.tile(np.array([p.nominal for p in self.parameters], np.float64), (n, 1))

    def uniform(self, n: int, rng: np.random.Generator, over: Literal["train", "test"] = "train") -> Floats:
        """`[n, P]`, independent and uniform in the box of the training (or test) ranges."""
        low, high = self.box(over)
        return rng.uniform(low, high, (_check_count(n), len(self)))

    def ensemble(
        self,
        n: int,
        rng: np.random.Generator,
        over: Literal["train", "test"] = "train",
        method: Literal["sobol", "latin", "corners"] = "sobol",
    ) -> Floats:
        """`[n, P]`, spread evenly over the box: scrambled Sobol points or a Latin hypercube.

        With `corners`, half of the Sobol points, at most as many as there are corners, move to their nearest
        corner.
        """
        from scipy.stats import qmc  # imported here: it is slow to import and seldom needed

        _check_count(n)
        low, high = self.box(over)
        if method in ("sobol", "corners"):
            points = qmc.Sobol(len(self), rng=rng).random_base2((n - 1).bit_length())[:n]
            if method == "corners":
                moved = min((n + 1) // 2, 2 ** int((high > low).sum()))
                points[:moved] = points[:moved].round()
        elif method == "latin":
            points = qmc.LatinHypercube(len(self), rng=rng).random(n)
        else:
            raise unknown("ensemble method", method, ("sobol", "latin", "corners"))
        return low + (high - low) * points

    def sweep(self, name: str, values: ArrayLike) -> Floats:
        """`[n, P]`, one parameter through `values`, the others nominal."""
        return self.grid({name: values})

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
                f"parameter '{self.names[column]}' is {rows[row, column]} in row {row}: "
                "allowed are finite numbers"
            )
        if self._safe is not None and (rows >= self._safe[0]).all() and (rows <= self._safe[1]).all():
            return rows
        for field, values in self.values(rows).items():
            impossible = self._impossible(field, values)
            if impossible is not None:
                row, says = impossible
                settings = ", ".join(f"{n} {v:g}" for n, v in zip(self.names, rows[row], strict=True))
                raise InputError(f"dynamics row {row} ({settings}) makes {says}")
        return rows

    def values(self, rows: Floats) -> dict[str, Floats]:
        """The model fields that `rows` `[n, P]` stand for, each `[n, *field shape]`."""
        fields = {f: np.empty((len(rows), *default.shape)) for f, default in self.defaults.items()}
        for field, values in fields.items():
            self.fill(field, rows, values)
        return fields

    def fill(self, field: str, rows: Floats, values: Floats) -> None:
        """Write what `rows` `[n, P]` make of a model field into `values` `[n, *field shape]`.

        It is always computed from the model's own values, so that applying rows twice changes nothing more.
        """
        values[...] = self.defaults[field]
        for column, parameter in enumerate(self.parameters):
            if field not in parameter.fields:
                continue
            at = (slice(None), *self._targets[parameter.name, field])
            value = rows[:, column].reshape(-1, *(1,) * (values.ndim - 1))
            if parameter.apply == "scale":
                values[at] *= value
            elif parameter.apply == "add":
                values[at] += value
            else:
                values[at] = value

    def touching(self, field: str) -> NDArray[np.intp]:
        """The columns of the parameters that change a field."""
        return np.array([i for i, p in enumerate(self.parameters) if field in p.fields], np.intp)

    @cached_property
    def movable(self) -> NDArray[np.intp]:
        """The columns of the parameters that may change at every step and have a training range to do so."""
        low, high = self.box()
        within = np.array([p.within_episode for p in self.parameters], bool)
        return np.flatnonzero(within & (high > low))

    def units(self, rows: Floats) -> Floats:
        """The movable parameters of rows `[..., P]`, in units of the training half-widths: `[..., movable]`.

        The middle of a training range is 0, its ends are -1 and 1.
        """
        middle, half = self._middle_and_half
        return (rows[..., self.movable] - middle) / half

    def moved(self, rows: Floats, units: ArrayLike) -> Floats:
        """Rows `[..., P]` with other values of the movable parameters, `[..., movable]` in training
        half-widths."""
        middle, half = self._middle_and_half
        rows = rows.copy()
        rows[..., self.movable] = middle + half * np.asarray(units, np.float64)
        return rows

    @cached_property
    def _middle_and_half(self) -> tuple[Floats, Floats]:
        """Middles and half-widths of the training ranges of the movable parameters."""
        low, high = (ends[self.movable] for ends in self.box())
        return (low + high) / 2, (high - low) / 2

    def write(self, model: mujoco.MjModel, row: ArrayLike, scratch: mujoco.MjData | None = None) -> None:
        """Put one row `[P]` into `model` itself and recompute its derived constants, using up `scratch`."""
        for field, values in self.values(self.check(row)).items():
            live(model, field)[...] = values[0]
        mujoco.mj_setConst(model, mujoco.MjData(model) if scratch is None else scratch)

    def _with_nominal(self, parameter: Parameter) -> Parameter:
        """The parameter with its nominal value read off the model where it is not given."""
        if parameter.nominal is not None:
            return parameter
        if parameter.apply in ("scale", "add"):
            return replace(parameter, nominal=1.0 if parameter.apply == "scale" else 0.0)
        own = np.unique([self.defaults[f][self._targets[parameter.name, f]] for f in parameter.fields])
        if len(own) != 1:
            raise InputError(
                f"parameter '{parameter.name}' sets {len(own)} different values of the model: "
                "give it a nominal one"
            )
        return replace(parameter, nominal=float(own[0]))

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
                impossible = self._impossible(field, values) if field in parameter.fields else None
                if impossible is not None:
                    raise InputError(
                        f"{what} {value:g} of parameter '{parameter.name}' makes {impossible[1]}"
                    )

    def _impossible(self, field: str, values: Floats) -> tuple[int, str] | None:
        return impossible(field, values, self.defaults[field], self._never_zero)

    def _safe_box(self) -> tuple[Floats, Floats] | None:
        """A box `[P]` of values that are all physically possible, where that is easily known.

        Scales above 0 keep the sign of what they multiply, so that the lowest corner speaks for all.
        """
        scales = [p.apply == "scale" and min(p.test[0], p.train[0]) > 0 for p in self.parameters]
        if not all(s or p.apply == "read" for s, p in zip(scales, self.parameters, strict=True)):
            return None
        ends = np.array([(*p.train, *p.test, p.nominal) for p in self.parameters], np.float64)
        ends = ends.reshape(len(self), 5)
        low, high = ends.min(axis=1), ends.max(axis=1)
        lowest = self.values(low[None])
        if any(self._impossible(field, values) is not None for field, values in lowest.items()):
            return None
        return low, high


def _check_count(n: int) -> int:
    if n < 1:
        raise InputError(f"{n} models were asked for: allowed are whole numbers from 1")
    return n
