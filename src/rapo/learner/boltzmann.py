"""Boltzmann reweighting: moving the mixture of models toward those that hurt the policy most.

w ~ rho exp(-beta h) with scores h (the value a model leaves the policy with) and beta such that
KL(w || rho) = kappa: the same tilt as `dual`, over models instead of next states.
"""

from typing import NamedTuple

from rapo.heavy import Array, jnp
from rapo.learner import dual


class MixtureTilt(NamedTuple):
    """Weights of K models tilted by their scores."""

    weights: Array
    """`[K]`, the tilted weights."""
    temperature: Array
    """`[]`, beta; 0 where nothing is tilted."""
    kl: Array
    """`[]`, the part of the budget that is used."""


class MovingScores(NamedTuple):
    """A moving average of each model's scores, corrected for having started at 0."""

    total: Array
    """`[K]`, exponentially weighted sum of the scores."""
    weight: Array
    """`[K]`, the sum of the exponential weights."""

    @property
    def average(self) -> Array:
        """`[K]`, the average scores; a model without any has the mean of the others, or 0."""
        seen = self.weight > 0
        each = jnp.where(seen, self.total / jnp.where(seen, self.weight, 1), 0)
        return jnp.where(seen, each, each.sum() / jnp.maximum(seen.sum(), 1))


def no_scores(models: int) -> MovingScores:
    """Scores of K models of which nothing is known."""
    return MovingScores(jnp.zeros(models), jnp.zeros(models))


def observe(scores: MovingScores, values: Array, counted: Array | bool, rate: float) -> MovingScores:
    """Take in the values `[B, K]` of one update, those that are `counted` `[B, K]`; either may be `[B, 1]`.

    A rate of 1 forgets earlier values. A model of which nothing is counted keeps its score.
    """
    values, counted = jnp.broadcast_arrays(values, counted)
    seen = jnp.where(counted, values, 0).sum(axis=0) / jnp.maximum(counted.sum(axis=0), 1)
    share = jnp.where(counted.any(axis=0), rate, 0.0)
    return MovingScores((1 - share) * scores.total + share * seen, (1 - share) * scores.weight + share)


def reweight(prior: Array, scores: Array, budget: Array | float) -> MixtureTilt:
    """The weights `[K]` of the lowest mean score within the KL budget around the prior `[K]`.

    A budget of 0 gives the prior; a large enough one puts all weight on the hardest models.
    """
    worst = dual.solve(scores, prior, budget)
    return MixtureTilt(worst.weights, worst.temperature, worst.kl)


def at_temperature(prior: Array, scores: Array, temperature: Array) -> MixtureTilt:
    """The weights `[K]` at a temperature beta `[]` in units of one over the spread of the scores."""
    mean = jnp.sum(prior * scores)
    spread = jnp.sqrt(jnp.sum(prior * (scores - mean) ** 2))
    beta = jnp.where(spread > 0, temperature / jnp.where(spread > 0, spread, 1), 0)
    return MixtureTilt(dual.tilt(scores, prior, beta), beta, dual.kl(scores, prior, beta))


def limit(old: Array, new: Array, fastest: float) -> Array:
    """`new` weights `[K]`, or as far on the way there from `old` as `fastest` total variation allows."""
    distance = 0.5 * jnp.abs(new - old).sum()
    share = jnp.minimum(1, fastest / jnp.maximum(distance, jnp.finfo(new.dtype).tiny))
    return old + share * (new - old)
