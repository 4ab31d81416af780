"""The KL-robust expectation over a box of dynamics: the uniform law on a box, tilted exponentially.

Where the value of a step is linear in the parameters, G(u) = G0 + g . u, tilting the uniform law on a box
with half-widths h by exp(-eta G) gives independent truncated exponentials. In units of the half-width, with z
= -eta g h, a coordinate x in [-1, 1] has density ~ exp(z x) and

    log Z = log(sinh z / z)        mean = coth z - 1/z        KL = z mean - log Z

This is `dual` for infinitely many models. All functions take slopes g h `[..., P]`, how much the value
changes over the half-width of each parameter, and temperatures and budgets `[...]`.
"""

from __future__ import annotations

from rapo.heavy import Array, jnp
from rapo.learner.dual import ITERATIONS, meet_budget

SMALL = 0.5
"""Below it, series take the place of formulas that would divide a small difference by a small number."""
SHARPEST = 1e6
"""The largest z: its law is a corner of the box."""


def law(slopes: Array, temperature: Array) -> Array:
    """The exponents z `[..., P]` of the tilted law, at most `SHARPEST` either way."""
    return jnp.clip(-temperature[..., None] * slopes, -SHARPEST, SHARPEST)


def mean(z: Array) -> Array:
    """The mean of every coordinate, of the shape of z: coth z - 1/z."""
    size = jnp.maximum(jnp.abs(z), SMALL)
    large = jnp.sign(z) * (1 / jnp.tanh(size) - 1 / size)
    return jnp.where(jnp.abs(z) < SMALL, _odd(z), large)


def variance(z: Array) -> Array:
    """The variance of every coordinate, of the shape of z: 1/z^2 - 1/sinh^2 z."""
    size = jnp.maximum(jnp.abs(z), SMALL)
    shrunk = jnp.exp(-2 * size)
    large = 1 / size**2 - 4 * shrunk / (1 - shrunk) ** 2
    return jnp.where(jnp.abs(z) < SMALL, _even(z), large)


def log_partition(z: Array) -> Array:
    """log(sinh z / z) of every coordinate, of the shape of z."""
    size = jnp.maximum(jnp.abs(z), SMALL)
    large = size + jnp.log1p(-jnp.exp(-2 * size)) - jnp.log(2 * size)
    return jnp.where(jnp.abs(z) < SMALL, _square(z), large)


def kl(slopes: Array, temperature: Array) -> Array:
    """KL divergence `[...]` of the tilted law from the uniform one."""
    return _kl(law(slopes, temperature))


def tilted(slopes: Array, temperature: Array) -> Array:
    """By how much the tilt lowers the expected value, `[...]`: not above 0."""
    return jnp.sum(slopes * mean(law(slopes, temperature)), axis=-1)


def soft(slopes: Array, temperature: Array) -> Array:
    """The entropic risk `[...]`, -1/eta log Z, beside the value in the middle of the box; 0 at eta = 0."""
    positive = temperature > 0
    risk = -jnp.sum(log_partition(law(slopes, temperature)), axis=-1)
    return jnp.where(positive, risk / jnp.where(positive, temperature, 1), 0)


def spread(slopes: Array) -> Array:
    """Standard deviation `[...]` of the value under the uniform law."""
    return jnp.sqrt(jnp.sum(slopes**2, axis=-1) / 3)


def solve(slopes: Array, budget: Array | float, iterations: int = ITERATIONS) -> Array:
    """The temperature eta* `[...]` at which the KL meets the budget; 0 without budget or without slopes.

    The KL of a coordinate grows like log z without end, so that every budget has a root; budgets beyond the
    KL of `SHARPEST` get the sharpest law.
    """
    size = spread(slopes)
    flat = size <= 0
    unit = slopes / jnp.where(flat, 1, size)[..., None]
    budget = jnp.broadcast_to(jnp.asarray(budget, slopes.dtype), size.shape)

    def used_and_variance(temperature: Array) -> tuple[Array, Array]:
        z = law(unit, temperature)
        return _kl(z), jnp.sum(unit**2 * variance(z), axis=-1)

    # The mean can't fall further than to the lowest corner, and KL is at most the temperature times the fall.
    depth = jnp.maximum(jnp.sum(jnp.abs(unit), axis=-1), 1)
    none = flat | (budget <= 0)
    wanted = jnp.where(none, 0.1, budget)
    scaled = meet_budget(used_and_variance, wanted, wanted / depth, SHARPEST, iterations)
    return jnp.where(none, 0, scaled / jnp.where(flat, 1, size))


def draw(z: Array, uniforms: Array) -> Array:
    """Coordinates in [-1, 1] of the tilted law, of the shape of z, from uniform numbers in [0, 1)."""
    size = jnp.maximum(jnp.abs(z), 1e-6)
    found = 1 + jnp.log1p((1 - uniforms) * jnp.expm1(-2 * size)) / size
    return jnp.clip(jnp.where(z < 0, -found, found), -1, 1)


def _kl(z: Array) -> Array:
    return jnp.maximum(jnp.sum(z * mean(z) - log_partition(z), axis=-1), 0)


def _square(z: Array) -> Array:
    s = z**2
    return s * (1 / 6 - s * (1 / 180 - s * (1 / 2835 - s / 37800)))


def _odd(z: Array) -> Array:
    s = z**2
    return z * (1 / 3 - s * (1 / 45 - s * (2 / 945 - s / 4725)))


def _even(z: Array) -> Array:
    s = z**2
    return 1 / 3 - s * (1 / 15 - s * (2 / 189 - s / 675))
