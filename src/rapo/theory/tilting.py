"""Tilted weights at a given temperature, in plain NumPy, and the worst expectation of rows of any shape.

What the checks of ensembles and of sampling share. Written out apart from the learner, so that one is a check
of the other; all functions take values `[..., K]`, weights and temperatures that broadcast against it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rapo.robust import robust_value

Floats = NDArray[np.float64]

BLOCK = (512, 8)
"""Rows and their length as they are given to the solver, padded, so that it is compiled but once."""


class Worst(NamedTuple):
    """The worst expectation of rows, as `rapo.robust_value` has it."""

    value: Floats
    """`[...]`."""
    temperature: Floats
    """`[...]`."""
    kl: Floats
    """`[...]`."""
    weights: Floats
    """`[..., K]`."""


class Tilted(NamedTuple):
    """A tilt, and the moments of the values under it."""

    weights: Floats
    """`[..., K]`."""
    log_partition: Floats
    """`[...]`, log sum p exp(-eta V)."""
    kl: Floats
    """`[...]`, from the weights that were tilted."""
    mean: Floats
    """`[...]`."""
    variance: Floats
    """`[...]`."""


def distributions(rng: np.random.Generator, *shape: int) -> Floats:
    """Random distributions along the last axis, every entry well above 0."""
    drawn = 0.02 + rng.dirichlet(np.ones(shape[-1]), shape[:-1])
    return drawn / drawn.sum(axis=-1, keepdims=True)


def tilted(values: ArrayLike, weights: ArrayLike, temperature: ArrayLike) -> Tilted:
    """Values `[..., K]` with weights `[..., K]`, tilted at temperatures `[...]`."""
    values, weights = np.asarray(values, np.float64), np.asarray(weights, np.float64)
    eta = np.asarray(temperature, np.float64)[..., None]
    values, weights = np.broadcast_arrays(values, weights)
    lowest = np.where(weights > 0, values, np.inf).min(axis=-1, keepdims=True)
    above = np.where(weights > 0, values - lowest, 0)
    raised = weights * np.exp(-eta * above)
    total = raised.sum(axis=-1, keepdims=True)
    q = raised / total
    mean = np.sum(q * above, axis=-1)
    variance = np.sum(q * (above - mean[..., None]) ** 2, axis=-1)
    shifted = np.log(total[..., 0])
    log_partition = shifted - eta[..., 0] * lowest[..., 0]
    return Tilted(q, log_partition, -shifted - eta[..., 0] * mean, mean + lowest[..., 0], variance)


def worst(values: ArrayLike, weights: ArrayLike, budget: ArrayLike) -> Worst:
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
    return Worst(
        np.concatenate([part.value for part in parts])[:rows].reshape(budget.shape),
        np.concatenate([part.temperature for part in parts])[:rows].reshape(budget.shape),
        np.concatenate([part.kl for part in parts])[:rows].reshape(budget.shape),
        np.concatenate([part.weights for part in parts])[:rows, :size].reshape(shape),
    )
