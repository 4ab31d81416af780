"""The worst expectation within a chi-square or a total-variation ball, for many rows at once.

Both functions take values `[..., K]`, weights p `[..., K]` or `[K]` (0 for padding, which gets no weight) and
a budget `[...]` for each row or one for all, as `rapo.learner.dual.solve` does for KL. Neither iterates: a
sort finds which values keep their weight, and the rest is arithmetic. Rows of equal values and budgets of 0
give the mean. Budgets that allow it give the minimum, with the weight shared by all lowest values.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from rapo.learner import dual


class WorstExpectation(NamedTuple):
    """The worst expectation of every row, and the weights that attain it."""

    value: Array
    """`[...]`, the worst expectation."""
    weights: Array
    """`[..., K]`, the worst weights; also the gradient of the value with respect to the values."""
    rounding: Array
    """`[...]`, how far rounding may have moved the value; large for huge budgets and tiny variances."""


class _Rows(NamedTuple):
    """Rows in units of their own range, as both balls need them."""

    values: Array
    """`[..., K]`; values without weight are replaced by the lowest one."""
    height: Array
    """`[..., K]`, 0 for the lowest value and 1 for the highest; 1 for values without weight."""
    weights: Array
    budget: Array
    lowest: Array
    """`[..., K]`, whether a value is the lowest."""
    flat: Array


def chi_square(values: Array, weights: Array, budget: Array | float) -> WorstExpectation:
    """The lowest mean of each row under weights q with sum p (q/p - 1)^2 within the budget.

    These are q ~ p (c - value)_+ with a cut c. On the values below c, of mass P, mean m and variance s, the
    budget b is met by q = p/P (1 + (m - value) sqrt((P (1 + b) - 1) / s)).
    """
    rows = _rows(values, weights, budget)
    height, p = _sorted(rows)
    mass, beyond = jnp.cumsum(p, axis=-1), _after(p)
    mean = jnp.cumsum(p * height, axis=-1) / mass
    variance = jnp.cumsum(p * height**2, axis=-1) / mass - mean**2
    following = jnp.concatenate([height[..., 1:], jnp.full_like(height[..., :1], jnp.inf)], axis=-1)
    spare = mass * rows.budget[..., None] - beyond
    # The cut c of the values up to here lies before the next value.
    complete = (spare > 0) & (spare * (following - mean) ** 2 >= variance) & (following > height)
    last = jnp.argmax(complete.at[..., -1].set(True), axis=-1, keepdims=True)

    kept = rows.height <= jnp.take_along_axis(height, last, axis=-1)
    p = jnp.where(kept, rows.weights, 0)
    mass = p.sum(axis=-1, keepdims=True)
    spare = mass * rows.budget[..., None] - jnp.where(kept, 0, rows.weights).sum(axis=-1, keepdims=True)
    below = (p * rows.height).sum(axis=-1, keepdims=True) / mass - rows.height
    variance = (p * below**2).sum(axis=-1, keepdims=True) / mass
    slope = jnp.sqrt(jnp.maximum(spare, 0) / jnp.where(variance > 0, variance, 1))
    q = p * jnp.maximum(1 + below * slope, 0)
    reach = 1 / _lowest_mass(rows) - 1
    rounding = 8 * jnp.finfo(values.dtype).eps * slope[..., 0] * jnp.ptp(rows.values, axis=-1)
    return _worst(rows, q / q.sum(axis=-1, keepdims=True), rows.budget >= reach, rounding)


def total_variation(values: Array, weights: Array, budget: Array | float) -> WorstExpectation:
    """The lowest mean of each row under weights q with 1/2 sum |q - p| within the budget.

    The budget is the mass that moves from the highest values to the lowest; values without weight get none.
    """
    rows = _rows(values, weights, budget)
    height, p = _sorted(rows)
    cut = jnp.argmax(_after(p) <= rows.budget[..., None], axis=-1, keepdims=True)
    cut = jnp.take_along_axis(height, cut, axis=-1)
    at_cut = jnp.where(rows.height == cut, rows.weights, 0)
    above = jnp.where(rows.height > cut, rows.weights, 0).sum(axis=-1)
    taken = (rows.budget - above) / at_cut.sum(axis=-1)
    kept = jnp.where(rows.height < cut, rows.weights, 0) + at_cut * jnp.clip(1 - taken, 0, 1)[..., None]
    lowest_mass = _lowest_mass(rows)
    moved = jnp.where(rows.lowest, rows.weights, 0) * (rows.budget / lowest_mass)[..., None]
    return _worst(rows, kept + moved, rows.budget >= 1 - lowest_mass, jnp.zeros_like(rows.budget))


def _rows(values: Array, weights: Array, budget: Array | float) -> _Rows:
    weights = jnp.broadcast_to(weights, values.shape)
    possible = weights > 0
    floor = jnp.min(jnp.where(possible, values, jnp.inf), axis=-1, keepdims=True)
    top = jnp.max(jnp.where(possible, values, -jnp.inf), axis=-1, keepdims=True)
    values = jnp.where(possible, values, floor)
    flat = top - floor <= 16 * jnp.finfo(values.dtype).eps * jnp.maximum(jnp.abs(top), jnp.abs(floor))
    height = jnp.where(possible, (values - floor) / jnp.where(flat, 1, top - floor), 1)
    budget = jnp.broadcast_to(jnp.asarray(budget, values.dtype), flat.shape[:-1])
    return _Rows(values, height, weights, budget, possible & (values == floor), flat[..., 0])


def _sorted(rows: _Rows) -> tuple[Array, Array]:
    """Heights and weights `[..., K]` from the lowest to the highest."""
    order = jnp.argsort(rows.height, axis=-1)
    return jnp.take_along_axis(rows.height, order, -1), jnp.take_along_axis(rows.weights, order, -1)


def _after(p: Array) -> Array:
    """The mass `[..., K]` that follows each entry."""
    from_here = jnp.flip(jnp.cumsum(jnp.flip(p, axis=-1), axis=-1), axis=-1)
    return jnp.concatenate([from_here[..., 1:], jnp.zeros_like(p[..., :1])], axis=-1)


def _lowest_mass(rows: _Rows) -> Array:
    return jnp.where(rows.lowest, rows.weights, 0).sum(axis=-1)


def _worst(rows: _Rows, q: Array, minimum: Array, rounding: Array) -> WorstExpectation:
    """The result, with the exact answer where it is the mean or the minimum."""
    mean_only = rows.flat | (rows.budget <= 0)
    minimum = ~mean_only & minimum
    only_lowest = jnp.where(rows.lowest, rows.weights, 0) / _lowest_mass(rows)[..., None]
    q = jnp.where(mean_only[..., None], rows.weights, jnp.where(minimum[..., None], only_lowest, q))
    value = jnp.where(minimum, rows.values.min(axis=-1), dual.expectation(rows.values, q))
    return WorstExpectation(value, q, jnp.where(mean_only | minimum, 0, rounding))
