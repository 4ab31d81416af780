"""The KL-robust expectation of the paper, for many rows of branch values at once.

For values G `[B, K]` with weights p, the worst expectation within a KL ball of size epsilon tilts the
weights, q_eta(k) ~ p_k exp(-eta G_k), at the temperature eta* where KL(q_eta || p) = epsilon. (Like the paper
we call eta the dual temperature; it grows as the tilt gets sharper.) With

    soft(eta)   = -1/eta log sum p exp(-eta G)        the entropic risk
    dual(eta)   = soft(eta) - epsilon/eta             never above the worst expectation, equal to it at eta*
    tilted(eta) = sum q_eta G                         equal to the dual at eta*

it holds for every eta that tilted = soft - KL/eta, and KL grows with eta at the rate eta Var_q(G).
All functions take values `[..., K]`, weights `[..., K]` or `[K]`, temperatures and budgets `[...]`.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from rapo.heavy import Array, jax, jnp

Target = Literal["tilted", "soft", "dual", "hard-min", "mean"]

SHARPEST, SHARPEST_DOUBLE = 1e6, 1e12
"""The largest temperature, in units of one over a row's standard deviation: its tilted mean is the minimum.

The one for double precision still tells apart lowest values that differ in their last digits only."""
ITERATIONS = 24
"""Iterations of the root finder: enough for the precision of the numbers."""
STRIDE = 1.5
"""The largest factor between two temperatures of `bounds`: longer steps may jump over the root for ever."""


class KlWorstExpectation(NamedTuple):
    """The worst expectation of every row within a KL ball, and the weights that attain it."""

    value: Array
    """`[...]`, the worst expectation."""
    temperature: Array
    """`[...]`, eta*; 0 where nothing is tilted."""
    kl: Array
    """`[...]`, the part of the budget that is used."""
    weights: Array
    """`[..., K]`, the tilted weights: also the gradient of `value` with respect to the values, and one of
    many where several values share the minimum."""
    gap: Array
    """`[...]`, dual minus primal value: (KL - epsilon) / eta, 0 where the answer is exact."""


class _Row(NamedTuple):
    """Rows in units of their own mean and standard deviation under the weights."""

    scaled: Array
    mean: Array
    spread: Array
    flat: Array


def solve(
    values: Array, weights: Array, budget: Array | float, iterations: int = ITERATIONS
) -> KlWorstExpectation:
    """The worst expectation of each row within its KL budget.

    It is exact where no root is sought: rows without spread and budgets of 0 give the mean; budgets that
    allow the minimum give the minimum.
    """
    row = _standardise(values, weights)
    budget = jnp.broadcast_to(jnp.asarray(budget, values.dtype), row.mean.shape)
    mean_only = row.flat | (budget <= 0)
    lowest, floor = _lowest(values, weights)
    only_lowest = jnp.where(lowest, weights, 0)
    ceiling = -jnp.log(only_lowest.sum(axis=-1))
    minimum = ~mean_only & (budget >= ceiling)
    interior = ~mean_only & ~minimum
    scaled_temperature = _root(row.scaled, weights, jnp.where(interior, budget, 0.5 * ceiling), iterations)
    sharpest = _sharpest(row.scaled)
    scaled_temperature = jnp.where(minimum, sharpest, jnp.where(mean_only, 0, scaled_temperature))
    q, kl = _tilt(row.scaled, weights, scaled_temperature)
    only_lowest = only_lowest / only_lowest.sum(axis=-1, keepdims=True)
    q = jnp.where(minimum[..., None], only_lowest, jnp.where(mean_only[..., None], weights, q))
    kl = jnp.where(minimum, ceiling, jnp.where(mean_only, 0, kl))
    temperature = scaled_temperature / row.spread
    gap = jnp.where(interior, (kl - budget) / jnp.where(interior, temperature, 1), 0)
    value = jnp.where(minimum, floor, expectation(values, q))
    return KlWorstExpectation(value, temperature, kl, q, gap)


class Bounds(NamedTuple):
    """Bounds on the worst expectation of every row, all `[...]`."""

    lower: Array
    """The dual value, or the lowest value where that is higher."""
    upper: Array
    """The mean under some weights within the budget."""
    temperature: Array
    """A temperature one step nearer to the best one."""


def bounds(values: Array, weights: Array, budget: Array | float, temperature: Array) -> Bounds:
    """Bounds on the worst expectation from a temperature near the best, and a better one, in one pass.

    It is for values that change little by little, in double precision: one step of the search at each change
    keeps the temperatures near the best, and costs a fraction of `solve`. Where no temperature is known yet
    (0), the search begins with that of a Gaussian row. The upper bound is the tilted mean where it is within
    the budget, else the mean under a mixture of tilted weights and weights, whose KL is at most its share of
    the tilted weights' KL; the lower bound is the dual. Both count rounding of the logarithm as budget.
    """
    possible = weights > 0
    floor = jnp.min(jnp.where(possible, values, jnp.inf), axis=-1)
    height = jnp.where(possible, values - floor[..., None], 0)
    mean = jnp.sum(weights * height, axis=-1)
    spread = jnp.sqrt(jnp.maximum(jnp.sum(weights * height**2, axis=-1) - mean**2, 0))
    unit = jnp.where(spread > 0, spread, 1)
    goal = jnp.sqrt(2 * jnp.asarray(budget, values.dtype))
    sharpest = _sharpest(unit)
    scaled = jnp.clip(jnp.where(temperature > 0, temperature * unit, goal), 1e-30, sharpest)
    temperature = scaled / unit
    raised = weights * jnp.exp(-temperature[..., None] * height)
    total = raised.sum(axis=-1)
    tilted = jnp.sum(raised * height, axis=-1) / total
    variance = jnp.maximum(jnp.sum(raised * height**2, axis=-1) / total - tilted**2, 0)
    rounding = 16 * jnp.finfo(values.dtype).eps
    used = jnp.maximum(-temperature * tilted - jnp.log(total), 0) + rounding
    over = used > budget
    share = jnp.where(over, budget / jnp.where(over, used, 1), 1)
    upper = share * tilted + (1 - share) * mean
    lower = jnp.clip(-(jnp.log(total) + budget + rounding) / temperature, 0, upper)
    reached = jnp.sqrt(2 * used)
    step = (goal - reached) * reached / jnp.where(variance > 0, temperature * variance, 1)
    near, far = temperature / STRIDE, temperature * STRIDE
    stuck = jnp.where(over, near, far)
    moved = jnp.clip(jnp.where((variance > 0) & (used > 0), temperature + step, stuck), near, far)
    lower, upper = (jnp.where(budget > 0, end, mean) for end in (lower, upper))
    return Bounds(floor + lower, floor + upper, jnp.minimum(moved, sharpest / unit))


def target(
    values: Array, weights: Array, temperature: Array, budget: Array | float, kind: Target = "tilted"
) -> Array:
    """One-step value `[...]` of each row at a given temperature, the temperature held fixed.

    Its gradient with respect to the values is the tilted weights (for the mean: the weights themselves,
    for the minimum: one on the lowest).
    """
    temperature = jax.lax.stop_gradient(temperature)
    if kind == "tilted":
        return expectation(values, tilt(values, weights, temperature))
    if kind == "soft":
        return soft(values, weights, temperature)
    if kind == "dual":
        return dual(values, weights, temperature, budget)
    if kind == "hard-min":
        return jnp.min(jnp.where(_broadcast(weights, values) > 0, values, jnp.inf), axis=-1)
    return jnp.sum(weights * values, axis=-1)


def expectation(values: Array, q: Array) -> Array:
    """`sum q G`, whose gradient with respect to the values is q; summed from a row's middle, not from 0."""
    middle = jax.lax.stop_gradient(
        0.5 * (values.max(axis=-1, keepdims=True) + values.min(axis=-1, keepdims=True))
    )
    return middle[..., 0] + jnp.sum(jax.lax.stop_gradient(q) * (values - middle), axis=-1)


def tilt(values: Array, weights: Array, temperature: Array) -> Array:
    """The tilted weights q_eta `[..., K]`."""
    return _tilt_raw(values, weights, temperature)[0]


def kl(values: Array, weights: Array, temperature: Array) -> Array:
    """The KL divergence `[...]` of the tilted weights from the weights."""
    return _tilt_raw(values, weights, temperature)[1]


def soft(values: Array, weights: Array, temperature: Array) -> Array:
    """The entropic risk `[...]`; the mean at temperature 0."""
    mean = jnp.sum(weights * values, axis=-1)
    sharp = temperature > 0
    safe = jnp.where(sharp, temperature, 1)
    log_partition = _log_partition(safe[..., None] * (values - mean[..., None]), weights)
    return mean - jnp.where(sharp, log_partition / safe, 0)


def dual(values: Array, weights: Array, temperature: Array, budget: Array | float) -> Array:
    """The dual function `[...]`.

    Toward temperature 0 the dual falls to minus infinity, unless the budget is 0. At temperature 0 itself,
    which stands for a row in which there is nothing to tilt, this function gives the mean.
    """
    return soft(values, weights, temperature) - _over(budget, temperature)


def conservative(values: Array, weights: Array, temperature: Array, samples: int, failure: float) -> Array:
    """`soft` less c_m/eta, the paper's correction for the upward bias of m samples, `[...]`.

    c_m = sqrt(log(1/failure) / m): the result is too high with a probability of about `failure` at most.
    """
    correction = jnp.sqrt(-jnp.log(failure) / samples)
    return soft(values, weights, temperature) - _over(correction, temperature)


def draw(key: Array, weights: Array, rows: int, samples: int) -> Array:
    """The m-sample estimator: weights `[rows, K]`, each row the shares of m draws from `weights` `[K]`.

    Models are deterministic: a model drawn twice is simulated once, with twice the weight, and models with
    weight 0 need not be simulated at all.
    """
    drawn = jax.random.categorical(key, jnp.log(weights), shape=(rows, samples))
    return jax.nn.one_hot(drawn, len(weights), dtype=weights.dtype).mean(axis=1)


def _over(amount: Array | float, temperature: Array) -> Array:
    """`amount / temperature`, and 0 at temperature 0."""
    sharp = temperature > 0
    return jnp.where(sharp, amount / jnp.where(sharp, temperature, 1), 0)


def _sharpest(array: Array) -> float:
    return SHARPEST_DOUBLE if array.dtype == jnp.float64 else SHARPEST


def _broadcast(weights: Array, values: Array) -> Array:
    return jnp.broadcast_to(weights, values.shape)


def _standardise(values: Array, weights: Array) -> _Row:
    """Centre and scale each row: in these units the root does not depend on the scale of the values."""
    possible = weights > 0
    largest = jnp.max(jnp.where(possible, jnp.abs(values), 0), axis=-1, keepdims=True)
    unit = jnp.where(largest > 0, largest, 1)
    mean = jnp.sum(weights * (values / unit), axis=-1, keepdims=True)
    centred = jnp.where(possible, values / unit - mean, 0)
    spread = jnp.sqrt(jnp.sum(weights * centred**2, axis=-1, keepdims=True))
    flat = spread <= 16 * jnp.finfo(values.dtype).eps
    spread = jnp.where(flat, 1, spread)
    return _Row(centred / spread, (mean * unit)[..., 0], (spread * unit)[..., 0], flat[..., 0])


def _lowest(values: Array, weights: Array) -> tuple[Array, Array]:
    """Which entries `[..., K]` have the lowest value that has any weight, and that value `[...]`."""
    possible = _broadcast(weights, values) > 0
    floor = jnp.min(jnp.where(possible, values, jnp.inf), axis=-1)
    return possible & (values == floor[..., None]), floor


def _log_partition(exponent: Array, weights: Array) -> Array:
    """`log sum p exp(-x)` `[...]`."""
    return _tilted_exponent(exponent, weights)[2]


def _tilt_raw(values: Array, weights: Array, temperature: Array) -> tuple[Array, Array]:
    mean = jnp.sum(weights * values, axis=-1, keepdims=True)
    return _tilt(values - mean, weights, temperature)


def _tilt(centred: Array, weights: Array, temperature: Array) -> tuple[Array, Array]:
    """Tilted weights `[..., K]` and their KL `[...]` for centred values."""
    q, log_ratio, _ = _tilted_exponent(temperature[..., None] * centred, weights)
    return q, jnp.maximum(jnp.sum(q * jnp.where(q > 0, log_ratio, 0), axis=-1), 0)


def _tilted_exponent(exponent: Array, weights: Array) -> tuple[Array, Array, Array]:
    """For x: q ~ p exp(-x) `[..., K]`, log(q/p) `[..., K]` and log sum p exp(-x) `[...]`.

    Near x = 0 that logarithm is as small as x squared, and would be lost in rounding without `expm1`; far
    from 0 the tilted weights need `exp`, or a rare lowest value is lost in the rounding of the others.
    """
    x = jnp.where(_broadcast(weights, exponent) > 0, -exponent, -jnp.inf)
    top = jax.lax.stop_gradient(jnp.max(x, axis=-1, keepdims=True))
    raised = weights * jnp.exp(x - top)
    total = jnp.sum(raised, axis=-1, keepdims=True)
    excess = jnp.sum(weights * jnp.expm1(x - top), axis=-1, keepdims=True)
    near = excess > -0.5
    log_total = jnp.where(near, jnp.log1p(jnp.where(near, excess, 0)), jnp.log(total))
    return raised / total, x - top - log_total, (top + log_total)[..., 0]


def _root(scaled: Array, weights: Array, budget: Array, iterations: int) -> Array:
    """The temperature `[...]` at which the KL of standardised rows meets the budget.

    KL is at most the temperature times how far the mean falls, and the mean can't fall below the lowest
    value: so the budget over the depth of the lowest value bounds the root from below, however rare that
    value is.
    """

    def used_and_variance(temperature: Array) -> tuple[Array, Array]:
        q, used = _tilt(scaled, weights, temperature)
        mean = jnp.sum(q * scaled, axis=-1, keepdims=True)
        return used, jnp.sum(q * (scaled - mean) ** 2, axis=-1)

    depth = -jnp.min(jnp.where(_broadcast(weights, scaled) > 0, scaled, jnp.inf), axis=-1)
    lowest = budget / jnp.where(depth > 0, depth, 1)
    return meet_budget(used_and_variance, budget, lowest, _sharpest(scaled), iterations)


def meet_budget(
    used_and_variance: Callable[[Array], tuple[Array, Array]],
    budget: Array,
    lowest: Array,
    sharpest: float,
    iterations: int,
) -> Array:
    """The temperature `[...]` between `lowest` `[...]` and `sharpest` at which a KL meets the budget `[...]`.

    used_and_variance: the KL at a temperature, and the variance there of values whose standard deviation is
    1 at temperature 0. Newton's method on sqrt(2 KL), which is the temperature itself while that is small,
    inside a bracket that shrinks; a step that would leave the bracket goes to its geometric middle instead.
    """
    goal = jnp.sqrt(2 * budget)

    def improve(_: int, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        temperature, low, high = state
        used, variance = used_and_variance(temperature)
        reached = jnp.sqrt(2 * used)
        low = jnp.where(used < budget, temperature, low)
        high = jnp.where(used < budget, high, temperature)
        step = (goal - reached) * reached / (temperature * variance)
        newton = temperature + step
        done = jnp.abs(step) <= 4 * jnp.finfo(step.dtype).eps * temperature
        inside = (newton >= low) & (newton <= high)
        middle = jnp.sqrt(low * high)
        return jnp.where(done, temperature, jnp.where(inside, newton, middle)), low, high

    low = jnp.clip(lowest, 1e-30, sharpest)
    high = jnp.full_like(low, sharpest)
    start = jnp.clip(goal, low, high)
    return jax.lax.fori_loop(0, iterations, improve, (start, low, high))[0]
