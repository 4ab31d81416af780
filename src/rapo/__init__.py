"""rapo: policies that keep working when the physics changes."""

from rapo.errors import InputError
from rapo.robust import Reweighted, RobustValue, reweight, robust_value
from rapo.world.dynamics import Dynamics, Parameter
from rapo.world.mujoco_cpu import MujocoSimulator
from rapo.world.simulator import Branches, Divergence, FreshDynamics, Simulator, Snapshot, Step
from rapo.world.task import Data, Task
from rapo.world.tasks import TASKS, make_task

__all__ = [
    "TASKS",
    "Branches",
    "Data",
    "Divergence",
    "Dynamics",
    "FreshDynamics",
    "InputError",
    "MujocoSimulator",
    "Parameter",
    "Reweighted",
    "RobustValue",
    "Simulator",
    "Snapshot",
    "Step",
    "Task",
    "make_task",
    "reweight",
    "robust_value",
]
