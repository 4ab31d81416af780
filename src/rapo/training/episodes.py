"""Returns and lengths of episodes, which may go on over several rollouts."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rapo.arrays import Floats


@dataclass
class Episodes:
    """Return and length so far of the episode that each of N environments is in."""

    returned: Floats
    """`[N]`, sum of rewards."""
    length: Floats
    """`[N]`, steps."""

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
    """Episodes before their first step."""
    return Episodes(np.zeros(num_envs), np.zeros(num_envs))
