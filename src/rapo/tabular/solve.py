"""Robust evaluation, value iteration and policy iteration, each to a tolerance that is certified.

The operator T is a contraction: where T V is known within d, V is within (|T V - V| + d) / (1 - gamma) of its
fixed point, and `error` is that bound with an allowance for rounding. A budget of 0 means ordinary MDPs.
"""

from dataclasses import dataclass
from math import ceil, inf, log
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike, NDArray

from rapo.arrays import Floats
from rapo.errors import InputError
from rapo.tabular import operator
from rapo.tabular.markov import average, exact_value, occupancy
from rapo.tabular.mdp import Mdp
from rapo.tabular.operator import Ball, Model

TOLERANCE = 1e-8
"""Where none is given; see `_checked_tolerance`."""
BEHIND = 0.1
"""How far apart bounds may be, beside what a sweep changes: it costs a few sweeps more at the end."""
_ROUNDING = 64 * np.finfo(np.float64).eps
"""Share of the largest value by which rounding may falsify one application of the operator."""
_MOST = 200
"""Linear solves of an evaluation and policies of an iteration, at most; they need a handful."""


@dataclass(frozen=True)
class Evaluated:
    """The robust value of a policy."""

    value: Floats
    """`[S]`."""
    action_value: Floats
    """`[S, A]`, of taking an action once and following the policy then, all of it in the worst case."""
    temperature: Floats
    """`[S, A]`, of the worst case's tilt; 0 where nothing is tilted."""
    error: float
    """How far the value can be from the true one, in any state."""
    sweeps: int
    """How often the operator was applied."""


@dataclass(frozen=True)
class Solved(Evaluated):
    """The best robust value there is, and a policy that attains it within 2 error / (1 - gamma)."""

    policy: NDArray[np.int64]
    """`[S]`, an action for every state."""


def evaluate(
    mdp: Mdp, policy: ArrayLike, budget: ArrayLike, ball: Ball = "kl", tolerance: float | None = None
) -> Evaluated:
    """The robust value of a policy: actions `[S]` or distributions over them `[S, A]`.

    The adversary's own policy iteration: the worst kernel for a value, the value under that kernel, and so
    on. Values fall at every step, and soon stand still.
    """
    operator.check_ball(ball)
    tolerance = _checked_tolerance(mdp, tolerance)
    found = _evaluate(mdp, policy, budget, ball, tolerance)
    if found.error > tolerance:
        raise _too_fine(tolerance, found.error)
    return found


def value_iteration(mdp: Mdp, budget: ArrayLike, ball: Ball = "kl", tolerance: float | None = None) -> Solved:
    """The best robust value and a policy that attains it, by applying the operator until nothing moves."""
    operator.check_ball(ball)
    tolerance = _checked_tolerance(mdp, tolerance)
    gamma = mdp.discount
    size = np.abs(mdp.rewards[mdp.allowed]).max() / (1 - gamma)
    limit = 100 + 2 * max(0, ceil(log(max(size, tolerance) / (tolerance * (1 - gamma)) + 1) / -log(gamma)))
    with jax.enable_x64(True):
        model = operator.model(mdp, budget)
        kind = ball if np.any(np.asarray(budget) > 0) else None
        found = _iterate(model, jnp.zeros(mdp.states), tolerance, limit, kind)
        value, action_value, temperature, error, sweeps, _ = jax.device_get(found)
    if error > tolerance:
        raise _too_fine(tolerance, float(error))
    return Solved(value, action_value, temperature, float(error), int(sweeps), action_value.argmax(axis=1))


def policy_iteration(
    mdp: Mdp, budget: ArrayLike, ball: Ball = "kl", tolerance: float | None = None
) -> Solved:
    """The same by evaluating a policy, improving it where that pays, and so on: few steps, but long ones."""
    operator.check_ball(ball)
    tolerance = _checked_tolerance(mdp, tolerance)
    gamma = mdp.discount
    policy = mdp.rewards.argmax(axis=1)
    states, sweeps = np.arange(mdp.states), 0
    for _ in range(_MOST):
        found = _evaluate(mdp, policy, budget, ball, 0.5 * tolerance)
        if found.error > 0.5 * tolerance:
            raise _too_fine(tolerance, max(found.error, 0.5 * _easy(mdp)))
        sweeps += found.sweeps
        gain = found.action_value.max(axis=1) - found.action_value[states, policy]
        better = gain > 0.25 * (1 - gamma) * tolerance
        if not better.any():
            error = found.error + float(gain.max()) / (1 - gamma)
            return Solved(found.value, found.action_value, found.temperature, error, sweeps, policy)
        policy = np.where(better, found.action_value.argmax(axis=1), policy)
    raise InputError(f"{_MOST} policies were tried to a tolerance of {tolerance:g}, and none was the last")


def advantage(mdp: Mdp, policy: ArrayLike, budget: ArrayLike, ball: Ball = "kl") -> Floats:
    """How much better `[S, A]` an action is than the policy's own, all of it in the policy's worst case."""
    found = evaluate(mdp, policy, budget, ball)
    return found.action_value - found.value[:, None]


def robust_occupancy(
    mdp: Mdp, policy: ArrayLike, budget: ArrayLike, initial: ArrayLike | None = None, ball: Ball = "kl"
) -> Floats:
    """The discounted share of time `[S]` that the policy spends in each state in its own worst case."""
    value = evaluate(mdp, policy, budget, ball).value
    return occupancy(mdp.under(operator.worst_kernel(mdp, value, budget, ball)), policy, initial)


def _evaluate(mdp: Mdp, policy: ArrayLike, budget: ArrayLike, ball: Ball, tolerance: float) -> Evaluated:
    """Within the tolerance, or else as near as it came."""
    chosen = mdp.distribution(policy)
    value, best = exact_value(mdp, chosen), None
    for sweeps in range(1, _MOST + 1):
        step = operator.solved(mdp, value, budget, ball)
        lower, upper = np.asarray(step.lower), np.asarray(step.upper)
        unsure = (upper[mdp.allowed] - lower[mdp.allowed]).max()
        residual = np.abs(average(chosen, lower) - value).max()
        rounding = _ROUNDING * np.abs(value).max()
        error = float((residual + unsure + rounding) / (1 - mdp.discount))
        found = Evaluated(value, lower, np.asarray(step.temperature), error, sweeps)
        if error <= tolerance:
            return found
        if best is not None and sweeps > 10 and error >= 0.5 * best.error:
            break
        best = found if best is None or error < best.error else best
        value = exact_value(mdp.under(step.weights), chosen)
    assert best is not None
    return best


def sweep(model: Model, value: Array, temperature: Array, ball: Ball | None) -> tuple[Array, Array, Array]:
    """The operator bounded from both sides and its temperatures, all `[S, A]`; plain without a ball.

    The temperatures are those of the sweep before, a step nearer to the best.
    """
    if ball is None:
        plain = operator.apply_nominal(model, value)
        return plain, plain, temperature
    if ball == "kl":
        return operator.apply_again(model, value, temperature)
    return operator.apply(model, value, ball)[:3]


@jax.jit(static_argnames=("ball",))
def _iterate(
    model: Model, value: Array, tolerance: float, limit: int, ball: Ball | None
) -> tuple[Array, ...]:
    """Value iteration, warm from sweep to sweep: value, bounds from below, temperatures, error and sweeps.

    Temperatures may fall behind the values, at first and where a very low value among the successors is rare:
    where the bounds are too far apart, or the values have not converged when they should have, the search
    is done anew.
    """

    def measure(step: tuple[Array, Array, Array], value: Array) -> tuple[Array, ...]:
        """The new value, how far it moved, how unsure it is and what rounding may have done to it."""
        moved = step[0].max(axis=1)
        unsure = jnp.max(step[1].max(axis=1) - moved)
        return moved, jnp.abs(moved - value).max(), unsure, _ROUNDING * jnp.abs(moved).max()

    def advance(state: tuple[Any, ...]) -> tuple[Any, ...]:
        value, _, temperature, _, sweeps, _ = state
        step = sweep(model, value, temperature, ball)
        _, change, unsure, rounding = measure(step, value)
        if ball == "kl":
            behind = (unsure > jnp.maximum(BEHIND * change, rounding)) | (sweeps > limit // 2)
            step = jax.lax.cond(behind, lambda: operator.apply(model, value, "kl")[:3], lambda: step)
        moved, change, unsure, rounding = measure(step, value)
        error = (model.discount * change + unsure + rounding) / (1 - model.discount)
        return moved, step[0], step[2], error, sweeps + 1, change

    pairs = jnp.zeros_like(model.rewards)
    first = (value, pairs, pairs, jnp.inf, 0, jnp.inf)

    def going(state: tuple[Any, ...]) -> Array:
        """Until the tolerance is reached, or nothing moves but the last digits."""
        value, _, _, error, sweeps, change = state
        return (error > tolerance) & (change > _ROUNDING / 16 * jnp.abs(value).max()) & (sweeps < limit)

    return jax.lax.while_loop(going, advance, first)


def _checked_tolerance(mdp: Mdp, tolerance: float | None) -> float:
    """As given; else `TOLERANCE`, or for large values and discounts near 1 what rounding allows with ease."""
    if tolerance is None:
        return max(TOLERANCE, _easy(mdp))
    if not isinstance(tolerance, int | float) or not 0 < tolerance < inf:
        raise InputError(f"tolerance {tolerance!r} was given: allowed are numbers above 0")
    return tolerance


def _easy(mdp: Mdp) -> float:
    """A tolerance that rounding allows with ease, whatever the policy."""
    size = np.abs(mdp.rewards[mdp.allowed]).max() / (1 - mdp.discount)
    return float(8 * _ROUNDING * size / (1 - mdp.discount))


def _too_fine(tolerance: float, reached: float) -> InputError:
    return InputError(
        f"tolerance {tolerance:g} was asked for: here double precision allows {2 * reached:.1e}"
    )
