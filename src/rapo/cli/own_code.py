"""Tasks and algorithms that are not built in, as commands take them: --task FILE:CLASS, --algo FILE:NAME."""

from rapo.algorithms import Algorithm, find_algorithm
from rapo.world.find_task import find_task
from rapo.world.task import Task

TASK = "The task of the runs as FILE:CLASS, where it is not built in."
ALGO = "The algorithm of the runs as FILE:NAME, where it is not built in."


def own_code(task: str | None, algo: str | None) -> tuple[Task | None, Algorithm | None]:
    """What the user named, loaded; None where nothing was named."""
    return (None if task is None else find_task(task)(), None if algo is None else find_algorithm(algo))
