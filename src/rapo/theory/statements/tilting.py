"""Tilted weights at a given temperature, in plain NumPy, and the worst expectation of rows of any shape.

The formulas are written out here once more, apart from the learner's, so that tests can compare the two. All
functions take values `[..., K]`, and weights and temperatures that broadcast against them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rapo.arrays import Floats
from rapo.robust import RobustValue, robust_value

BLOCK = (512, 8)
"""Rows, and values of a row, that the solver gets at a time: padded to one shape, it is compiled once."""


class Tilted(NamedTuple):
    """Tilted weights, and the moments of the values under them; all `[...]` but the weights."""

    weights: Floats
    """`[..., K]`, q ~ p exp(-eta V)."""
    log_partition: Floats
    """log sum p exp(-eta V)."""
    kl: Floats
    """KL(q || p)."""
    mean: Floats
    """Of V under q."""
    variance: Floats
    """Of V under q."""
    soft: Floats
    """The entropic risk, -1/eta log sum p exp(-eta V); the mean at temperature 0."""


def distributions(rng: np.random.Generator, *shape: int) -> Floats:
    """Random distributions along the last axis, every entry well above 0."""
    drawn = 0.02 + rng.dirichlet(np.ones(shape[-1]), shape[:-1])
    return drawn / drawn.sum(axis=-1, keepdims=True)


def tilted(values: ArrayLike, weights: ArrayLike, temperature: ArrayLike) -> Tilted:
    """Values `[..., K]` with weights `[..., K]`, tilted at temperatures `[...]`."""
    values, weights = np.asarray(values, np.float64), np.asarray(weights, np.float64)
    eta = np.asarray(temperature, np.float64)
    values, weights = np.broadcast_arrays(values, weights)
    lowest = np.where(weights > 0, values, np.inf).min(axis=-1)
    above = np.where(weights > 0, values - lowest[..., None], 0)
    exponent = -eta[..., None] * above
    raised = weights * np.exp(exponent)
    total = raised.sum(axis=-1)
    # Near temperature 0 the partition is close to 1, and its logarithm is small but matters.
    excess = np.maximum((weights * np.expm1(exponent)).sum(axis=-1), -0.9)
    shifted = np.where(total > 0.5, np.log1p(excess), np.log(total))
    q = raised / total[..., None]
    mean = np.sum(q * above, axis=-1)
    variance = np.sum(q * (above - mean[..., None]) ** 2, axis=-1)
    soft = lowest + np.where(eta > 0, -shifted / np.where(eta > 0, eta, 1), mean)
    return Tilted(q, shifted - eta * lowest, -shifted - eta * mean, mean + lowest, variance, soft)


def curvature(tilt: Tilted, temperature: Floats, budget: Floats | float) -> Floats:
    """The second derivative `[...]` of the dual, from a tilt at these temperatures."""
    return -tilt.variance / temperature - 2 * (budget - tilt.kl) / temperature**3


def ceiling(values: ArrayLike, weights: ArrayLike) -> Floats:
    """`[...]`, the budget that allows all weight on the lowest value: log(1 / its nominal mass)."""
    values = np.asarray(values, np.float64)
    return -np.log(np.where(values == values.min(axis=-1, keepdims=True), weights, 0).sum(axis=-1))


def worst(values: ArrayLike, weights: ArrayLike, budget: ArrayLike) -> RobustValue:
    """`rapo.robust_value` of rows `[..., K]` of at most 8 values, with budgets `[...]`, block by block."""
    values, weights = np.asarray(values, np.float64), np.asarray(weights, np.float64)
    shape = np.broadcast_shapes(values.shape, weights.shape, (*np.shape(budget), 1))
    values, weights = np.broadcast_to(values, shape), np.broadcast_to(weights, shape)
    budget = np.broadcast_to(np.asarray(budget, np.float64), shape[:-1])
    rows, size = budget.size, values.shape[-1]
    padded = (-rows % BLOCK[0], BLOCK[1] - size)
    value = np.pad(values.reshape(rows, size), ((0, padded[0]), (0, padded[1])))
    weight = np.pad(weights.reshape(rows, size), ((0, padded[0]), (0, padded[1])))
    weight[rows:, 0] = 1
    limit = np.pad(budget.ravel(), (0, padded[0]))
    parts = [
        robust_value(value[i : i + BLOCK[0]], weight[i : i + BLOCK[0]], budget=limit[i : i + BLOCK[0]])
        for i in range(0, len(value), BLOCK[0])
    ]
    solved = RobustValue(*(np.concatenate(field)[:rows] for field in zip(*parts, strict=True)))
    single = (field.reshape(budget.shape) for field in solved._replace(weights=solved.value))
    return RobustValue(*single)._replace(weights=solved.weights[:, :size].reshape(shape))
