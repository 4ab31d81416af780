"""The arrays of a model that parameters touch: by field, by named rows and by columns; and what no model can
have in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rapo.arrays import Floats
from rapo.errors import InputError, unknown
from rapo.heavy import mujoco
from rapo.world.parameter import Parameter

_OBJECTS = {
    "body": ("body", "nbody", "mjOBJ_BODY"),
    "geom": ("geom", "ngeom", "mjOBJ_GEOM"),
    "site": ("site", "nsite", "mjOBJ_SITE"),
    "actuator": ("actuator", "nu", "mjOBJ_ACTUATOR"),
    "tendon": ("tendon", "ntendon", "mjOBJ_TENDON"),
    "jnt": ("joint", "njnt", "mjOBJ_JOINT"),
    "dof": ("joint", "njnt", "mjOBJ_JOINT"),
}
"""By the beginning of a field's name: what its rows are called, their number in mjModel, and their mjtObj."""
_POSITIVE = ("body_mass", "body_inertia")
_NOT_NEGATIVE = ("geom_friction", "dof_damping", "dof_armature", "dof_frictionloss")
DERIVED = (
    "body_subtreemass",
    "body_invweight0",
    "dof_invweight0",
    "dof_M0",
    "tendon_invweight0",
    "tendon_length0",
    "actuator_acc0",
    "actuator_length0",
)
"""mjModel arrays that MuJoCo derives from others: what it makes of them is not for a parameter to change."""


def live(model: mujoco.MjModel, field: str) -> Floats:
    """The array of a field in `model` or its options, not a copy."""
    for owner in (model, model.opt):
        array = getattr(owner, field, None)
        if isinstance(array, np.ndarray) and array.dtype == np.float64 and field not in DERIVED:
            return array
    known = [f for f in dir(model) if f.split("_")[0] in _OBJECTS and f not in DERIVED and f != field]
    floats = [f for f in known if getattr(getattr(model, f, None), "dtype", None) == np.float64]
    raise unknown("mjModel array to perturb", field, [*floats, "gravity", "wind", "magnetic"])


def target(
    model: mujoco.MjModel, parameter: Parameter, field: str, shape: tuple[int, ...]
) -> tuple[NDArray[np.intp] | slice, ...]:
    """The index into a field that `parameter` touches: its rows, and its columns where it names some."""
    ids: NDArray[np.intp] | slice = slice(None) if parameter.of is None else _ids(model, parameter.of, field)
    if parameter.columns is None:
        return (ids,)
    columns = np.array(parameter.columns)
    width = shape[1] if len(shape) > 1 else 1
    if len(shape) < 2 or columns.min() < 0 or columns.max() >= width:
        allowed = "that field has none" if len(shape) < 2 else f"allowed are 0 to {width - 1}"
        raise InputError(
            f"parameter '{parameter.name}' names columns {parameter.columns} of {field}: {allowed}"
        )
    return (ids, columns) if isinstance(ids, slice) else (ids[:, None], columns)


def _ids(model: mujoco.MjModel, names: Sequence[str], field: str) -> NDArray[np.intp]:
    """Row numbers in `field` of the named objects (for dof fields: of the joints' degrees of freedom)."""
    prefix = field.split("_")[0]
    if prefix not in _OBJECTS:
        raise InputError(f"{field} has no named rows: allowed with names are {', '.join(_OBJECTS)} fields")
    kind, count, number = _OBJECTS[prefix]
    known = [
        mujoco.mj_id2name(model, getattr(mujoco.mjtObj, number), i) for i in range(getattr(model, count))
    ]
    rows: list[int] = []
    for name in names:
        if name not in known:
            raise unknown(kind, name, [k for k in known if k])
        i = known.index(name)
        rows += np.flatnonzero(model.dof_jntid == i).tolist() if prefix == "dof" else [i]
    return np.array(rows, np.intp)


def impossible(
    field: str, values: Floats, default: Floats, never_zero: Sequence[str] = ()
) -> tuple[int, str] | None:
    """The first row of field values `[n, *shape]` that no model can have, and what is wrong with it.

    default: the model's own values, which are never at fault; never_zero: fields that something divides by.
    """
    changed = values != default
    if field in _POSITIVE:
        wrong, rule = changed & (values <= mujoco.mjMINVAL), "it must stay above 0"
    elif field in _NOT_NEGATIVE:
        wrong, rule = changed & (values < 0), "it must not be negative"
    elif field in never_zero:
        wrong, rule = changed & (values == 0), "it must not be 0"
    else:
        return None
    if not wrong.any():
        return None
    at = tuple(np.argwhere(wrong)[0])
    return int(at[0]), f"{field} {values[at]:g}: {rule}"
