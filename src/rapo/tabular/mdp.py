"""A finite MDP, the nominal model of a robust one.

Each pair of state and action has a list of at most M successors, `[S, A, M]`, so that a thousand states with
fifty successors take little memory. `Mdp.dense` makes an MDP from a dense kernel `[S, A, S]`.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rapo.arrays import Bools, Floats
from rapo.errors import InputError

Ints = NDArray[np.int32]

_SUM = 1e-6
"""How far the sum of a distribution may be from 1."""


@dataclass(frozen=True)
class Mdp:
    """S states, A actions, M successors at most; checked when it is made.

    A reward of minus infinity marks an action that a state does not have; its probabilities are ignored.
    """

    rewards: Floats
    """`[S, A]`."""
    successors: Ints
    """`[S, A, M]`, the states that a pair leads to; any number where the probability is 0."""
    probabilities: Floats
    """`[S, A, M]`, of the successors."""
    discount: float

    def __post_init__(self) -> None:
        rewards = _array("rewards", self.rewards, 2)
        probabilities = _array("probabilities", self.probabilities, 3)
        states, actions = rewards.shape
        if not states or not actions:
            raise InputError(
                f"rewards of shape {rewards.shape} were given: allowed is at least one state and action"
            )
        if probabilities.shape[:2] != rewards.shape or not probabilities.shape[2]:
            raise InputError(
                f"probabilities of shape {probabilities.shape} were given: "
                f"allowed is ({states}, {actions}, M) with M from 1, to fit the rewards"
            )
        successors = np.asarray(self.successors)
        if successors.shape != probabilities.shape or not np.issubdtype(successors.dtype, np.integer):
            raise InputError(
                f"successors of shape {successors.shape} and type {successors.dtype} were given: "
                f"allowed are whole numbers of shape {probabilities.shape}, one for each probability"
            )
        if not isinstance(self.discount, int | float) or not 0 < self.discount < 1:
            raise InputError(
                f"discount {self.discount} was given: allowed are numbers between 0 and 1, ends excluded"
            )
        if np.isnan(rewards).any() or (rewards == np.inf).any():
            state, action = np.argwhere(np.isnan(rewards) | (rewards == np.inf))[0]
            raise InputError(
                f"the reward of action {action} in state {state} is {rewards[state, action]}: allowed are "
                "finite numbers, and minus infinity for an action that the state does not have"
            )
        allowed = rewards > -np.inf
        if not allowed.any(axis=1).all():
            state = int(np.flatnonzero(~allowed.any(axis=1))[0])
            raise InputError(f"state {state} has no action: each state needs one with a finite reward")
        probabilities = np.where(allowed[..., None], probabilities, 0.0)
        probabilities[~allowed, 0] = 1
        sums = probabilities.sum(axis=2)
        bad = ~((probabilities >= 0).all(axis=2) & (np.abs(sums - 1) <= _SUM))
        if bad.any():
            state, action = np.argwhere(bad)[0]
            raise InputError(
                f"the successors of action {action} in state {state} have probabilities that sum to "
                f"{sums[state, action]:g}, the lowest {probabilities[state, action].min():g}: allowed are "
                "distributions"
            )
        out = (probabilities > 0) & allowed[..., None] & ((successors < 0) | (successors >= states))
        if out.any():
            state, action, place = np.argwhere(out)[0]
            raise InputError(
                f"action {action} in state {state} leads to state {successors[state, action, place]}: "
                f"allowed are 0 to {states - 1}"
            )
        possible = (probabilities > 0) & allowed[..., None]
        object.__setattr__(self, "rewards", rewards)
        object.__setattr__(self, "successors", np.where(possible, successors, 0).astype(np.int32))
        object.__setattr__(self, "probabilities", probabilities / sums[..., None])
        for array in (self.rewards, self.successors, self.probabilities):
            array.flags.writeable = False

    @classmethod
    def dense(cls, kernel: ArrayLike, rewards: ArrayLike, discount: float) -> Self:
        """From a kernel `[S, A, S]` and rewards `[S, A]`."""
        kernel = _array("kernel", kernel, 3)
        if kernel.shape[0] != kernel.shape[2]:
            raise InputError(f"a kernel of shape {kernel.shape} was given: allowed is (S, A, S)")
        possible = kernel != 0
        most = max(1, int(possible.sum(axis=2).max(initial=0)))
        successors = np.argsort(~possible, axis=2, kind="stable")[:, :, :most]
        probabilities = np.take_along_axis(kernel, successors, axis=2)
        return cls(_array("rewards", rewards, 2), successors.astype(np.int32), probabilities, discount)

    @property
    def states(self) -> int:
        """S."""
        return self.rewards.shape[0]

    @property
    def actions(self) -> int:
        """A."""
        return self.rewards.shape[1]

    @property
    def allowed(self) -> Bools:
        """`[S, A]`, which actions each state has."""
        return self.rewards > -np.inf

    @property
    def kernel(self) -> Floats:
        """`[S, A, S]`, dense."""
        kernel = np.zeros((self.states, self.actions, self.states))
        rows = np.indices(self.successors.shape)
        np.add.at(kernel, (rows[0], rows[1], self.successors), self.probabilities)
        return kernel

    def under(self, probabilities: ArrayLike) -> Self:
        """The same MDP with other probabilities `[S, A, M]`; those that are 0 here must stay 0."""
        probabilities = _array("probabilities", probabilities, 3)
        if probabilities.shape == self.probabilities.shape:
            new = (probabilities > 0) & (self.probabilities == 0) & self.allowed[..., None]
            if new.any():
                state, action, place = np.argwhere(new)[0]
                raise InputError(
                    f"successor number {place} of action {action} in state {state} was given a probability "
                    f"of {probabilities[state, action, place]:g}: allowed is 0, as in the MDP itself"
                )
        return replace(self, probabilities=probabilities)

    def distribution(self, policy: ArrayLike) -> Floats:
        """A policy as distributions over actions `[S, A]`, from such distributions or from actions `[S]`."""
        policy = np.asarray(policy)
        if policy.shape == (self.states,) and np.issubdtype(policy.dtype, np.integer):
            if (policy < 0).any() or (policy >= self.actions).any():
                raise InputError(f"a policy with actions other than 0 to {self.actions - 1} was given")
            policy = np.eye(self.actions)[policy]
        if policy.shape != self.rewards.shape:
            raise InputError(
                f"a policy of shape {policy.shape} and type {policy.dtype} was given: "
                f"allowed are actions, ({self.states},), and distributions over them, {self.rewards.shape}"
            )
        policy = np.asarray(policy, np.float64)
        if not (policy >= 0).all() or not np.allclose(policy.sum(axis=1), 1, rtol=0, atol=_SUM):
            raise InputError(
                "a policy with a row that is no distribution over actions was given: allowed are rows of "
                "numbers from 0 with sum 1"
            )
        if (policy[~self.allowed] > 0).any():
            state, action = np.argwhere(~self.allowed & (policy > 0))[0]
            raise InputError(f"the policy takes action {action} in state {state}, which does not have it")
        return policy / policy.sum(axis=1, keepdims=True)


def numbers(name: str, given: ArrayLike) -> Floats:
    """A new array of the given numbers; an error names it if it can't be read as numbers."""
    try:
        return np.array(given, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} can't be read as numbers: give an array of them") from None


def _array(name: str, given: ArrayLike, dimensions: int) -> Floats:
    array = numbers(name, given)
    if array.ndim != dimensions:
        raise InputError(f"{name} of shape {array.shape} were given: allowed are {dimensions} dimensions")
    return array
