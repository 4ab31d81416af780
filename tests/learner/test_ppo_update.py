"""The PPO update."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rapo.learner import networks
from rapo.learner import ppo_update as ppo
from rapo.learner.ppo_update import Batch, Parameters, PpoSettings


def shuffles(settings, rows, seed=0):
    rng = np.random.default_rng(seed)
    return jnp.asarray(rng.permuted(np.tile(np.arange(rows, dtype=np.int32), (settings.epochs, 1)), axis=1))


def drawn(policy, key, seen):
    """Actions drawn from a policy for observations, and their log-probabilities."""
    mean = networks.forward(policy.mean, seen)
    action = mean + jnp.exp(policy.log_std) * jax.random.normal(key, mean.shape)
    return action, networks.log_probability(policy, seen, action)


def make(observation=3, action=2, rows=64, seed=0):
    keys = jax.random.split(jax.random.key(seed), 6)
    parameters = Parameters(
        networks.init_policy(keys[0], observation, action), networks.init_critic(keys[1], observation)
    )
    seen = jax.random.normal(keys[2], (rows, observation))
    taken, log_probability = drawn(parameters.policy, keys[3], seen)
    batch = Batch(
        seen,
        taken,
        log_probability,
        jax.random.normal(keys[4], (rows,)),
        jax.random.normal(keys[5], (rows,)),
        jnp.ones(rows),
    )
    return parameters, batch


def test_the_loss_is_the_clipped_surrogate_worked_out_by_hand():
    parameters, batch = make(rows=4)
    # Old log-probabilities chosen for these ratios; advantages of +-1 are in standard units as they are.
    ratio = jnp.array([1.0, 2.0, 0.5, 1.1])
    now = networks.log_probability(parameters.policy, batch.observation, batch.action)
    batch = batch._replace(log_probability=now - jnp.log(ratio), advantage=jnp.array([1.0, 1.0, -1.0, -1.0]))
    _, report = ppo.loss(parameters, batch, PpoSettings(clip=0.2))
    # min(r A, clip(r) A): 1, min(2, 1.2) = 1.2, min(-0.5, -0.8) = -0.8, min(-1.1, -1.1) = -1.1
    assert float(report.policy_loss) == pytest.approx(-(1 + 1.2 - 0.8 - 1.1) / 4, rel=1e-4)
    assert float(report.clip_fraction) == 0.5
    # KL estimate: mean of r - 1 - log r
    expected = np.mean(np.asarray(ratio) - 1 - np.log(np.asarray(ratio)))
    assert float(report.kl) == pytest.approx(float(expected), rel=1e-4)
    value = networks.value(parameters.critic, batch.observation)
    assert float(report.value_loss) == pytest.approx(
        0.5 * float(jnp.mean((value - batch.returns) ** 2)), rel=1e-5
    )


def test_the_whole_loss_adds_its_parts_with_their_weights():
    parameters, batch = make()
    settings = PpoSettings(value_cost=0.7, entropy_bonus=0.3)
    whole, report = ppo.loss(parameters, batch, settings)
    expected = report.policy_loss + 0.7 * report.value_loss - 0.3 * report.entropy
    assert float(whole) == pytest.approx(float(expected), rel=1e-5)


def test_samples_without_weight_do_not_count():
    parameters, batch = make(rows=64)
    half = jnp.arange(64) < 32
    poisoned = batch._replace(
        weight=half.astype(jnp.float32),
        advantage=jnp.where(half, batch.advantage, 1e6),
        returns=jnp.where(half, batch.returns, -1e6),
    )
    poisoned, alone = ppo.standardise(poisoned), ppo.standardise(jax.tree.map(lambda x: x[:32], batch))
    assert float(alone.advantage.mean()) == pytest.approx(0, abs=1e-6)
    assert float(alone.advantage.std()) == pytest.approx(1, rel=1e-5)
    for a, b in zip(
        jax.tree.leaves(jax.grad(lambda p: ppo.loss(p, poisoned, PpoSettings())[0])(parameters)),
        jax.tree.leaves(jax.grad(lambda p: ppo.loss(p, alone, PpoSettings())[0])(parameters)),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-6)


def test_a_policy_learns_the_action_that_pays():
    settings = PpoSettings(epochs=4, minibatches=8)
    parameters, _ = make(observation=1, action=1)
    state = ppo.init_optimiser(parameters, settings)
    seen = jnp.zeros((512, 1))

    @jax.jit
    def improve(parameters, state, key, orders):
        action, log_probability = drawn(parameters.policy, key, seen)
        reward = -((action[:, 0] - 0.7) ** 2)
        advantage = reward - networks.value(parameters.critic, seen)
        batch = Batch(seen, action, log_probability, advantage, reward, jnp.ones(512))
        return ppo.update(parameters, state, batch, orders, 3e-3, settings)

    report = None
    for i in range(60):
        key, orders = jax.random.fold_in(jax.random.key(0), i), shuffles(settings, 512, i)
        parameters, state, report = improve(parameters, state, key, orders)
    mean = float(networks.forward(parameters.policy.mean, seen[:1])[0, 0])
    assert mean == pytest.approx(0.7, abs=0.1)
    assert float(jnp.exp(parameters.policy.log_std[0])) < 0.6
    assert report is not None
    assert all(jnp.isfinite(x) for x in report)


def test_a_target_kl_stops_the_update_where_it_is_passed():
    parameters, batch = make(rows=256)
    results = {}
    for target in (None, 1e-9, 3e-3):
        settings = PpoSettings(epochs=20, minibatches=4, target_kl=target)
        state = ppo.init_optimiser(parameters, settings)
        results[target] = ppo.update(parameters, state, batch, shuffles(settings, 256), 1e-3, settings)

    def moved(target):
        new = results[target][0].policy.mean[0]["kernel"]
        return float(jnp.abs(new - parameters.policy.mean[0]["kernel"]).max())

    assert 0 < moved(1e-9) < moved(3e-3) < moved(None)
    assert float(results[3e-3][2].kl) <= 3e-3


def test_the_order_of_the_samples_matters_and_nothing_else_does():
    parameters, batch = make(rows=128)
    settings = PpoSettings(epochs=2, minibatches=4)
    state = ppo.init_optimiser(parameters, settings)
    update = jax.jit(lambda orders: ppo.update(parameters, state, batch, orders, 1e-3, settings)[0])
    first, same, other = (update(shuffles(settings, 128, k)) for k in (0, 0, 1))
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(same), strict=True):
        np.testing.assert_array_equal(a, b)
    assert any((a != b).any() for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(other), strict=True))


def test_a_step_is_as_long_as_the_learning_rate_says():
    parameters, batch = make()
    settings = PpoSettings(epochs=1, minibatches=1)
    state = ppo.init_optimiser(parameters, settings)

    def moved(rate):
        new, _, _ = ppo.update(parameters, state, batch, shuffles(settings, 64), rate, settings)
        return float(jnp.abs(new.policy.log_std - parameters.policy.log_std).max())

    # Adam's first step is the rate itself in every direction, but for its epsilon.
    assert moved(1e-3) == pytest.approx(1e-3, rel=0.05)
    assert moved(2e-3) == pytest.approx(2 * moved(1e-3), rel=1e-3)
    assert moved(0.0) == 0


def test_the_samples_that_count_are_spread_evenly_over_the_minibatches():
    weight = jnp.zeros(64).at[jnp.arange(0, 64, 5)].set(1.0)  # 13 of them
    shuffled = jnp.asarray(np.random.default_rng(0).permutation(64))
    order = ppo.spread(shuffled, weight, 4)
    assert sorted(np.asarray(order).reshape(-1).tolist()) == list(range(64))
    assert sorted(np.asarray(weight[order].sum(axis=1)).tolist()) == [3, 3, 3, 4]
    np.testing.assert_array_equal(ppo.spread(shuffled, jnp.ones(64), 4), shuffled.reshape(16, 4).T)
    # Rows left over are rows that do not count: 64 = 6 x 10 + 4.
    assert float(weight[ppo.spread(shuffled, weight, 6)].sum()) == 13
