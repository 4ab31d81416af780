"""Engines by name, and the one function that makes the simulator of a task."""

from importlib import import_module
from typing import Any

from rapo.errors import unknown
from rapo.world.find_task import as_task
from rapo.world.simulator import Simulator
from rapo.world.task import Task

ENGINES = {"cpu": "rapo.world.mujoco_cpu:MujocoSimulator"}
"""The simulator class of each engine, as module:class; it takes the arguments of `make_simulator`."""
ENGINE = "cpu"
"""The engine where none is named: MuJoCo on CPU threads."""


def check_engine(name: str) -> str:
    """`name`, refused unless an engine has that name."""
    if name not in tuple(ENGINES):  # which says no to whatever is no name
        raise unknown("engine", name, ENGINES)
    return name


def make_simulator(
    task: str | Task | type[Task], num_envs: int, *, engine: str = ENGINE, **given: Any
) -> Simulator:
    """A simulator of `num_envs` environments of a task, which may also be named.

    given: what every engine takes: `seed`; `dynamics` `[num_envs, P]` or `[P]`, nominal by default; `fresh`,
    which draws new ones whenever an episode begins; `force_bodies`, those that `step` may push; `threads`, 0
    for all cores; and `chunk`, how many branches are simulated at a time.
    """
    module, _, kind = ENGINES[check_engine(engine)].partition(":")
    return getattr(import_module(module), kind)(as_task(task), num_envs, **given)
