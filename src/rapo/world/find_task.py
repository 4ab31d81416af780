"""Tasks by name: the built-in ones, and those of a user, as file.py:Class or package.module:Class.

A built-in task is imported when it is asked for, so that names can be listed and checked quickly.
"""

import sys
from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import ClassVar

from rapo.errors import InputError, unknown
from rapo.world.task import Task

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

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)


TASKS = _Tasks()
"""The built-in tasks."""


def find_task(name: str) -> type[Task]:
    """The class of the built-in task called `name`, or the one that file.py:Class or module:Class names."""
    if name in TASKS:
        return TASKS[name]
    where, colon, kind = name.rpartition(":")
    if not colon:
        raise unknown("task", name, TASKS)
    found = getattr(_module(where), kind, None)
    if not isinstance(found, type) or not issubclass(found, Task):
        raise InputError(f"'{where}' has no task '{kind}': allowed is the name of a subclass of rapo.Task")
    found.source = name
    return found


def make_task(name: str) -> Task:
    """The task called `name`, ready to be simulated."""
    return find_task(name)()


def absolute_task(name: str) -> str:
    """The same name for another working folder: that of a file is made absolute."""
    where, colon, kind = name.rpartition(":")
    return f"{Path(where).resolve()}:{kind}" if colon and where.endswith(".py") else name


def _module(where: str) -> ModuleType:
    """The module that a file holds, or that a dotted name stands for; a file is loaded once."""
    path = Path(where)
    if path.suffix != ".py":
        try:
            return import_module(where)
        except ImportError as error:
            raise InputError(f"module '{where}' can't be imported: {error}") from None
    if not path.is_file():
        raise InputError(f"file '{path}' does not exist: give a Python file with a task in it, as FILE:CLASS")
    name = f"rapo_user_{path.stem}_{sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    if name not in sys.modules:
        spec = spec_from_file_location(name, path.resolve())
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[name]
            said = " ".join(str(error).split())
            raise InputError(f"file '{path}' can't be loaded: {type(error).__name__}: {said}") from None
    return sys.modules[name]
