"""The built-in tasks by name."""

from rapo.errors import unknown
from rapo.world.tasks.ant import Ant
from rapo.world.tasks.halfcheetah import HalfCheetah
from rapo.world.tasks.hopper import Hopper
from rapo.world.tasks.locomotion import Locomotion
from rapo.world.tasks.walker2d import Walker2d

TASKS: dict[str, type[Locomotion]] = {task.name: task for task in (Hopper, Walker2d, HalfCheetah, Ant)}


def make_task(name: str) -> Locomotion:
    """The built-in task called `name`."""
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    return TASKS[name]()
