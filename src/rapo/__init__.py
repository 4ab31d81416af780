"""rapo: policies that keep working when the physics changes."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rapo import xla as _xla  # noqa: F401  # pyright: ignore[reportUnusedImport]

if TYPE_CHECKING:
    from rapo.algorithms import ALGORITHMS, Algorithm, find_algorithm
    from rapo.deploy.export import export
    from rapo.deploy.policy_file import policy_file
    from rapo.errors import InputError, TrainingError
    from rapo.evaluation.evaluate import Evaluated, evaluate
    from rapo.evaluation.measurement import Measurement
    from rapo.evaluation.search import search
    from rapo.evaluation.sweep import sweep
    from rapo.grids.grid_file import read_grid
    from rapo.grids.runner import run_grid
    from rapo.reporting.write_report import report
    from rapo.robust import Reweighted, RobustValue, reweight, robust_value
    from rapo.runs.run import Run
    from rapo.runs.start import resume, train
    from rapo.tasks.quadrotor.flights import track
    from rapo.tasks.wrapped.gymnasium_task import GymnasiumTask
    from rapo.tasks.wrapped.wrapping import wrap
    from rapo.training.actor import Actor
    from rapo.world.dynamics import Dynamics
    from rapo.world.engines import make_simulator
    from rapo.world.find_task import TASKS, make_task
    from rapo.world.mujoco_cpu import MujocoSimulator
    from rapo.world.parameter import Parameter
    from rapo.world.simulator import Branches, Divergence, FreshDynamics, Simulator, Snapshot, Step
    from rapo.world.task import Data, Task

__version__ = "0.3.0"

_HOMES = {
    "rapo.algorithms": ("ALGORITHMS", "Algorithm", "find_algorithm"),
    "rapo.deploy.export": ("export",),
    "rapo.deploy.policy_file": ("policy_file",),
    "rapo.errors": ("InputError", "TrainingError"),
    "rapo.evaluation.evaluate": ("Evaluated", "evaluate"),
    "rapo.evaluation.measurement": ("Measurement",),
    "rapo.evaluation.search": ("search",),
    "rapo.evaluation.sweep": ("sweep",),
    "rapo.grids.grid_file": ("read_grid",),
    "rapo.grids.runner": ("run_grid",),
    "rapo.reporting.write_report": ("report",),
    "rapo.robust": ("Reweighted", "RobustValue", "reweight", "robust_value"),
    "rapo.runs.run": ("Run",),
    "rapo.runs.start": ("resume", "train"),
    "rapo.tasks.quadrotor.flights": ("track",),
    "rapo.tasks.wrapped.gymnasium_task": ("GymnasiumTask",),
    "rapo.tasks.wrapped.wrapping": ("wrap",),
    "rapo.training.actor": ("Actor",),
    "rapo.world.dynamics": ("Dynamics",),
    "rapo.world.parameter": ("Parameter",),
    "rapo.world.engines": ("make_simulator",),
    "rapo.world.find_task": ("TASKS", "make_task"),
    "rapo.world.mujoco_cpu": ("MujocoSimulator",),
    "rapo.world.simulator": ("Branches", "Divergence", "FreshDynamics", "Simulator", "Snapshot", "Step"),
    "rapo.world.task": ("Data", "Task"),
}
"""Where each public name is: it is loaded when it is first asked for, so that `import rapo` takes no time."""
_HOME = {name: module for module, names in _HOMES.items() for name in names}

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
    "GymnasiumTask",
    "InputError",
    "Measurement",
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
    "export",
    "find_algorithm",
    "make_simulator",
    "make_task",
    "policy_file",
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
    "wrap",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rapo' has no attribute '{name}'")
    found = globals()[name] = getattr(import_module(_HOME[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
