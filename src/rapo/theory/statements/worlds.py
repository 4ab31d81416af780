"""The MDPs on which statements about operators and policies are checked: classic ones and random ones.

All are padded to one shape, so that nothing is compiled twice: spare states are copies of the first state
that no action leads to, spare actions are not allowed and spare successors have probability 0. Random values
and policies are copied to the spare states too, so that largest differences and ranges stay those of the MDP.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rapo.arrays import Floats
from rapo.tabular import Mdp, inventory, machine_replacement, random_mdp, slippery_grid

Ints = NDArray[np.int64]

SHAPE = (20, 7, 5)
"""States, actions and successors of every world."""
BUDGETS = (0.01, 0.1, 1.0)
"""KL budgets, from a small one to one that allows some pairs their worst successor alone."""
ROUNDING = 1e-12
"""Allowed rounding of a sum of products, as a share of its largest number: some thousand operations."""


@dataclass(frozen=True)
class World:
    """An MDP padded to the common shape."""

    name: str
    mdp: Mdp
    size: int
    """How many states it has without padding."""

    @property
    def origin(self) -> Ints:
        """`[S]`, the state itself, or for a spare state the state that it copies."""
        return np.where(np.arange(self.mdp.states) < self.size, np.arange(self.mdp.states), 0)

    @property
    def initial(self) -> Floats:
        """`[S]`, the uniform distribution over the states that are not spare."""
        return np.where(np.arange(self.mdp.states) < self.size, 1 / self.size, 0.0)

    def values(self, rng: np.random.Generator, scale: float = 1.0) -> Floats:
        """Random values `[S]`."""
        return scale * rng.normal(size=self.size)[self.origin]

    def actions(self, rng: np.random.Generator) -> Ints:
        """A random deterministic policy `[S]`."""
        ranks = np.where(self.mdp.allowed, rng.random(self.mdp.rewards.shape), -1)
        return ranks.argmax(axis=1)[self.origin]

    def policy(self, rng: np.random.Generator) -> Floats:
        """A random stochastic policy `[S, A]`, from even to nearly deterministic."""
        raw = np.where(self.mdp.allowed, rng.exponential(size=self.mdp.rewards.shape) ** rng.uniform(0, 4), 0)
        return (raw / raw.sum(axis=1, keepdims=True))[self.origin]


def worlds(rng: np.random.Generator, random: int = 5) -> list[World]:
    """The three classic MDPs of `rapo.tabular.classic` and so many random ones."""
    classic: dict[str, Callable[[], Mdp]] = {
        "machine replacement": machine_replacement,
        "slippery grid": slippery_grid,
        "inventory": inventory,
    }
    found = [fitted(name, make()) for name, make in classic.items()]
    for number in range(random):
        discount = rng.choice([0.5, 0.8, 0.95])
        found.append(fitted(f"random {number + 1}", random_mdp(rng, 8, 4, 5, float(discount))))
    return found


def fitted(name: str, mdp: Mdp) -> World:
    """Pad an MDP to the common shape."""
    own = mdp.states
    rewards = np.full(SHAPE[:2], -np.inf)
    leads = np.zeros(SHAPE, np.int32)
    probabilities = np.zeros(SHAPE)
    places = (slice(own), slice(mdp.actions), slice(mdp.successors.shape[2]))
    rewards[places[:2]] = mdp.rewards
    leads[places] = mdp.successors
    probabilities[places] = mdp.probabilities
    for array in (rewards, leads, probabilities):
        array[own:] = array[0]
    return World(name, Mdp(rewards, leads, probabilities, mdp.discount), own)


def copies(mdp: Mdp, count: int) -> Mdp:
    """So many copies of an MDP side by side as one MDP, whose states are numbered copy by copy."""
    shift = mdp.states * np.arange(count)
    leads = np.concatenate([mdp.successors + offset for offset in shift])
    repeated = (np.concatenate([array] * count) for array in (mdp.rewards, mdp.probabilities))
    rewards, probabilities = repeated
    return Mdp(rewards, leads.astype(np.int32), probabilities, mdp.discount)


def oscillation(values: Floats) -> float:
    """The largest value less the smallest."""
    return float(values.max() - values.min())


def interior(mdp: Mdp, value: Floats, budget: float) -> NDArray[np.bool_]:
    """`[S, A]`, where successors differ in value and the budget does not allow the lowest value alone."""
    rows, possible = value[mdp.successors], mdp.probabilities > 0
    lowest = np.where(possible, rows, np.inf).min(axis=-1)
    highest = np.where(possible, rows, -np.inf).max(axis=-1)
    near = possible & (rows <= lowest[..., None] + ROUNDING * np.abs(value).max())
    reached = -np.log(np.where(near, mdp.probabilities, 0).sum(axis=-1))
    spread = highest - lowest > 1e3 * ROUNDING * np.abs(value).max()
    return mdp.allowed & spread & (reached > budget * (1 + ROUNDING))
