"""Robust expectation and reweighting for use outside a training run, in double precision, on plain arrays."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rapo.arrays import Floats
from rapo.errors import InputError
from rapo.heavy import compiled, jax
from rapo.learner import boltzmann, dual

_solve_compiled = compiled()(dual.solve)
_reweight_compiled = compiled()(boltzmann.reweight)


class RobustValue(NamedTuple):
    """The worst expectation of rows of values within a KL ball around their weights."""

    value: Floats
    """`[...]`, the worst expectation."""
    temperature: Floats
    """`[...]`, how sharply the weights are tilted: eta* in exp(-eta* value); 0 where they are not tilted."""
    kl: Floats
    """`[...]`, the part of the budget that is used."""
    weights: Floats
    """`[..., K]`, the worst-case weights."""
    gap: Floats
    """`[...]`, dual minus primal value: 0 where the solution is exact."""


class Reweighted(NamedTuple):
    """The weights of K models that have the lowest mean score within a KL ball around a prior."""

    weights: Floats
    """`[K]`, the tilted weights."""
    temperature: float
    """How sharply the weights are tilted: beta in exp(-beta score)."""
    kl: float
    """The part of the budget that is used."""


def robust_value(values: ArrayLike, weights: ArrayLike | None = None, *, budget: ArrayLike) -> RobustValue:
    """The lowest mean of each row of values `[..., K]` under any weights within a KL budget of `weights`.

    weights: `[..., K]` or `[K]`, uniform if not given; budget: one for all rows or one for each.
    """
    rows = np.asarray(values, np.float64)
    if rows.ndim < 1 or rows.shape[-1] < 1 or not np.isfinite(rows).all():
        raise InputError(f"values of shape {rows.shape} were given: allowed are rows of finite numbers")
    weights = np.full(rows.shape[-1], 1 / rows.shape[-1]) if weights is None else weights
    solved = _solve(rows, _distribution(weights, rows.shape, "weights"), _budget(budget, rows.shape[:-1]))
    return RobustValue(*solved)


def reweight(prior: ArrayLike, scores: ArrayLike, budget: float) -> Reweighted:
    """The weights `[K]` of the lowest mean of `scores` `[K]` within a KL budget of `prior` `[K]`."""
    scores = np.asarray(scores, np.float64)
    if scores.ndim != 1 or not len(scores) or not np.isfinite(scores).all():
        raise InputError(f"scores of shape {scores.shape} were given: allowed is one row of finite numbers")
    prior = _distribution(prior, scores.shape, "prior")
    with jax.enable_x64(True):
        mixture = _reweight_compiled(prior, scores, _budget(budget, ()))
        return Reweighted(np.asarray(mixture.weights), float(mixture.temperature), float(mixture.kl))


def _solve(values: Floats, weights: Floats, budget: Floats) -> tuple[Floats, ...]:
    with jax.enable_x64(True):
        return tuple(np.asarray(x) for x in _solve_compiled(values, weights, budget))


def _distribution(weights: ArrayLike, shape: tuple[int, ...], name: str) -> Floats:
    weights = np.asarray(weights, np.float64)
    if weights.shape not in (shape, shape[-1:]):
        raise InputError(f"{name} of shape {weights.shape} were given: allowed are {shape[-1:]} and {shape}")
    sums = weights.sum(axis=-1, keepdims=True)
    if not (weights >= 0).all() or not np.allclose(sums, 1, rtol=0, atol=1e-6):
        raise InputError(f"{name} must be distributions: not negative, and each row summing to 1")
    return weights / sums


def _budget(budget: ArrayLike, shape: tuple[int, ...]) -> Floats:
    budget = np.asarray(budget, np.float64)
    if budget.shape not in ((), shape):
        raise InputError(f"budgets of shape {budget.shape} were given: allowed are one number and {shape}")
    if not np.isfinite(budget).all() or (budget < 0).any():
        raise InputError(f"KL budget {budget.min():g} was given: allowed are finite numbers from 0")
    return budget
