"""Episodes across rollouts: what those that end in a rollout returned."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rapo.arrays import Floats


@dataclass
class Episodes:
    """What every environment's running episode has gathered so far; one rollout's ends at a time."""

    returned: Floats
    """`[N]`."""
    length: Floats
    """`[N]`."""

    def finish(self, reward: ArrayLike, ended: ArrayLike, valid: ArrayLike) -> tuple[Floats, Floats]:
        """Returns and lengths of the episodes that end in a rollout `[T, N]`; diverged ones are left out."""
        finished: list[tuple[float, float]] = []
        rows = (np.asarray(reward, np.float64), np.asarray(ended), np.asarray(valid))
        for gained, end, good in zip(*rows, strict=True):
            self.returned += gained
            self.length += 1
            if end.any():
                kept = end & good
                finished += zip(self.returned[kept].tolist(), self.length[kept].tolist(), strict=True)
                self.returned[end] = self.length[end] = 0
        returns, lengths = np.array(finished, np.float64).reshape(-1, 2).T
        return returns, lengths


def no_episodes(num_envs: int) -> Episodes:
    """Before the first step."""
    return Episodes(np.zeros(num_envs), np.zeros(num_envs))
