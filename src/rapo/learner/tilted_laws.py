"""The two families of dynamics that an adversary tilts: finitely many models, and a box of them.

Both answer the same questions about the value of a step under dynamics drawn from the tilted law, for rows
`[B]` and temperatures `[B]`: so AdvNet need not know which of them it predicts a temperature for.
"""

from __future__ import annotations

from typing import NamedTuple

from rapo.heavy import Array, jnp
from rapo.learner import box_tilt, dual


class FiniteLaw(NamedTuple):
    """K models with weights, tilted to q_k ~ p_k exp(-eta G_k)."""

    values: Array
    """`[B, K]`, the value under each model."""
    weights: Array
    """`[B, K]` or `[K]`, the weight of each model."""

    def kl(self, temperature: Array) -> Array:
        """KL divergence `[B]` of the tilted weights from the weights."""
        return dual.kl(self.values, self.weights, temperature)

    def tilted(self, temperature: Array) -> Array:
        """The expected value `[B]` under the tilted weights."""
        return jnp.sum(dual.tilt(self.values, self.weights, temperature) * self.values, axis=-1)

    def soft(self, temperature: Array) -> Array:
        """The entropic risk `[B]`."""
        return dual.soft(self.values, self.weights, temperature)

    def spread(self) -> Array:
        """Standard deviation `[B]` of the values under the weights."""
        mean = jnp.sum(self.weights * self.values, axis=1, keepdims=True)
        return jnp.sqrt(jnp.sum(self.weights * (self.values - mean) ** 2, axis=1))

    def exact(self, budget: Array, iterations: int = dual.ITERATIONS) -> Array:
        """The temperature eta* `[B]` at which the KL meets the budget."""
        return dual.solve(self.values, self.weights, budget, iterations).temperature


class BoxLaw(NamedTuple):
    """The uniform law on a box, tilted exponentially, where values are linear in the parameters."""

    slopes: Array
    """`[B, P]`, by how much the value changes over the half-width of each parameter."""

    def kl(self, temperature: Array) -> Array:
        """KL divergence `[B]` of the tilted law from the uniform one."""
        return box_tilt.kl(self.slopes, temperature)

    def tilted(self, temperature: Array) -> Array:
        """By how much `[B]` the tilt lowers the expected value."""
        return box_tilt.tilted(self.slopes, temperature)

    def soft(self, temperature: Array) -> Array:
        """The entropic risk `[B]`, beside the value in the middle of the box."""
        return box_tilt.soft(self.slopes, temperature)

    def spread(self) -> Array:
        """Standard deviation `[B]` of the value under the uniform law."""
        return box_tilt.spread(self.slopes)

    def exact(self, budget: Array, iterations: int = dual.ITERATIONS) -> Array:
        """The temperature eta* `[B]` at which the KL meets the budget."""
        return box_tilt.solve(self.slopes, budget, iterations)


Law = FiniteLaw | BoxLaw
