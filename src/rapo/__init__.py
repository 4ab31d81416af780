"""rapo: policies that keep working when the physics changes."""

from collections.abc import Iterable
from pathlib import Path

from rapo import xla as _xla  # noqa: F401
from rapo.algorithms import ALGORITHMS, Algorithm, find_algorithm
from rapo.errors import InputError, TrainingError
from rapo.robust import Reweighted, RobustValue, reweight, robust_value
from rapo.runs.evaluate import Actor, Evaluated, evaluate
from rapo.runs.grid import read_grid, run_grid
from rapo.runs.run import Run
from rapo.runs.search import search
from rapo.runs.start import resume, train
from rapo.runs.sweep import sweep
from rapo.runs.tracking import track
from rapo.world.dynamics import Dynamics, Parameter
from rapo.world.mujoco_cpu import MujocoSimulator
from rapo.world.simulator import Branches, Divergence, FreshDynamics, Simulator, Snapshot, Step
from rapo.world.task import Data, Task
from rapo.world.tasks import TASKS, make_task

__all__ = [
    "ALGORITHMS",
    "TASKS",
    "Actor",
    "Algorithm",
    "Branches",
    "Data",
    "Divergence",
    "Dynamics",
    "Evaluated",
    "FreshDynamics",
    "InputError",
    "MujocoSimulator",
    "Parameter",
    "Reweighted",
    "RobustValue",
    "Run",
    "Simulator",
    "Snapshot",
    "Step",
    "Task",
    "TrainingError",
    "evaluate",
    "find_algorithm",
    "make_task",
    "read_grid",
    "report",
    "resume",
    "reweight",
    "robust_value",
    "run_grid",
    "search",
    "sweep",
    "track",
    "train",
]


def report(folders: Iterable[str | Path], out: str | Path, seed: int = 0) -> Path:
    """Write a report of all runs in `folders` into the folder `out`; return the page."""
    from rapo.results.report import report  # imported here: plotting is slow to import

    return report(folders, out, seed)
