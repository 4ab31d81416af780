"""How dynamics are drawn: nominal ones, fresh ones from the training ranges, or from a mixture of models."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rapo.arrays import Floats
from rapo.errors import InputError
from rapo.world.dynamics import Dynamics
from rapo.world.simulator import FreshDynamics


@dataclass(frozen=True)
class Nominal:
    """Every episode under the nominal dynamics."""

    def ensemble(self, dynamics: Dynamics, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """The nominal model alone."""
        return dynamics.nominal(), np.ones(1)

    def fresh(self, dynamics: Dynamics, models: Floats, weights: Floats) -> FreshDynamics | None:
        """Nothing to draw."""
        return None


@dataclass(frozen=True)
class Uniform(Nominal):
    """Every episode under dynamics of its own, uniform in the training ranges: domain randomisation."""

    def fresh(self, dynamics: Dynamics, models: Floats, weights: Floats) -> FreshDynamics | None:
        """Uniform draws."""
        return dynamics.uniform


@dataclass(frozen=True)
class Ensemble:
    """K models spread over the training ranges."""

    models: int = 16
    """K, how many models."""
    spread: Literal["sobol", "latin", "corners"] = "sobol"
    """How they are spread: scrambled Sobol points, a Latin hypercube, or Sobol points of which half are moved
    to the corners of the ranges."""
    prior: tuple[float, ...] | None = None
    """Their prior weights; None means equal ones."""
    rollout: Literal["mixture", "nominal"] = "mixture"
    """Where episodes are played: each under one model of the mixture, or all under the nominal one."""

    def __post_init__(self) -> None:
        k = self.models
        if k < 1:
            raise InputError(f"an ensemble of {k} models was asked for: it needs at least 1")
        if self.prior is not None:
            weights = np.asarray(self.prior, np.float64)
            if len(weights) != k or not (weights >= 0).all() or not np.isclose(weights.sum(), 1):
                raise InputError(
                    f"the prior has {len(weights)} weights with sum {weights.sum():g}: "
                    f"it needs {k}, not negative, with sum 1"
                )

    def ensemble(self, dynamics: Dynamics, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """K models and their prior."""
        k = self.models
        prior = np.full(k, 1 / k) if self.prior is None else np.asarray(self.prior, np.float64)
        return dynamics.ensemble(k, rng, method=self.spread), prior / prior.sum()

    def fresh(self, dynamics: Dynamics, models: Floats, weights: Floats) -> FreshDynamics | None:
        """One of the models by its weight, for each episode."""
        if self.rollout == "nominal":
            return None
        p = np.asarray(weights, np.float64) / np.sum(weights, dtype=np.float64)
        return lambda n, rng: models[rng.choice(len(models), n, p=p)]
