"""What measurements measure: a trained policy, its task, and how much it had learned."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rapo.arrays import Floats
from rapo.world.task import Task


@dataclass(frozen=True)
class TrainedPolicy:
    """A trained policy of a run, or of a file that was exported from one."""

    task: Task
    act: Callable[[Floats], NDArray[np.floating]]
    """Controls `[N, action]` for observations `[N, observation]`, without noise."""
    updates: int
    """After how many updates it was taken."""
    engine: str
    """The name of the engine that simulates."""
