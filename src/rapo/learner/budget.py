"""KL budgets: how far the adversary may deviate from the models, over the course of training.

epsilon is the budget of a step (trajectory level), kappa that of the mixture (model level).
"""

from dataclasses import dataclass
from typing import Annotated

from rapo.errors import InputError
from rapo.heavy import Array, jnp
from rapo.ranges import DISCOUNT, NOT_NEGATIVE, POSITIVE_SHARE, SHARE, check_ranges


@dataclass(frozen=True)
class Budget:
    """A budget that is constant, or moves linearly from `start` to `end` over a part of training."""

    start: Annotated[float, NOT_NEGATIVE]
    """The budget when training begins."""
    end: Annotated[float, NOT_NEGATIVE] | None = None
    """The budget when training ends; None means that it stays at `start`."""
    until: Annotated[float, POSITIVE_SHARE] = 1.0
    """The share of training after which the budget has reached `end`."""

    def __post_init__(self) -> None:
        check_ranges(self, "the KL budget's")

    def at(self, progress: Array | float) -> Array:
        """The budget `[]` after a share `progress` of training, from 0 to 1."""
        end = self.start if self.end is None else self.end
        return self.start + (end - self.start) * jnp.minimum(1.0, progress / self.until)


def check_budget(value: float, name: str) -> float:
    """`value`, refused unless it can be a KL budget; `name` is what the error calls it."""
    if not NOT_NEGATIVE.allows(value):
        raise InputError(f"{name} is {value:g}: allowed are {NOT_NEGATIVE}")
    return value


def split(total: float, share: float) -> tuple[float, float]:
    """One joint budget as (kappa, epsilon): a `share` for the mixture, the rest for the steps."""
    check_budget(total, "the joint KL budget")
    if not SHARE.allows(share):
        raise InputError(f"the mixture's share of the joint KL budget is {share:g}: allowed are {SHARE}")
    return share * total, (1 - share) * total


def per_step(trajectory: float, discount: float) -> float:
    """The budget of each step, if the discounted budgets of all steps are to add up to `trajectory`."""
    if not DISCOUNT.allows(discount):
        raise InputError(f"discount {discount:g} was given: allowed are {DISCOUNT}")
    return trajectory * (1 - discount)


def adapt(temperature: Array, kl: Array, budget: Array | float, update: Array, rate: float) -> Array:
    """The temperature `[]` after a Robbins-Monro step on the multiplier of the constraint KL <= budget.

    The multiplier is 1/temperature: it rises, and the tilt gets milder, while more than the budget is used.
    Steps are taken in the logarithm of the multiplier and shrink as update^-0.6.
    """
    step = rate * (1.0 + update) ** -0.6
    return temperature * jnp.exp(step * (budget - kl))
