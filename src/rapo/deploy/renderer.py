"""Pictures of a simulation without a display, by MuJoCo's renderer on EGL or OSMesa.

`mujoco.Renderer` chooses its OpenGL when MuJoCo is first imported, which is long before anybody asks for a
picture; here it is chosen when pictures are drawn.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rapo.errors import InputError
from rapo.heavy import mujoco

Picture = NDArray[np.uint8]
WAYS = ("egl", "osmesa")


@contextmanager
def headless(width: int, height: int) -> Generator[Any]:
    """Make OpenGL draw pictures of this size in memory while this context lasts.

    Of several such contexts the one whose `make_current` was called last draws.
    """
    context = _context(width, height)
    context.make_current()
    try:
        yield context
    finally:
        context.free()


def _context(width: int, height: int) -> Any:
    asked = os.environ.get("MUJOCO_GL", "")
    failed = []
    for way in (asked,) if asked in WAYS else WAYS:
        try:
            return import_module(f"mujoco.{way}").GLContext(width, height)
        except Exception as error:  # drivers raise whatever they like
            failed.append(f"{way}: {type(error).__name__}")
            _forget(way)
    raise InputError(
        f"no pictures can be drawn here ({', '.join(failed)}): install libegl1 and libgl1-mesa-dri, or "
        "libosmesa6"
    )


def _forget(way: str) -> None:
    """Undo what importing a way of drawing has left behind, or no other one can be tried."""
    os.environ.pop("PYOPENGL_PLATFORM", None)
    for name in [name for name in sys.modules if name.split(".")[0] == "OpenGL" or name == f"mujoco.{way}"]:
        del sys.modules[name]


class Renderer:
    """Draws the poses of one model; it lives inside a `headless` context."""

    def __init__(self, model: mujoco.MjModel, width: int, height: int) -> None:
        model.vis.global_.offwidth, model.vis.global_.offheight = width, height
        self._model, self._data = model, mujoco.MjData(model)
        self._size = mujoco.MjrRect(0, 0, width, height)
        self._scene = mujoco.MjvScene(model, maxgeom=10_000)
        for costly in (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION):
            self._scene.flags[costly] = False  # most of the time without a graphics card
        self._option, self._camera = mujoco.MjvOption(), camera_of(model)
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)

    def __call__(self, pose: NDArray[np.float64]) -> Picture:
        """The picture `[height, width, 3]` of a pose `[nq]`."""
        self._data.qpos[:] = pose
        mujoco.mj_forward(self._model, self._data)
        every = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(
            self._model, self._data, self._option, None, self._camera, every.value, self._scene
        )
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        mujoco.mjr_render(self._size, self._scene, self._context)
        picture = np.empty((self._size.height, self._size.width, 3), np.uint8)
        mujoco.mjr_readPixels(picture, None, self._size, self._context)
        return picture[::-1]

    def close(self) -> None:
        """Give the memory of the pictures back, while the `headless` context lasts."""
        self._context.free()


def camera_of(model: mujoco.MjModel) -> mujoco.MjvCamera:
    """The model's first camera; where it has none, one that follows its first moving body."""
    camera = mujoco.MjvCamera()
    mujoco.mjv_defaultFreeCamera(model, camera)
    roots = [i for i in range(1, model.nbody) if model.body_dofnum[i]]
    if model.ncam:
        camera.type, camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, 0
    elif roots and model.jnt_type[model.body_jntadr[roots[0]]] == mujoco.mjtJoint.mjJNT_FREE:
        camera.type, camera.trackbodyid = mujoco.mjtCamera.mjCAMERA_TRACKING, roots[0]
    return camera
