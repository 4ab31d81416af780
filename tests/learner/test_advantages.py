"""One-step targets and generalised advantages, with the sums written out."""

import jax.numpy as jnp
import numpy as np

from rapo.learner import advantages as targets


def test_a_branch_is_worth_its_reward_and_the_discounted_value_it_leads_to_unless_it_ends_there():
    reward = jnp.array([[1.0, 2.0, 3.0]])
    terminated = jnp.array([[False, True, False]])
    next_value = jnp.array([[10.0, 20.0, jnp.nan]]).at[0, 2].set(30.0)
    np.testing.assert_allclose(
        targets.branch_values(reward, terminated, next_value, 0.9), [[1 + 9, 2, 3 + 27]], rtol=1e-6
    )


def test_the_papers_form_shares_the_reward_and_the_end_of_the_step_taken():
    values = targets.branch_values(jnp.array([[5.0]]), jnp.array([[False]]), jnp.array([[10.0, 20.0]]), 0.5)
    np.testing.assert_allclose(values, [[10.0, 15.0]])


def test_a_terminal_branch_ignores_its_value_whatever_that_is():
    values = targets.branch_values(jnp.ones(1), jnp.array([True]), jnp.array([jnp.nan]), 0.9)
    np.testing.assert_array_equal(values, [1.0])


def test_advantages_of_a_trajectory_with_a_termination_and_a_truncation():
    # One environment, five steps, gamma = 0.9, lambda = 0.5, so that gamma lambda = 0.45.
    # Step 1 terminates: its target is its reward alone. Step 3 is truncated: its target still has the value
    # of the state it led to. Both cut the sum.
    discount, decay = 0.9, 0.5
    reward = jnp.array([1.0, 2.0, 3.0, 4.0, 5.0])[:, None]
    terminated = jnp.array([False, True, False, False, False])[:, None]
    truncated = jnp.array([False, False, False, True, False])[:, None]
    value = jnp.array([10.0, 20.0, 30.0, 40.0, 50.0])[:, None]
    next_value = jnp.array([20.0, 77.0, 40.0, 44.0, 60.0])[:, None]
    target = targets.branch_values(reward, terminated, next_value, discount)
    # y = 1+18, 2, 3+36, 4+39.6, 5+54
    np.testing.assert_allclose(target[:, 0], [19, 2, 39, 43.6, 59], rtol=1e-6)
    # delta = y - V = 9, -18, 9, 3.6, 9
    # A4 = 9; A3 = 3.6 (cut); A2 = 9 + 0.45 * 3.6 = 10.62; A1 = -18 (cut); A0 = 9 + 0.45 * -18 = 0.9
    advantage, returns = targets.advantages(target, value, terminated | truncated, discount, decay)
    np.testing.assert_allclose(advantage[:, 0], [0.9, -18, 10.62, 3.6, 9], rtol=1e-5)
    np.testing.assert_allclose(returns[:, 0], [10.9, 2, 40.62, 43.6, 59], rtol=1e-5)


def test_without_decay_the_advantage_is_the_one_step_error_and_with_full_decay_the_whole_sum():
    rng = np.random.default_rng(0)
    target, value = (jnp.asarray(rng.normal(size=(6, 3)), jnp.float32) for _ in range(2))
    never = jnp.zeros((6, 3), bool)
    one_step, _ = targets.advantages(target, value, never, 0.9, 0.0)
    np.testing.assert_allclose(one_step, target - value, rtol=1e-6)
    whole, _ = targets.advantages(target, value, never, 0.9, 1.0)
    weights = 0.9 ** np.arange(6)
    np.testing.assert_allclose(whole[0], weights @ np.asarray(target - value), rtol=1e-5)


def test_environments_do_not_mix():
    rng = np.random.default_rng(1)
    target, value = (jnp.asarray(rng.normal(size=(5, 4)), jnp.float32) for _ in range(2))
    ended = jnp.asarray(rng.random((5, 4)) < 0.3)
    together, _ = targets.advantages(target, value, ended, 0.99, 0.95)
    for i in range(4):
        alone, _ = targets.advantages(target[:, [i]], value[:, [i]], ended[:, [i]], 0.99, 0.95)
        np.testing.assert_allclose(together[:, i], alone[:, 0], rtol=1e-6)


def test_explained_variance_is_one_for_the_truth_and_zero_for_a_constant():
    returns = jnp.arange(10.0)
    assert targets.explained_variance(returns, returns) == 1
    np.testing.assert_allclose(targets.explained_variance(jnp.full(10, 3.0), returns), 0, atol=1e-6)
