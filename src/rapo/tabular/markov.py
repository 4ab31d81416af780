"""What a policy does in one MDP as it is, with no adversary: its value and where it spends its time.

Together with `worst_kernel` it says the same of a robust one: the worst case is the MDP `under` that kernel.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.linalg import spsolve

from rapo.arrays import Floats
from rapo.errors import InputError
from rapo.tabular.mdp import Mdp

_DENSE = 2000
"""Up to so many states a dense solve is quicker than one that looks for zeros."""


def exact_value(mdp: Mdp, policy: ArrayLike) -> Floats:
    """The ordinary value `[S]` of a policy, by a linear solve."""
    chosen = mdp.distribution(policy)
    return _solve(mdp.discount * transitions(mdp, chosen), average(chosen, mdp.rewards))


def occupancy(mdp: Mdp, policy: ArrayLike, initial: ArrayLike | None = None) -> Floats:
    """The discounted share of time `[S]` spent in each state from `initial` `[S]`, uniform if not given."""
    initial = np.full(mdp.states, 1 / mdp.states) if initial is None else np.asarray(initial, np.float64)
    if initial.shape != (mdp.states,) or not (initial >= 0).all() or abs(initial.sum() - 1) > 1e-6:
        raise InputError(f"initial must be a distribution over the {mdp.states} states")
    moves = transitions(mdp, mdp.distribution(policy))
    return (1 - mdp.discount) * _solve(sparse.csr_array(mdp.discount * moves.T), initial)


def average(policy: Floats, pairs: Floats) -> Floats:
    """Mean `[S]` of `[S, A]` under a policy `[S, A]`; actions it never takes may be worth minus infinity."""
    return np.where(policy > 0, policy * np.where(policy > 0, pairs, 0), 0).sum(axis=1)


def transitions(mdp: Mdp, policy: Floats) -> sparse.csr_array:
    """The chain `[S, S]` that a policy `[S, A]` makes of an MDP."""
    shape = mdp.successors.shape
    rows = np.broadcast_to(np.arange(mdp.states)[:, None, None], shape)
    shares = policy[..., None] * mdp.probabilities
    used = shares > 0
    return sparse.csr_array((shares[used], (rows[used], mdp.successors[used])), (mdp.states, mdp.states))


def _solve(matrix: sparse.csr_array, right: Floats) -> Floats:
    """x with x = matrix x + right."""
    if len(right) <= _DENSE:
        return np.linalg.solve(np.eye(len(right)) - matrix.toarray(), right)
    return np.asarray(spsolve(sparse.csc_array(sparse.eye_array(len(right)) - matrix), right))
