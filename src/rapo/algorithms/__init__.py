"""The built-in algorithms, by name."""

from rapo.algorithms.epopt import EPOPT
from rapo.algorithms.ppo import PPO, PPO_DR
from rapo.algorithms.rapo import MEAN, NO_ADVNET, NO_BOLTZMANN, NO_BOTH, RAPO
from rapo.algorithms.rarl import RARL
from rapo.algorithms.spec import Algorithm
from rapo.errors import unknown

__all__ = ["ALGORITHMS", "Algorithm", "find_algorithm"]

ALGORITHMS: dict[str, Algorithm] = {
    a.name: a for a in (RAPO, NO_ADVNET, NO_BOLTZMANN, NO_BOTH, MEAN, PPO, PPO_DR, EPOPT, RARL)
}
"""The built-in algorithms by name."""


def find_algorithm(name: str) -> Algorithm:
    """The built-in algorithm called `name`."""
    if name not in ALGORITHMS:
        raise unknown("algorithm", name, ALGORITHMS)
    return ALGORITHMS[name]
