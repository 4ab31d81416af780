"""The value of a policy in an MDP without an adversary, and the share of time that it spends in each state.

For a policy's worst case, use the MDP `under` the kernel that `rapo.tabular.worst_kernel` gives.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse.linalg import spsolve

from rapo.arrays import Floats
from rapo.errors import InputError
from rapo.tabular.mdp import Mdp

_DENSE = 2000
"""Up to so many states a dense solve is faster than a sparse one."""


def exact_value(mdp: Mdp, policy: ArrayLike) -> Floats:
    """The ordinary value `[S]` of a policy, by a linear solve."""
    chosen = mdp.distribution(policy)
    return _solve(mdp.discount * transitions(mdp, chosen), average(chosen, mdp.rewards))


def occupancy(mdp: Mdp, policy: ArrayLike, initial: ArrayLike | None = None) -> Floats:
    """The discounted share of time `[S]` spent in each state from `initial` `[S]`, uniform if not given."""
    initial = np.full(mdp.states, 1 / mdp.states) if initial is None else np.asarray(initial, np.float64)
    if initial.shape != (mdp.states,) or not (initial >= 0).all() or abs(initial.sum() - 1) > 1e-6:
        raise InputError(
            f"initial of shape {initial.shape} with smallest number {initial.min(initial=np.inf):g} and sum "
            f"{initial.sum():g} was given: allowed is a distribution over the {mdp.states} states"
        )
    moves = transitions(mdp, mdp.distribution(policy))
    return (1 - mdp.discount) * _solve(sparse.csr_array(mdp.discount * moves.T), initial)


def average(policy: Floats, pairs: Floats) -> Floats:
    """Mean `[S]` of `pairs` `[S, A]` under a policy `[S, A]`, over the actions that the policy takes."""
    return np.where(policy > 0, policy * np.where(policy > 0, pairs, 0), 0).sum(axis=1)


def transitions(mdp: Mdp, policy: Floats) -> sparse.csr_array:
    """The sparse transition matrix `[S, S]` of an MDP under a policy `[S, A]`."""
    shape = mdp.successors.shape
    rows = np.broadcast_to(np.arange(mdp.states)[:, None, None], shape)
    shares = policy[..., None] * mdp.probabilities
    used = shares > 0
    return sparse.csr_array((shares[used], (rows[used], mdp.successors[used])), (mdp.states, mdp.states))


def _solve(matrix: sparse.csr_array, right: Floats) -> Floats:
    """The solution x `[S]` of x = matrix x + right."""
    if len(right) <= _DENSE:
        return np.linalg.solve(np.eye(len(right)) - matrix.toarray(), right)
    return np.asarray(spsolve(sparse.csc_array(sparse.eye_array(len(right)) - matrix), right))
