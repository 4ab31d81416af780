"""Running statistics."""

import jax.numpy as jnp
import numpy as np

from rapo.learner import normalize


def test_batches_add_up_to_the_statistics_of_all_rows():
    rows = jnp.asarray(np.random.default_rng(0).normal(5, 3, (120, 4)), jnp.float32)
    running = normalize.nothing_seen((4,))
    for batch in (rows[:7], rows[7:50], rows[50:]):
        running = normalize.observe(running, batch)
    assert running.seen == 120
    np.testing.assert_allclose(running.mean, rows.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(running.variance, rows.var(axis=0), rtol=1e-4)


def test_leading_axes_are_all_rows():
    rows = jnp.asarray(np.random.default_rng(1).normal(size=(6, 5, 3)), jnp.float32)
    a = normalize.observe(normalize.nothing_seen((3,)), rows)
    b = normalize.observe(normalize.nothing_seen((3,)), rows.reshape(30, 3))
    np.testing.assert_array_equal(a.mean, b.mean)
    assert a.seen == 30


def test_normalised_rows_have_mean_zero_and_variance_one_and_are_clipped():
    rows = jnp.asarray(np.random.default_rng(2).normal(-3, 0.1, (500, 2)), jnp.float32)
    running = normalize.observe(normalize.nothing_seen((2,)), rows)
    units = normalize.normalise(running, rows)
    np.testing.assert_allclose(units.mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(units.var(axis=0), 1, rtol=1e-3)
    assert float(normalize.normalise(running, jnp.full(2, 1e6)).max()) == 10


def test_before_anything_was_seen_nothing_changes():
    rows = jnp.array([[0.5, -2.0]])
    np.testing.assert_allclose(normalize.normalise(normalize.nothing_seen((2,)), rows), rows, rtol=1e-6)
    assert float(normalize.no_rewards(3).scale) == 1


def test_the_reward_scale_is_the_deviation_of_discounted_returns_cut_at_episode_ends():
    # gamma = 0.5; one environment; rewards 4, 2, 6 with an end after the second; then 8 in the next batch.
    # Carried: 4, 0.5 * 4 + 2 = 4, (cut) 6, 0.5 * 6 + 8 = 11.
    scale = normalize.no_rewards(1)
    rewards = jnp.array([[4.0], [2.0], [6.0]])
    ended = jnp.array([[False], [True], [False]])
    scale = normalize.observe_rewards(scale, rewards, ended, 0.5)
    np.testing.assert_allclose(scale.returns, [6])
    scale = normalize.observe_rewards(scale, jnp.array([[8.0]]), jnp.array([[True]]), 0.5)
    np.testing.assert_allclose(scale.returns, [0])
    np.testing.assert_allclose(scale.scale, np.std([4, 4, 6, 11]), rtol=1e-6)
