"""The benchmark of value iteration: a robust sweep over all states beside an ordinary one, taking turns.

The MDP is random, 1,000 states with 10 actions of 50 successors each. As in value iteration, every sweep goes
on from the values and the temperatures of the sweep before.
"""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from rapo.bench import take_turns, timed, typical
from rapo.tabular import operator
from rapo.tabular.classic import random_mdp
from rapo.tabular.operator import Ball, Model
from rapo.tabular.solve import sweep

STATES, ACTIONS, SUCCESSORS = 1000, 10, 50
BUDGET = 0.1
WARM_UP = 20
"""Sweeps before the first turn."""


@dataclass(frozen=True)
class ValueIterationRow:
    """One line of the benchmark: robust sweeps with one kind of ball."""

    ball: str
    """The kind of ball; `solved anew` where temperatures do not start from those of the sweep before."""
    seconds: float
    """Of a robust sweep."""
    plain_seconds: float
    """Of an ordinary sweep."""
    ratio: float
    """`seconds` over `plain_seconds`."""
    rows_per_second: float
    """Pairs of state and action solved in a second of robust sweeps."""


def measure(ball: Ball, seconds: float, anew: bool = False) -> ValueIterationRow:
    """One kind of ball, for about so many seconds; `anew` ignores the temperatures of the sweep before."""
    mdp = random_mdp(np.random.default_rng(0), STATES, ACTIONS, SUCCESSORS, discount=0.99)
    with jax.enable_x64(True):
        model = operator.model(mdp, BUDGET)
        robust, plain = _Sweeps(model, ball, anew), _Sweeps(model, None)
        for _ in range(WARM_UP):
            robust()
            plain()
        turns = take_turns(seconds, lambda: None, lambda: timed(plain), lambda: timed(robust))
    plain_seconds, robust_seconds = typical(turns)
    pairs = STATES * ACTIONS
    name = f"{ball}, solved anew" if anew else ball
    return ValueIterationRow(
        name, robust_seconds, plain_seconds, robust_seconds / plain_seconds, pairs / robust_seconds
    )


class _Sweeps:
    """Value iteration: each call is one sweep."""

    def __init__(self, model: Model, ball: Ball | None, anew: bool = False) -> None:
        self._sweep = jax.jit(partial(_advance, ball=ball, anew=anew))
        self._model = model
        self._value = jnp.zeros(STATES)
        self._temperature = jnp.zeros((STATES, ACTIONS))

    def __call__(self) -> None:
        moved = self._sweep(self._model, self._value, self._temperature)
        self._value, self._temperature = jax.block_until_ready(moved)


def _advance(
    model: Model, value: Array, temperature: Array, ball: Ball | None, anew: bool
) -> tuple[Array, Array]:
    if anew and ball is not None:
        lower, _, temperature = operator.apply(model, value, ball)[:3]
    else:
        lower, _, temperature = sweep(model, value, temperature, ball)
    return lower.max(axis=1), temperature
