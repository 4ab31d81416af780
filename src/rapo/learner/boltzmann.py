"""Boltzmann reweighting: moving the mixture of models toward those that hurt the policy most.

w ~ rho exp(-beta h) with scores h (the value a model leaves the policy with) and beta such that
KL(w || rho) = kappa: the same tilt as `dual`, over models instead of next states.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

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
    """A moving average of the models' scores, without the pull toward where it started."""

    total: Array
    """`[K]`, exponentially weighted sum."""
    weight: Array
    """`[]`, the sum of those weights."""

    @property
    def average(self) -> Array:
        """`[K]`; 0 before anything was seen."""
        return self.total / jnp.maximum(self.weight, jnp.finfo(self.weight.dtype).tiny)


def no_scores(models: int) -> Scores:
    """Scores of K models of which nothing is known."""
    return Scores(jnp.zeros(models), jnp.zeros(()))


def observe(scores: Scores, values: Array, rate: float, rows: Array | None = None) -> Scores:
    """Take in values `[B, K]` of one update, or some `rows` `[B]` of them; a rate of 1 forgets earlier ones.

    All models are scored on the same rows, so that none looks bad for having met harder states.
    """
    rows = jnp.ones(len(values), bool) if rows is None else rows
    seen = jnp.where(rows[:, None], values, 0).sum(axis=0) / jnp.maximum(rows.sum(), 1)
    share = jnp.where(rows.any(), rate, 0.0)
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
