"""Random rows of next-state values; the dual of a row, other points of its KL ball, numerical derivatives.

A row is a few values V `[K]` under nominal weights p `[K]`, with a KL budget.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rapo.arrays import Floats
from rapo.tabular.ensemble import divergence
from rapo.theory.statements import tilting

COUNT = 2000
"""Rows in a check, if it asks for no other number."""
OUTCOMES = 8
"""Values in a row; rows of fewer values repeat some."""
ROUNDING = 1e-12
"""Allowed error of sums of a few numbers around 1, with room for cancellation."""


class Rows(NamedTuple):
    """n independent rows: values, their nominal weights and a KL budget each."""

    values: Floats
    """`[n, K]`."""
    weights: Floats
    """`[n, K]`."""
    budget: Floats
    """`[n]`."""

    @property
    def spread(self) -> Floats:
        """`[n]`, from the lowest value to the highest."""
        return np.ptp(self.values, axis=-1)

    @property
    def ceiling(self) -> Floats:
        """`[n]`, the budget from which on the lowest value alone is allowed: log(1 / its mass)."""
        return tilting.ceiling(self.values, self.weights)


def draw(rng: np.random.Generator, count: int = COUNT, *, beyond: float = 0.0) -> Rows:
    """Rows of 2 to 8 distinct values of any size and sign, some with even weights.

    Budgets lie between a thousandth and nine tenths of the row's ceiling; for a share `beyond` of the rows,
    between one and three ceilings.
    """
    distinct = rng.integers(2, OUTCOMES + 1, (count, 1))
    which = np.arange(OUTCOMES) % distinct
    heavy = rng.random((count, 1)) < 0.3
    shapes = np.where(heavy, rng.standard_t(2, (count, OUTCOMES)), rng.normal(size=(count, OUTCOMES)))
    values = np.take_along_axis(shapes, which, axis=1)
    values = values / np.ptp(values, axis=1, keepdims=True) + rng.normal(size=(count, 1))
    values = values * 10 ** rng.uniform(-1, 1, (count, 1))
    even = rng.random((count, 1)) < 0.3
    weights = np.where(even, 1 / OUTCOMES, rng.dirichlet(np.ones(OUTCOMES), count))
    share = np.where(
        rng.random(count) < beyond, rng.uniform(1, 3, count), 0.9 * 10 ** rng.uniform(-3, 0, count)
    )
    return Rows(values, weights, share * tilting.ceiling(values, weights))


def dual(values: ArrayLike, weights: ArrayLike, temperature: ArrayLike, budget: ArrayLike) -> Floats:
    """The dual function `[...]`: the entropic risk less budget / eta."""
    temperature = np.asarray(temperature, float)
    return tilting.tilted(values, weights, temperature).soft - np.asarray(budget, float) / temperature


def within(rng: np.random.Generator, rows: Rows, directions: int) -> Floats:
    """Weights `[directions, n, K]` at the edge of each row's KL ball, in random directions."""
    toward = rng.dirichlet(np.full(OUTCOMES, 0.3), (directions, len(rows.budget)))
    low, high = np.zeros(toward.shape[:-1]), np.ones(toward.shape[:-1])
    for _ in range(40):
        middle = 0.5 * (low + high)
        over = divergence(_between(rows.weights, toward, middle), rows.weights) > rows.budget
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return _between(rows.weights, toward, low)


def _between(start: Floats, end: Floats, share: Floats) -> Floats:
    return start + share[..., None] * (end - start)


def derivative(function: Callable[[Floats], Floats], at: Floats, step: Floats) -> Floats:
    """Of a function `[...] -> [...]`, by differences whose error is of fourth order in the step."""
    near = function(at + step) - function(at - step)
    far = function(at + 2 * step) - function(at - 2 * step)
    return (8 * near - far) / (12 * step)


def largest(values: ArrayLike) -> float:
    """The largest number of an array of any shape."""
    return float(np.max(np.asarray(values)))
