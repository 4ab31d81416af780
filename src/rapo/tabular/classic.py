"""Three classic MDPs, small enough to look at, and random ones.

Rewards depend on state and action only, so that an adversary in the kernel changes next states, not rewards.
"""

from collections.abc import Sequence
from math import isfinite

import numpy as np

from rapo.errors import InputError
from rapo.tabular.mdp import Mdp

BUDGET = 0.1
"""A KL budget at which each classic MDP has another best policy than without an adversary."""
MOVES = ("north", "east", "south", "west")
"""The actions of the grid, in their order."""
PLAN = (
    "......",
    ".####.",
    "S....G",
    "#PPPP#",
)
"""The usual grid: two ways lead from S to G, along the pits P or round the wall #."""

_STEPS = ((-1, 0), (0, 1), (1, 0), (0, -1))


def machine_replacement(
    states: int = 8,
    wear: float = 0.3,
    jolt: float = 0.05,
    repaired: float = 0.9,
    repair: float = 1.0,
    breakdown: float = 3.0,
    discount: float = 0.95,
) -> Mdp:
    """A machine that wears out, from state 0, as new, to the last one, broken.

    Action 0 operates the machine: it earns 1, or nothing when broken, and the machine wears by one state with
    probability `wear`, by two with probability `jolt`. Action 1 repairs the machine: it costs `repair`, or
    `breakdown` when broken, and makes the machine as new with probability `repaired`; else nothing changes.
    """
    _count("states", states, 3)
    for name, probability in (("wear", wear), ("jolt", jolt), ("wear + jolt", wear + jolt)):
        _probability(name, probability)
    _probability("repaired", repaired)
    kernel, last = np.zeros((states, 2, states)), states - 1
    rewards = np.tile([1.0, -repair], (states, 1))
    rewards[last] = 0, -breakdown
    for state in range(states):
        for steps, probability in ((0, 1 - wear - jolt), (1, wear), (2, jolt)):
            kernel[state, 0, min(state + steps, last)] += probability
        kernel[state, 1, 0] += repaired
        kernel[state, 1, state] += 1 - repaired
    return Mdp.dense(kernel, rewards, discount)


def slippery_grid(
    plan: Sequence[str] = PLAN,
    slip: float = 0.04,
    goal: float = 1.0,
    pit: float = -1.0,
    discount: float = 0.95,
) -> Mdp:
    """A grid of cells on ice: a move goes to either side of where it was meant to with probability `slip`.

    In the plan, '#' is a wall, 'G' a goal, 'P' a pit and every other cell is free; a move against a wall or
    the edge leaves the state as it is. In a goal every action earns `goal`, in a pit `pit`, and then leads to
    the end. States are the cells that are no wall, row by row, and as the last one the end, which earns
    nothing. Actions are `MOVES`.
    """
    _probability("slip", slip)
    rows = [str(row) for row in plan]
    if not rows or not rows[0] or len({len(row) for row in rows}) > 1:
        raise InputError(
            f"a plan with rows of lengths {[len(row) for row in rows]} was given: allowed are rows of one "
            "length, from 1"
        )
    cells = [(i, j) for i, row in enumerate(rows) for j, cell in enumerate(row) if cell != "#"]
    state = {cell: index for index, cell in enumerate(cells)}
    end = len(cells)
    kernel, rewards = np.zeros((end + 1, 4, end + 1)), np.zeros((end + 1, 4))
    kernel[end, :, end] = 1
    for here, (i, j) in enumerate(cells):
        if rows[i][j] in "GP":
            rewards[here] = goal if rows[i][j] == "G" else pit
            kernel[here, :, end] = 1
            continue
        around = [state.get((i + down, j + right), here) for down, right in _STEPS]
        for action in range(4):
            for turn, probability in ((0, 1 - slip), (1, slip / 2), (3, slip / 2)):
                kernel[here, action, around[(action + turn) % 4]] += probability
    return Mdp.dense(kernel, rewards, discount)


def inventory(
    capacity: int = 6,
    demand: Sequence[float] = (0.1, 0.2, 0.4, 0.2, 0.1),
    price: float = 2.0,
    cost: float = 1.0,
    fixed: float = 0.5,
    holding: float = 0.1,
    lost: float = 1.0,
    discount: float = 0.95,
) -> Mdp:
    """A shop with room for `capacity` pieces: states are the pieces in stock, actions the pieces ordered.

    An order costs `fixed` and `cost` a piece and arrives at once; orders beyond the capacity are not allowed.
    Then d pieces are asked for with probability `demand[d]`: each piece sold earns `price`, each missing one
    costs `lost` and each one left over costs `holding`. The reward is the mean over the demand.
    """
    _count("capacity", capacity, 1)
    wanted = np.asarray(demand, np.float64)
    if wanted.ndim != 1 or not len(wanted) or not (wanted >= 0).all() or abs(wanted.sum() - 1) > 1e-6:
        raise InputError(
            f"demand {wanted.tolist()} was given: allowed is a distribution over 0, 1, 2, ... pieces"
        )
    asked = np.arange(len(wanted))
    kernel = np.zeros((capacity + 1, capacity + 1, capacity + 1))
    rewards = np.full((capacity + 1, capacity + 1), -np.inf)
    for stock in range(capacity + 1):
        for order in range(capacity + 1 - stock):
            there = stock + order
            left = np.maximum(there - asked, 0)
            earned = price * np.minimum(there, asked) - holding * left - lost * np.maximum(asked - there, 0)
            rewards[stock, order] = wanted @ earned - cost * order - fixed * (order > 0)
            np.add.at(kernel[stock, order], left, wanted)
    return Mdp.dense(kernel, rewards, discount)


def random_mdp(
    rng: np.random.Generator, states: int = 8, actions: int = 3, successors: int = 4, discount: float = 0.9
) -> Mdp:
    """A random MDP: rewards uniform from 0 to 1, random successors and random distributions over them."""
    for name, count in (("states", states), ("actions", actions), ("successors", successors)):
        _count(name, count, 1)
    if successors > states:
        raise InputError(
            f"successors {successors} was given: allowed are 1 to {states}, the number of states"
        )
    pairs = (states, actions)
    leads = rng.permuted(np.broadcast_to(np.arange(states), (*pairs, states)), axis=-1)[..., :successors]
    return Mdp(rng.random(pairs), leads.astype(np.int32), rng.dirichlet(np.ones(successors), pairs), discount)


def _count(name: str, given: int, least: int) -> None:
    if given != int(given) or given < least:
        raise InputError(f"{name} {given} was given: allowed are whole numbers from {least}")


def _probability(name: str, given: float) -> None:
    if not isfinite(given) or not 0 <= given <= 1:
        raise InputError(f"{name} {given:g} was given: allowed are probabilities, from 0 to 1")
