"""Reading an MJCF file into the mjModel a task runs on."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rapo.errors import InputError
from rapo.heavy import mujoco

POST_CONSTRAINT_FIELDS = ("cacc", "cfrc_int", "cfrc_ext")
"""mjData fields that only `mj_rnePostConstraint` fills in."""


def load_model(path: str | Path, fields: Iterable[str] = ()) -> mujoco.MjModel:
    """The compiled model of an MJCF file, able to provide the mjData `fields` a task reads.

    MuJoCo computes body accelerations and contact forces only for models with a sensor that needs
    them, so one is added where `fields` asks for such a quantity.
    """
    if not Path(path).is_file():
        raise InputError(f"model file '{path}' does not exist: give the path of an MJCF file")
    try:
        spec = mujoco.MjSpec.from_file(str(path))
        if any(field in POST_CONSTRAINT_FIELDS for field in fields):
            spec.add_sensor(
                name="rapo_post_constraint",
                type=mujoco.mjtSensor.mjSENS_FRAMELINACC,
                objtype=mujoco.mjtObj.mjOBJ_BODY,
                objname="world",
            )
        model = spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"model file '{path}' does not compile: {reason}") from None
    return without_islands(model)


def without_islands(model: mujoco.MjModel) -> mujoco.MjModel:
    """The same model, in which MuJoCo does not look for constraint islands if there can be none.

    A single kinematic tree can't fall into islands: not to look for them is faster and changes no bit.
    """
    if model.ntree == 1:
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
    return model
