"""Which trajectories count: all of them, or the worst."""

from dataclasses import dataclass

from rapo.algorithms.spec import Trajectories
from rapo.errors import InputError
from rapo.heavy import Array, jnp
from rapo.learner.worst_trajectories import among_worst


@dataclass(frozen=True)
class Everything:
    """Every trajectory counts."""

    def __call__(self, trajectories: Trajectories) -> Array:
        """Ones."""
        return jnp.ones_like(trajectories.worth)


@dataclass(frozen=True)
class Worst:
    """Only the worst trajectories count, once a warm-up is over."""

    fraction: float = 0.1
    """The share of trajectories that counts."""
    warm_up: float = 0.5
    """The share of training before that, in which all of them count."""

    def __post_init__(self) -> None:
        if not 0 < self.fraction <= 1 or not 0 <= self.warm_up <= 1:
            raise InputError(
                f"the worst {self.fraction:g} of trajectories after {self.warm_up:g} of training were asked "
                "for: allowed are fractions above 0 and warm-ups from 0, both up to 1"
            )

    def __call__(self, trajectories: Trajectories) -> Array:
        """Ones for the worst trajectories."""
        fraction = jnp.where(trajectories.progress < self.warm_up, 1.0, self.fraction)
        kept = among_worst(trajectories.worth, trajectories.ended, fraction)
        return kept.astype(trajectories.worth.dtype)
