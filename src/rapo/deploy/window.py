"""A window in which a policy plays and its uncertain parameters have sliders: MuJoCo's own viewer."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from math import inf
from time import perf_counter, sleep
from typing import Any

from rapo.deploy.player import Played, PlayedPolicy
from rapo.deploy.renderer import camera_of
from rapo.errors import InputError
from rapo.runs.run import Run

HINT = "Control, on the right, has the sliders"
RATE = 30
"""Pictures in a second, at the most."""
LATE = 0.2
"""Seconds between the pictures of a machine that is behind real time; how far behind it may catch up."""


def play(
    run: Run,
    *,
    seed: int = 1000,
    seconds: float = inf,
    ended: Callable[[Played], None] = lambda played: None,
) -> list[Played]:
    """Play a policy in a window, in real time, until it is closed; return the episodes that ended.

    seed: where the initial states come from; seconds: how long at the most, in the time of the simulation;
    ended: called with every episode when it has ended.
    """
    if not seconds > 0:
        raise InputError(f"{seconds:g} seconds were asked for: allowed are numbers above 0")
    check_display()
    player = PlayedPolicy(run, seed)
    with _viewer(player) as viewer:
        steps, now, drawn, began = 0, 0.0, -inf, perf_counter()
        while viewer.is_running() and now < seconds:
            if player.step().done[0]:
                ended(player.finished[-1])
            steps += 1
            now = steps * player.task.dt
            late = perf_counter() - began - now
            if now - drawn >= (LATE if late > 0 else 1 / RATE):  # a picture may take longer than many steps
                viewer.set_texts((None, None, *_said(player)))
                viewer.sync()
                drawn = now
            if late < 0:
                sleep(-late)
            elif late > LATE:
                began += late
    return player.finished


def check_display() -> None:
    """Refuse to play where no window can be opened, by what is missing."""
    glfw = import_module("glfw")
    instead = "rapo video makes films without one"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said below
        if not glfw.init():
            raise InputError(f"no window can be opened: there is no display here, {instead}")
        glfw.window_hint(glfw.VISIBLE, glfw.FALSE)
        window = glfw.create_window(16, 16, "rapo", None, None)
        glfw.default_window_hints()
    if not window:
        raise InputError(f"no window can be opened: the display here has no OpenGL, {instead}")
    glfw.destroy_window(window)


@contextmanager
def _viewer(player: PlayedPolicy) -> Generator[Any]:
    """MuJoCo's viewer on what the player shows, seen by the camera that films have."""
    before, viewers = threading.enumerate(), import_module("mujoco.viewer")
    with viewers.launch_passive(player.model, player.data, show_left_ui=False) as viewer:
        drawing = [thread for thread in threading.enumerate() if thread not in before]
        camera = camera_of(player.model)
        with viewer.lock():
            for name in ("type", "fixedcamid", "trackbodyid", "distance", "azimuth", "elevation"):
                setattr(viewer.cam, name, getattr(camera, name))
            viewer.cam.lookat[:] = camera.lookat
        yield viewer
    for thread in drawing:  # a process that ends while they draw crashes
        thread.join()


def _said(player: PlayedPolicy) -> tuple[str, str]:
    """What stands in the picture: names on the left, numbers on the right."""
    values = zip(player.dynamics.names, player.wanted.tolist(), strict=True)
    lines = [
        *((name, f"{value:.3g}") for name, value in values),
        ("return", f"{player.episode.returned:,.0f}"),
        ("step", f"{player.episode.steps:,}"),
        *(("the last one returned", f"{played.returned:,.0f}") for played in player.finished[-1:]),
        (HINT, ""),
    ]
    names, numbers = zip(*lines, strict=True)
    return "\n".join(names), "\n".join(numbers)
