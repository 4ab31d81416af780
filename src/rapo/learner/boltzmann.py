"""Boltzmann reweighting: moving the mixture of models toward those that hurt the policy most.

w ~ rho exp(-beta h) with scores h (the value a model leaves the policy with) and beta such that
KL(w || rho) = kappa: the same tilt as `dual`, over models instead of next states.
"""

from typing import NamedTuple

from rapo.heavy import Array, jnp
from rapo.learner import dual


class Mixture(NamedTuple):
    """Weights over K models and how they came about."""

    weights: Array
    """`[K]`."""
    temperature: Array
    """`[]`, beta; 0 where nothing is tilted."""
    kl: Array
    """`[]`, the part of the budget that is used."""


class Scores(NamedTuple):
    """A moving average of each model's scores, without the pull toward where it started."""

    total: Array
    """`[K]`, exponentially weighted sum."""
    weight: Array
    """`[K]`, the sum of those weights."""

    @property
    def average(self) -> Array:
        """`[K]`; a model that was never seen has the mean of the others, and 0 where none was."""
        seen = self.weight > 0
        each = jnp.where(seen, self.total / jnp.where(seen, self.weight, 1), 0)
        return jnp.where(seen, each, each.sum() / jnp.maximum(seen.sum(), 1))


def no_scores(models: int) -> Scores:
    """Scores of K models of which nothing is known."""
    return Scores(jnp.zeros(models), jnp.zeros(models))


def observe(scores: Scores, values: Array, counted: Array | bool, rate: float) -> Scores:
    """Take in the values `[B, K]` of one update, those that are `counted` `[B, K]`; either may be `[B, 1]`.

    A rate of 1 forgets earlier ones. A model of which nothing is counted keeps its score.
    """
    values, counted = jnp.broadcast_arrays(values, counted)
    seen = jnp.where(counted, values, 0).sum(axis=0) / jnp.maximum(counted.sum(axis=0), 1)
    share = jnp.where(counted.any(axis=0), rate, 0.0)
    return Scores((1 - share) * scores.total + share * seen, (1 - share) * scores.weight + share)


def reweight(prior: Array, scores: Array, budget: Array | float) -> Mixture:
    """The weights `[K]` of the lowest mean score within the KL budget around the prior `[K]`.

    A budget of 0 gives the prior; one that allows it, the hardest models alone.
    """
    worst = dual.solve(scores, prior, budget)
    return Mixture(worst.weights, worst.temperature, worst.kl)


def at_temperature(prior: Array, scores: Array, temperature: Array) -> Mixture:
    """The weights `[K]` at a temperature beta `[]` in units of one over the spread of the scores."""
    mean = jnp.sum(prior * scores)
    spread = jnp.sqrt(jnp.sum(prior * (scores - mean) ** 2))
    beta = jnp.where(spread > 0, temperature / jnp.where(spread > 0, spread, 1), 0)
    return Mixture(dual.tilt(scores, prior, beta), beta, dual.kl(scores, prior, beta))


def limit(old: Array, new: Array, fastest: float) -> Array:
    """`new` weights `[K]`, or as far on the way there from `old` as `fastest` total variation allows."""
    distance = 0.5 * jnp.abs(new - old).sum()
    share = jnp.minimum(1, fastest / jnp.maximum(distance, jnp.finfo(new.dtype).tiny))
    return old + share * (new - old)
