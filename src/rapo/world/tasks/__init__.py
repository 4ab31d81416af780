"""The built-in tasks by name."""

from rapo.errors import unknown
from rapo.world.task import Task
from rapo.world.tasks.ant import Ant
from rapo.world.tasks.halfcheetah import HalfCheetah
from rapo.world.tasks.hopper import Hopper
from rapo.world.tasks.locomotion import Locomotion
from rapo.world.tasks.quadrotor_payload import InformedQuadrotorPayload, QuadrotorPayload
from rapo.world.tasks.walker2d import Walker2d

LOCOMOTION: dict[str, type[Locomotion]] = {task.name: task for task in (Hopper, Walker2d, HalfCheetah, Ant)}
TASKS: dict[str, type[Task]] = {
    **LOCOMOTION,
    **{task.name: task for task in (QuadrotorPayload, InformedQuadrotorPayload)},
}


def make_task(name: str) -> Task:
    """The built-in task called `name`."""
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    return TASKS[name]()
