"""Rollouts that go on from one of several simulated branches: the exact tilt, double sampling, resampling.

At every step each environment is simulated under some models, their values decide how likely each branch is,
and the environment goes on from the branch that is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from rapo.arrays import Floats, Ids
from rapo.heavy import Array, jnp
from rapo.learner import dual
from rapo.learner.budget import Budget
from rapo.ranges import COUNT, POSITIVE, check_ranges


@dataclass(frozen=True)
class EveryBranch:
    """Every model is simulated, and a branch drawn from the mixture tilted within a KL budget of epsilon."""

    epsilon: Budget = Budget(0.5)
    """KL budget of a step."""

    def candidates(self, rng: np.random.Generator, weights: Floats, rows: int) -> Ids | None:
        """None: all models are simulated."""
        return None

    def chances(self, values: Array, weights: Array, progress: Array) -> Array:
        """The tilted weights `[N, K]` for branch values `[N, K]`."""
        return dual.solve(values, weights, self.epsilon.at(progress)).weights


@dataclass(frozen=True)
class FewBranches:
    """A few models are drawn from the mixture and simulated."""

    drawn_models: Annotated[int, COUNT] = 2
    """Models drawn from the mixture for each step, m."""

    def __post_init__(self) -> None:
        check_ranges(self)

    def candidates(self, rng: np.random.Generator, weights: Floats, rows: int) -> Ids | None:
        """Models `[N, m]` drawn from the mixture with replacement."""
        return rng.choice(len(weights), (rows, self.drawn_models), p=weights)


@dataclass(frozen=True)
class DoubleSampling(FewBranches):
    """RNAC's double sampling: of a few branches each has chance 1 / (m + 1), the worst twice that."""

    def chances(self, values: Array, weights: Array, progress: Array) -> Array:
        """Chances `[N, m]`, of which the lowest value has two shares."""
        m = values.shape[1]
        worst = jnp.arange(m) == jnp.argmin(values, axis=1, keepdims=True)
        return (1.0 + worst) / (m + 1)


@dataclass(frozen=True)
class Resampling(FewBranches):
    """EWoK's resampling: of a few branches one is drawn with chance ~ exp(-(G - mean G) / temperature)."""

    drawn_models: Annotated[int, COUNT] = 5
    """Models drawn from the mixture for each step, m."""
    resample_temperature: Annotated[float, POSITIVE] = 0.01
    """How many units of scaled value make a branch less likely by a factor e; lower is more adversarial."""

    def chances(self, values: Array, weights: Array, progress: Array) -> Array:
        """Chances `[N, m]` that fall with the value."""
        eta = jnp.full(len(values), 1 / self.resample_temperature)
        return dual.tilt(values, jnp.full(values.shape, 1 / values.shape[1]), eta)
