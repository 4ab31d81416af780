"""The algorithms by name: the built-in ones, and those of a user, as file.py:NAME."""

from dataclasses import replace

from rapo.algorithms.epopt import EPOPT
from rapo.algorithms.kernels import EWOK, RNAC, RNAC_NORM
from rapo.algorithms.ppo import PPO, PPO_DR
from rapo.algorithms.rapo import (
    EVERY_BRANCH,
    MEAN,
    MIXTURE,
    NO_ADVNET,
    NO_BOLTZMANN,
    NO_BOTH,
    NO_TILT,
    PAPER,
    PAPER_NO_ADVNET,
    PAPER_NO_BOLTZMANN,
    RANDOM_KERNEL,
    RAPO,
)
from rapo.algorithms.rarl import RARL
from rapo.algorithms.spec import Algorithm
from rapo.errors import InputError, unknown
from rapo.world.user_code import find_code, is_code

__all__ = ["ALGORITHMS", "Algorithm", "find_algorithm"]

ALGORITHMS: dict[str, Algorithm] = {
    a.name: a
    for a in (
        RAPO,
        NO_ADVNET,
        RANDOM_KERNEL,
        MIXTURE,
        NO_BOLTZMANN,
        NO_TILT,
        NO_BOTH,
        PAPER,
        PAPER_NO_ADVNET,
        PAPER_NO_BOLTZMANN,
        EVERY_BRANCH,
        MEAN,
        RNAC,
        RNAC_NORM,
        EWOK,
        PPO,
        PPO_DR,
        EPOPT,
        RARL,
    )
}
"""The built-in algorithms by name."""


def find_algorithm(name: str) -> Algorithm:
    """The built-in algorithm called `name`, or the one that file.py:NAME or package.module:NAME names."""
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    if not is_code(name):
        raise unknown("algorithm", name, ALGORITHMS)
    found = find_code(name)
    if not isinstance(found, Algorithm):
        where, _, what = name.rpartition(":")
        raise InputError(f"'{where}' has no algorithm '{what}': allowed is the name of a rapo.Algorithm")
    return replace(found, source=name)
