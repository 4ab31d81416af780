"""Which trajectories the policy learns from: all of them, or the worst."""

from dataclasses import dataclass
from typing import Annotated

from rapo.algorithms.spec import Trajectories
from rapo.heavy import Array, jnp
from rapo.learner.worst_trajectories import among_worst
from rapo.ranges import POSITIVE_SHARE, SHARE, check_ranges


@dataclass(frozen=True)
class Everything:
    """The policy learns from every trajectory."""

    def __call__(self, trajectories: Trajectories) -> Array:
        """Weights of 1 for all steps `[T, N]`."""
        return jnp.ones_like(trajectories.worth)


@dataclass(frozen=True)
class Worst:
    """The policy learns from the worst trajectories only, once a warm-up is over."""

    fraction: Annotated[float, POSITIVE_SHARE] = 0.1
    """Share of trajectories, the worst ones, that the policy learns from after the warm-up."""
    warm_up: Annotated[float, SHARE] = 0.5
    """Share of training, at its beginning, in which the policy learns from all trajectories."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def __call__(self, trajectories: Trajectories) -> Array:
        """Weights `[T, N]`: 1 for steps of the worst trajectories, else 0."""
        fraction = jnp.where(trajectories.progress < self.warm_up, 1.0, self.fraction)
        kept = among_worst(trajectories.worth, trajectories.ended, fraction)
        return kept.astype(trajectories.worth.dtype)
