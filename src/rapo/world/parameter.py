"""One uncertain quantity of a model: which mjModel fields it touches, how, and in which ranges."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rapo.errors import InputError

Range = tuple[float, float]


@dataclass(frozen=True)
class Parameter:
    """One uncertain quantity of a model."""

    name: str
    """What users call the parameter."""
    fields: tuple[str, ...] | str
    """The mjModel (or mjOption) arrays that it changes; mass and inertia together make a density."""
    train: Range
    """Values met in training: the in-distribution range."""
    test: Range
    """Values met in evaluation."""
    nominal: float | None = None
    """The parameter's value when nothing is perturbed; None means that of the model file."""
    apply: Literal["scale", "set", "add", "read"] = "scale"
    """`scale` multiplies the model's own values, `set` replaces them, `add` adds to them; `read` changes no
    field: the task itself reads the value from `data.dynamics`."""
    of: tuple[str, ...] | str | None = None
    """Names of the bodies, geoms, actuators, tendons or joints that it changes; None means all of them."""
    columns: tuple[int, ...] | None = None
    """The columns that it changes of a field with several (0 is sliding friction); None means all of them."""
    within_episode: bool = True
    """Whether its value may change while an episode goes on; not so for what a state itself shows, such as
    the length of a cable."""

    def __post_init__(self) -> None:
        for several in ("fields", "of"):
            if isinstance(getattr(self, several), str):
                object.__setattr__(self, several, (getattr(self, several),))
        for several, what in (("fields", "mjModel field"), ("of", "name"), ("columns", "column")):
            named = getattr(self, several)
            if named is not None and not len(named) and (several, self.apply) != ("fields", "read"):
                raise InputError(f"parameter '{self.name}' touches no {what}: give at least one")
        if self.apply not in ("scale", "set", "add", "read"):
            raise InputError(
                f"parameter '{self.name}' has apply '{self.apply}': allowed are scale, set, add, read"
            )
        if self.apply == "read" and (self.fields or self.nominal is None):
            raise InputError(
                f"parameter '{self.name}' is read by its task: it must name a nominal value and no field"
            )
        if self.nominal is not None and not np.isfinite(self.nominal):
            raise InputError(
                f"parameter '{self.name}' has nominal value {self.nominal}: allowed are finite numbers"
            )
        for which, values in (("training", self.train), ("test", self.test)):
            ends = np.asarray(values, np.float64)
            if ends.shape != (2,) or not np.isfinite(ends).all() or ends[0] > ends[1]:
                raise InputError(
                    f"parameter '{self.name}' has {which} range {list(values)}: "
                    "allowed are two finite numbers, the lower one first"
                )
