"""Under which dynamics episodes are played: the nominal ones, random ones, or a mixture of models."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from rapo.arrays import Floats
from rapo.errors import InputError
from rapo.ranges import COUNT, SHARE, check_ranges
from rapo.world.dynamics import Dynamics
from rapo.world.simulator import FreshDynamics


@dataclass(frozen=True)
class Nominal:
    """Every episode is played under the nominal dynamics."""

    def ensemble(self, dynamics: Dynamics, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """An ensemble of one model `[1, P]`, the nominal one, with weight 1."""
        return dynamics.nominal(), np.ones(1)

    def fresh(self, dynamics: Dynamics, models: Floats, weights: Floats) -> FreshDynamics | None:
        """None: episodes keep the nominal dynamics."""
        return None


@dataclass(frozen=True)
class Uniform(Nominal):
    """Domain randomisation: dynamics drawn uniformly from the training ranges for every episode."""

    def fresh(self, dynamics: Dynamics, models: Floats, weights: Floats) -> FreshDynamics | None:
        """A function that draws dynamics uniformly from the training ranges."""
        return dynamics.uniform


@dataclass(frozen=True)
class Ensemble:
    """K models spread over the training ranges, or given by hand."""

    models: Annotated[int, COUNT] | tuple[tuple[float, ...], ...] = 16
    """Number of models in the ensemble, K, or the models themselves: a CSV file with a column for each
    parameter, or an array `[K, P]` in Python."""
    spread: Literal["sobol", "latin", "corners"] = "sobol"
    """How the models are spread over the training ranges: scrambled Sobol points, a Latin hypercube, or Sobol
    points of which half are moved to the corners of the ranges."""
    prior: Annotated[tuple[float, ...], SHARE] | None = None
    """Prior weights of the models, as many as there are models; none means equal weights."""
    rollout: Literal["mixture", "nominal", "tilted"] = "mixture"
    """Where episodes are played: each under a model drawn from the mixture, all under the nominal one, or,
    with such a model, every step under dynamics that are tilted toward the worse ones."""

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.prior is not None:
            weights = np.asarray(self.prior, np.float64)
            if len(weights) != self.count or not np.isclose(weights.sum(), 1):
                raise InputError(
                    f"option prior has {len(weights)} weights with sum {weights.sum():g}: allowed are as "
                    f"many weights as there are models, {self.count}, with sum 1"
                )

    def ensemble(self, dynamics: Dynamics, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """K models `[K, P]` and their prior weights `[K]`."""
        k = self.count
        prior = np.full(k, 1 / k) if self.prior is None else np.asarray(self.prior, np.float64)
        if isinstance(self.models, tuple):
            models = dynamics.check(self.models)
        else:
            models = dynamics.ensemble(k, rng, method=self.spread)
        return models, prior / prior.sum()

    @property
    def count(self) -> int:
        """K."""
        return len(self.models) if isinstance(self.models, tuple) else self.models

    def fresh(self, dynamics: Dynamics, models: Floats, weights: Floats) -> FreshDynamics | None:
        """A function that draws a model for each episode by its weight; None for nominal episodes."""
        if self.rollout == "nominal":
            return None
        p = np.asarray(weights, np.float64) / np.sum(weights, dtype=np.float64)
        return lambda n, rng: models[rng.choice(len(models), n, p=p)]
