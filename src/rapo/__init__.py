"""rapo: policies that keep working when the physics changes."""

from rapo.algorithms import ALGORITHMS, Algorithm, find_algorithm
from rapo.errors import InputError, TrainingError
from rapo.robust import Reweighted, RobustValue, reweight, robust_value
from rapo.runs.evaluate import Actor, Evaluated, evaluate
from rapo.runs.run import Run
from rapo.runs.start import resume, train
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
    "resume",
    "reweight",
    "robust_value",
    "train",
]
