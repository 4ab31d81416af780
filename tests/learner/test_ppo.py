"""The PPO update."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from rapo.learner import networks, ppo
from rapo.learner.ppo import Batch, Parameters, Settings


def make(observation=3, action=2, rows=64, seed=0):
    keys = jax.random.split(jax.random.key(seed), 6)
    parameters = Parameters(
        networks.init_policy(keys[0], observation, action), networks.init_critic(keys[1], observation)
    )
    seen = jax.random.normal(keys[2], (rows, observation))
    taken, log_probability = networks.act(parameters.policy, keys[3], seen)
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
    _, report = ppo.loss(parameters, batch, Settings(clip=0.2))
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
    settings = Settings(value_cost=0.7, entropy_bonus=0.3)
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
    alone = jax.tree.map(lambda x: x[:32], batch)
    for a, b in zip(
        jax.tree.leaves(jax.grad(lambda p: ppo.loss(p, poisoned, Settings())[0])(parameters)),
        jax.tree.leaves(jax.grad(lambda p: ppo.loss(p, alone, Settings())[0])(parameters)),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-6)


def test_a_policy_learns_the_action_that_pays():
    settings = Settings(epochs=4, minibatches=8)
    optimiser = ppo.make_optimiser(3e-3, settings)
    parameters, _ = make(observation=1, action=1)
    state = optimiser.init(parameters)
    seen = jnp.zeros((512, 1))

    @jax.jit
    def improve(parameters, state, key):
        act_key, update_key = jax.random.split(key)
        action, log_probability = networks.act(parameters.policy, act_key, seen)
        reward = -((action[:, 0] - 0.7) ** 2)
        advantage = reward - networks.value(parameters.critic, seen)
        batch = Batch(seen, action, log_probability, advantage, reward, jnp.ones(512))
        return ppo.update(parameters, optimiser, state, batch, update_key, settings)

    report = None
    for i in range(60):
        parameters, state, report = improve(parameters, state, jax.random.fold_in(jax.random.key(0), i))
    mean = float(networks.forward(parameters.policy.mean, seen[:1])[0, 0])
    assert mean == pytest.approx(0.7, abs=0.1)
    assert float(jnp.exp(parameters.policy.log_std[0])) < 0.6
    assert report is not None
    assert all(jnp.isfinite(x) for x in report)


def test_a_target_kl_stops_the_update_where_it_is_passed():
    parameters, batch = make(rows=256)
    results = {}
    for target in (None, 1e-9, 3e-3):
        settings = Settings(epochs=20, minibatches=4, target_kl=target)
        optimiser = ppo.make_optimiser(1e-3, settings)
        results[target] = ppo.update(
            parameters, optimiser, optimiser.init(parameters), batch, jax.random.key(0), settings
        )

    def moved(target):
        new = results[target][0].policy.mean[0]["kernel"]
        return float(jnp.abs(new - parameters.policy.mean[0]["kernel"]).max())

    assert 0 < moved(1e-9) < moved(3e-3) < moved(None)
    assert float(results[3e-3][2].kl) <= 3e-3


def test_the_key_decides_the_shuffle_and_nothing_else_does():
    parameters, batch = make(rows=128)
    settings = Settings(epochs=2, minibatches=4)
    optimiser = ppo.make_optimiser(1e-3, settings)
    state = optimiser.init(parameters)
    update = jax.jit(lambda key: ppo.update(parameters, optimiser, state, batch, key, settings)[0])
    first, same, other = (update(jax.random.key(k)) for k in (0, 0, 1))
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(same), strict=True):
        np.testing.assert_array_equal(a, b)
    assert any((a != b).any() for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(other), strict=True))


def test_a_learning_rate_can_fall_to_nothing():
    parameters, batch = make()
    settings = Settings(epochs=1, minibatches=1)
    optimiser = ppo.make_optimiser(optax.linear_schedule(1e-3, 0.0, 2), settings)
    state = optimiser.init(parameters)
    changes = []
    for i in range(3):
        new, state, _ = ppo.update(parameters, optimiser, state, batch, jax.random.key(i), settings)
        changes.append(float(jnp.abs(new.policy.log_std - parameters.policy.log_std).max()))
        parameters = new
    assert changes[0] > changes[1] > changes[2] == 0
