"""The robust Bellman operator on all pairs of state and action at once, with bounds on its own error.

    r(s, a) + gamma * the lowest mean of V(s') under any p(. | s, a) in a ball around the nominal one

The ball is one of KL divergence, solved by the function that the learner uses, or for comparison one of
chi-square divergence or total variation. From sweep to sweep `apply_again` improves the temperatures of the
sweep before instead of solving anew. A temperature that is not quite optimal still gives bounds on the value:
the dual from below, a feasible distribution from above.
"""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from rapo.arrays import Floats
from rapo.errors import InputError
from rapo.learner import dual
from rapo.tabular import balls
from rapo.tabular.mdp import Mdp, numbers

Ball = Literal["kl", "chi-square", "total-variation"]
BALLS: tuple[Ball, ...] = ("kl", "chi-square", "total-variation")


class Model(NamedTuple):
    """An MDP and its budget as JAX arrays."""

    rewards: Array
    """`[S, A]`."""
    successors: Array
    """`[S, A, M]`."""
    probabilities: Array
    """`[S, A, M]`."""
    discount: Array
    """`[]`."""
    budget: Array
    """`[S, A]`, or `[]`."""


class Backup(NamedTuple):
    """The result of the operator for every pair of state and action, all `[S, A]` but the last."""

    lower: Array
    """A lower bound on the true result."""
    upper: Array
    """An upper bound on the true result."""
    temperature: Array
    """The temperature of the tilt; 0 in balls other than KL."""
    weights: Array
    """`[S, A, M]`, the worst probabilities of the successors."""


def model(mdp: Mdp, budget: ArrayLike) -> Model:
    """An MDP and its budget, checked, as JAX arrays; to be called with double precision switched on."""
    budget = numbers("budgets", budget)
    if budget.shape not in ((), mdp.rewards.shape):
        raise InputError(
            f"budgets of shape {budget.shape} were given: allowed are one number or shape {mdp.rewards.shape}"
        )
    good = np.isfinite(budget) & (budget >= 0)
    if not good.all():
        raise InputError(f"budget {budget[~good][0]:g} was given: allowed are finite numbers from 0")
    rows = (mdp.rewards, mdp.successors, mdp.probabilities, mdp.discount, budget)
    return Model(*(jnp.asarray(row) for row in rows))


def check_ball(ball: str) -> None:
    """Refuse a name that is none of `BALLS`."""
    if ball not in BALLS:
        raise InputError(f"ball '{ball}' was given: allowed are {', '.join(BALLS)}")


def apply(model: Model, value: Array, ball: Ball) -> Backup:
    """The operator on values `[S]`."""
    rows = value[model.successors]
    if ball == "kl":
        solved = dual.solve(rows, model.probabilities, model.budget)
        lower, upper, temperature = *_bounds(rows, model, solved), solved.temperature
        weights = solved.weights
    else:
        inner = balls.chi_square if ball == "chi-square" else balls.total_variation
        worst = inner(rows, model.probabilities, model.budget)
        lower, upper = worst.value - worst.rounding, worst.value + worst.rounding
        temperature, weights = jnp.zeros_like(lower), worst.weights
    return Backup(
        model.rewards + model.discount * lower, model.rewards + model.discount * upper, temperature, weights
    )


def apply_again(model: Model, value: Array, temperature: Array) -> tuple[Array, Array, Array]:
    """Bounds within a KL ball, and improved temperatures, from temperatures `[S, A]` of similar values."""
    found = dual.bounds(value[model.successors], model.probabilities, model.budget, temperature)
    lower, upper = (model.rewards + model.discount * end for end in (found.lower, found.upper))
    return lower, upper, found.temperature


def apply_nominal(model: Model, value: Array) -> Array:
    """The ordinary operator on values `[S]`, `[S, A]`."""
    return model.rewards + model.discount * jnp.sum(model.probabilities * value[model.successors], axis=-1)


def _bounds(rows: Array, model: Model, solved: dual.KlWorstExpectation) -> tuple[Array, Array]:
    """Bounds on the worst expectation of each row that hold at any temperature the search may end with.

    The upper bound is the tilted mean if the tilted weights are in the ball; else the mean under a mixture of
    tilted and nominal weights that is in it, because KL is convex. The lower bound is the dual, or the lowest
    value where a row's spread is so small that the solver tilted nothing.
    """
    mean = dual.expectation(rows, model.probabilities)
    over = solved.kl > model.budget
    share = jnp.where(over, model.budget / jnp.where(over, solved.kl, 1), 1)
    upper = share * solved.value + (1 - share) * mean
    lowest = jnp.min(jnp.where(model.probabilities > 0, rows, jnp.inf), axis=-1)
    flat = (solved.temperature == 0) & (model.budget > 0)
    lower = jnp.where(flat, lowest, jnp.clip(solved.value + solved.gap, lowest, upper))
    return jnp.minimum(lower, upper), upper


_apply = jax.jit(apply, static_argnames=("ball",))


def backup(mdp: Mdp, value: ArrayLike, budget: ArrayLike, ball: Ball = "kl") -> Floats:
    """The operator on values `[S]`: r + gamma times the worst mean over the successors, `[S, A]`."""
    return np.asarray(solved(mdp, value, budget, ball).lower)


def worst_kernel(mdp: Mdp, value: ArrayLike, budget: ArrayLike, ball: Ball = "kl") -> Floats:
    """The probabilities `[S, A, M]` in the ball under which the successors' mean value is lowest."""
    return np.asarray(solved(mdp, value, budget, ball).weights)


def solved(mdp: Mdp, value: ArrayLike, budget: ArrayLike, ball: Ball = "kl") -> Backup:
    """The operator on values `[S]`: bounds, temperatures and worst probabilities."""
    check_ball(ball)
    value = numbers("values", value)
    if value.shape != (mdp.states,):
        raise InputError(f"values of shape {value.shape} were given: allowed is ({mdp.states},), one a state")
    if not np.isfinite(value).all():
        state = int(np.flatnonzero(~np.isfinite(value))[0])
        raise InputError(f"the value of state {state} is {value[state]}: it must be finite")
    with jax.enable_x64(True):
        return jax.device_get(_apply(model(mdp, budget), value, ball))
