"""KL budgets: how much the adversary may deviate, over the course of training.

epsilon is the budget of a step (trajectory level), kappa that of the mixture (model level).
"""

from dataclasses import dataclass
from math import isfinite

from rapo.errors import InputError
from rapo.heavy import Array, jnp


@dataclass(frozen=True)
class Budget:
    """A budget that is constant, or moves linearly from `start` to `end` over a part of training."""

    start: float
    """Its value at first."""
    end: float | None = None
    """Its value at last; None means that of the start."""
    until: float = 1.0
    """The share of training after which it has reached its end."""

    def __post_init__(self) -> None:
        for value in (self.start, self.start if self.end is None else self.end):
            check_budget(value)
        if not 0 < self.until <= 1:
            raise InputError(f"a budget ramps until {self.until:g} of training: allowed is above 0, up to 1")

    def at(self, progress: Array | float) -> Array:
        """Its value `[]` after a share `progress` of training, from 0 to 1."""
        end = self.start if self.end is None else self.end
        return self.start + (end - self.start) * jnp.minimum(1.0, progress / self.until)


def check_budget(value: float, name: str = "a KL budget") -> float:
    """`value`, refused unless it can be a KL budget."""
    if not isfinite(value) or value < 0:
        raise InputError(f"{name} is {value:g}: allowed are finite numbers from 0")
    return value


def split(total: float, share: float) -> tuple[float, float]:
    """One joint budget as (kappa, epsilon): a `share` for the mixture, the rest for the steps."""
    check_budget(total, "the joint KL budget")
    if not 0 <= share <= 1:
        raise InputError(f"the mixture's share of the joint KL budget is {share:g}: allowed is 0 to 1")
    return share * total, (1 - share) * total


def per_step(trajectory: float, discount: float) -> float:
    """The budget of each step that adds up to a discounted `trajectory` budget."""
    return trajectory * (1 - _check_discount(discount))


def per_trajectory(step: float, discount: float) -> float:
    """The discounted budget of a trajectory whose every step has budget `step`."""
    return step / (1 - _check_discount(discount))


def adapt(temperature: Array, kl: Array, budget: Array | float, update: Array, rate: float) -> Array:
    """One Robbins-Monro step on a dual multiplier, as the temperature it stands for.

    The multiplier of the constraint KL <= budget is 1/temperature: it rises, and the tilt gets milder,
    while more than the budget is used. Steps are taken in its logarithm and shrink as update^-0.6.
    """
    step = rate * (1.0 + update) ** -0.6
    return temperature * jnp.exp(step * (budget - kl))


def _check_discount(discount: float) -> float:
    if not 0 <= discount < 1:
        raise InputError(f"discount {discount:g} was given: allowed is 0 to below 1")
    return discount
