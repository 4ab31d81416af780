"""Episodes across rollouts, and the worst trajectories within one."""

import jax.numpy as jnp
import numpy as np
import pytest

from rapo.learner.worst_trajectories import among_worst, worth
from rapo.training.episodes import no_episodes


def test_an_episode_is_summed_across_rollouts_and_ends_once():
    episodes = no_episodes(2)
    valid = np.ones((2, 2), bool)
    # Environment 0: 1 + 2, goes on. Environment 1: 5 ends, then 7.
    returns, lengths = episodes.finish([[1, 5], [2, 7]], np.array([[False, True], [False, False]]), valid)
    assert (returns.tolist(), lengths.tolist()) == ([5.0], [1.0])
    # Environment 0: 1 + 2 + 3 = 6 over 3 steps. Environment 1: 7 + 8 + 9 = 24 over 3.
    returns, lengths = episodes.finish([[3, 8], [0, 9]], np.array([[True, False], [False, True]]), valid)
    assert (returns.tolist(), lengths.tolist()) == ([6.0, 24.0], [3.0, 3.0])


def test_a_diverged_episode_is_not_averaged_in():
    episodes = no_episodes(1)
    returns, _ = episodes.finish([[1.0], [2.0]], np.array([[True], [True]]), np.array([[False], [True]]))
    assert returns.tolist() == [2.0]


def test_worth_completes_what_is_cut_off_and_not_what_terminated():
    reward = jnp.array([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0]])
    next_value = jnp.array([[10.0, 10.0], [20.0, 20.0], [30.0, 30.0]])
    terminated = jnp.array([[False, False], [True, False], [False, False]])
    ended = jnp.array([[False, True], [True, False], [False, False]])
    found = worth(reward, next_value, terminated, ended, discount=0.5)
    # Column 0: 1 + 2/2 = 2 (terminated), then 4 + 30/2 = 19.
    # Column 1: 1 + 10/2 = 6 (time limit), then 2 + (4 + 30/2)/2 = 11.5.
    np.testing.assert_allclose(found, [[2.0, 6.0], [2.0, 11.5], [19.0, 11.5]])


@pytest.mark.parametrize(
    ("fraction", "kept"),
    [(1.0, {2.0, 6.0, 19.0, 11.5}), (0.5, {2.0, 6.0}), (0.51, {2.0, 6.0, 11.5}), (0.1, {2.0})],
)
def test_exactly_the_worst_trajectories_are_kept(fraction, kept):
    score = jnp.array([[2.0, 6.0], [2.0, 11.5], [19.0, 11.5]])
    ended = jnp.array([[False, True], [True, False], [False, False]])
    mask = np.asarray(among_worst(score, ended, fraction))
    assert set(np.asarray(score)[mask].tolist()) == kept
    # All steps of a trajectory, or none.
    np.testing.assert_array_equal(mask, np.isin(np.asarray(score), list(kept)))


def test_of_equal_trajectories_only_as_many_as_asked_for_are_kept():
    mask = among_worst(jnp.ones((4, 10)), jnp.zeros((4, 10), bool), 0.3)
    assert mask.all(axis=0).sum() == 3
    assert mask.sum() == 12
