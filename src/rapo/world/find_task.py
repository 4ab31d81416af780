"""Tasks by name: the built-in ones, Gymnasium's by their ids, and those of a user, as file.py:Class.

A built-in task is imported when it is asked for, so that names can be listed and checked quickly.
"""

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import ClassVar

from rapo.errors import InputError, shown, unknown
from rapo.world.task import Task
from rapo.world.user_code import find_code, is_code

LOCOMOTION = ("hopper", "walker2d", "halfcheetah", "ant")
"""The tasks that equal Gymnasium's, step by step."""


class _Tasks(Mapping[str, type[Task]]):
    """Task classes by name, each imported when it is asked for."""

    _homes: ClassVar = {
        "hopper": "rapo.tasks.hopper:Hopper",
        "walker2d": "rapo.tasks.walker2d:Walker2d",
        "halfcheetah": "rapo.tasks.halfcheetah:HalfCheetah",
        "ant": "rapo.tasks.ant:Ant",
        "quadrotor-payload": "rapo.tasks.quadrotor.payload_task:QuadrotorPayload",
        "quadrotor-informed": "rapo.tasks.quadrotor.payload_task:InformedQuadrotorPayload",
    }

    def __getitem__(self, name: str) -> type[Task]:
        module, _, kind = self._homes[name].partition(":")
        return getattr(import_module(module), kind)

    def class_name(self, name: str) -> str:
        """What the class of a task is called; nothing is imported for it."""
        return self._homes[name].partition(":")[2]

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


TASKS = _Tasks()
"""The built-in tasks."""

_GYMNASIUM = re.compile(r"\w+-v\d+")
"""What the ids of Gymnasium's own environments look like."""


def find_task(name: str) -> type[Task]:
    """The class of the built-in task called `name`, or the one that file.py:Class or module:Class names.

    The id of an environment that comes with Gymnasium, as Swimmer-v5, names that environment as a task.
    """
    if name in TASKS:
        return TASKS[name]
    if _GYMNASIUM.fullmatch(name):
        return import_module("rapo.tasks.wrapped.wrapping").class_of(name)
    if not is_code(name):
        raise unknown("task", name, TASKS)
    found = find_code(name)
    if not isinstance(found, type) or not issubclass(found, Task):
        where, _, kind = name.rpartition(":")
        raise InputError(f"'{where}' has no task '{kind}': allowed is the name of a subclass of rapo.Task")
    found.source = name
    return found


def make_task(name: str) -> Task:
    """The task called `name`, ready to be simulated."""
    return find_task(name)()


def as_task(given: str | Task | type[Task]) -> Task:
    """A task that is given itself, by name, or as a class."""
    if isinstance(given, str):
        return make_task(given)
    made = given() if isinstance(given, type) and issubclass(given, Task) else given
    if not isinstance(made, Task):
        raise InputError(f"task {shown(given)} was given: allowed are the name of one, or a rapo.Task")
    return made
