"""Robust evaluation, value iteration and policy iteration, each with a certified bound on its error.

The robust operator T is a contraction: if T V is known within d, then V is within
(|T V - V| + d) / (1 - gamma) of T's fixed point. `error` is that bound with an allowance for rounding. A
budget of 0 gives the ordinary MDP.
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
from rapo.tabular.markov import average, exact_value
from rapo.tabular.mdp import Mdp
from rapo.tabular.operator import Ball, Model

TOLERANCE = 1e-8
"""The tolerance if none is given; `_checked_tolerance` raises it for large values."""
BEHIND = 0.1
"""How far apart the two bounds of a sweep may be, as a share of what the sweep changes."""
_ROUNDING = 64 * np.finfo(np.float64).eps
"""Error of one application of the operator by rounding, as a share of the largest value."""
_MOST = 200
"""The most linear solves of an evaluation, and policies of a policy iteration; a handful is usual."""


@dataclass(frozen=True)
class PolicyValue:
    """The robust value of a policy."""

    value: Floats
    """`[S]`."""
    action_value: Floats
    """`[S, A]`, the robust value of taking an action once and following the policy from then on."""
    temperature: Floats
    """`[S, A]`, the temperature of the worst case's tilt; 0 where nothing is tilted."""
    error: float
    """A bound on how far the value is from the true one, in any state."""
    sweeps: int
    """How often the operator was applied."""


@dataclass(frozen=True)
class Solved(PolicyValue):
    """The best robust value of all policies, and a policy that attains it within 2 error / (1 - gamma)."""

    policy: NDArray[np.int64]
    """`[S]`, an action for every state."""


def evaluate(
    mdp: Mdp, policy: ArrayLike, budget: ArrayLike, ball: Ball = "kl", tolerance: float | None = None
) -> PolicyValue:
    """The robust value of a policy: actions `[S]` or distributions over them `[S, A]`.

    By policy iteration of the adversary: the worst kernel for a value, the value under that kernel, and so
    on. Values fall at every step, and converge after a few.
    """
    operator.check_ball(ball)
    tolerance = _checked_tolerance(mdp, tolerance)
    found = _evaluate(mdp, policy, budget, ball, tolerance)
    if found.error > tolerance:
        raise _too_fine(tolerance, found.error)
    return found


def value_iteration(mdp: Mdp, budget: ArrayLike, ball: Ball = "kl", tolerance: float | None = None) -> Solved:
    """The best robust value and a policy that attains it, by applying the operator until it converges."""
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
    """The best robust value and a policy that attains it, by evaluating and improving a policy in turns."""
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
    raise InputError(
        f"policy iteration to a tolerance of {tolerance:g} did not end after {_MOST} policies: "
        "give a larger tolerance"
    )


def advantage(mdp: Mdp, policy: ArrayLike, budget: ArrayLike, ball: Ball = "kl") -> Floats:
    """The robust advantage `[S, A]`: an action's robust value less that of the policy."""
    found = evaluate(mdp, policy, budget, ball)
    return found.action_value - found.value[:, None]


def _evaluate(mdp: Mdp, policy: ArrayLike, budget: ArrayLike, ball: Ball, tolerance: float) -> PolicyValue:
    """The robust value of a policy within the tolerance, or with the smallest error that was reached."""
    chosen = mdp.distribution(policy)
    value, best = exact_value(mdp, chosen), None
    for sweeps in range(1, _MOST + 1):
        step = operator.solved(mdp, value, budget, ball)
        lower, upper = np.asarray(step.lower), np.asarray(step.upper)
        unsure = (upper[mdp.allowed] - lower[mdp.allowed]).max()
        residual = np.abs(average(chosen, lower) - value).max()
        rounding = _ROUNDING * np.abs(value).max()
        error = float((residual + unsure + rounding) / (1 - mdp.discount))
        found = PolicyValue(value, lower, np.asarray(step.temperature), error, sweeps)
        if error <= tolerance:
            return found
        if best is not None and sweeps > 10 and error >= 0.5 * best.error:
            break
        best = found if best is None or error < best.error else best
        value = exact_value(mdp.under(step.weights), chosen)
    assert best is not None
    return best


def sweep(model: Model, value: Array, temperature: Array, ball: Ball | None) -> tuple[Array, Array, Array]:
    """Lower and upper bounds and temperatures, all `[S, A]`; of the ordinary operator if `ball` is None.

    temperature: `[S, A]`, of the sweep before, from which a KL ball goes on.
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
    """Value iteration: value, lower bounds, temperatures, error, sweeps and the last sweep's change.

    Each sweep improves the temperatures of the sweep before. These may fall behind the values, at first and
    where a very low value among the successors is rare. If the bounds are then too far apart, or the values
    have not converged in half of the allowed sweeps, the sweep solves for its temperatures anew.
    """

    def measure(step: tuple[Array, Array, Array], value: Array) -> tuple[Array, ...]:
        """The new value, how far it moved, how far its bounds are apart, and its rounding error."""
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
        """Whether to sweep again: the tolerance is not reached, and more than the last digits change."""
        value, _, _, error, sweeps, change = state
        return (error > tolerance) & (change > _ROUNDING / 16 * jnp.abs(value).max()) & (sweeps < limit)

    return jax.lax.while_loop(going, advance, first)


def _checked_tolerance(mdp: Mdp, tolerance: float | None) -> float:
    """The given tolerance; else `TOLERANCE`, or `_easy` if that is larger."""
    if tolerance is None:
        return max(TOLERANCE, _easy(mdp))
    if not isinstance(tolerance, int | float) or not 0 < tolerance < inf:
        raise InputError(f"tolerance {tolerance!r} was given: allowed are numbers above 0")
    return tolerance


def _easy(mdp: Mdp) -> float:
    """A tolerance that double precision allows for any policy; it grows with values and discount."""
    size = np.abs(mdp.rewards[mdp.allowed]).max() / (1 - mdp.discount)
    return float(8 * _ROUNDING * size / (1 - mdp.discount))


def _too_fine(tolerance: float, reached: float) -> InputError:
    return InputError(
        f"tolerance {tolerance:g} was asked for: for this MDP double precision allows {2 * reached:.1e}"
    )
