"""Policy and critic networks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from rapo.learner import networks


def test_a_network_is_its_layers_written_out():
    layers = networks.init_layers(jax.random.key(0), 3, 2, (5,), gain=1.0)
    x = np.array([0.1, -0.4, 0.7])
    hidden = np.tanh(x @ np.asarray(layers[0]["kernel"]) + np.asarray(layers[0]["bias"]))
    expected = hidden @ np.asarray(layers[1]["kernel"]) + np.asarray(layers[1]["bias"])
    np.testing.assert_allclose(networks.forward(layers, jnp.asarray(x)), expected, rtol=1e-5)


def test_kernels_are_orthogonal_with_their_gains():
    layers = networks.init_layers(jax.random.key(1), 8, 8, (8,), gain=0.01)
    for layer, gain in zip(layers, (2**0.5, 0.01), strict=True):
        np.testing.assert_allclose(layer["kernel"].T @ layer["kernel"], gain**2 * np.eye(8), atol=1e-5 * gain)


def test_log_probability_and_entropy_are_those_of_independent_gaussians():
    policy = networks.init_policy(jax.random.key(0), 4, 3)
    policy = policy._replace(log_std=jnp.array([-1.0, 0.0, 0.5]))
    observation = jax.random.normal(jax.random.key(1), (6, 4))
    mean = networks.forward(policy.mean, observation)
    deviation = np.exp([-1.0, 0.0, 0.5])
    action = mean + deviation * jax.random.normal(jax.random.key(2), mean.shape)
    log_probability = networks.log_probability(policy, observation, action)
    reference = stats.norm.logpdf(np.asarray(action), np.asarray(mean), deviation).sum(axis=1)
    np.testing.assert_allclose(log_probability, reference, rtol=1e-4)
    expected = stats.norm.entropy(0, deviation).sum()
    assert float(networks.entropy(policy)) == pytest.approx(float(expected), rel=1e-5)


def test_a_critic_gives_one_value_for_each_observation():
    critic = networks.init_critic(jax.random.key(0), 5)
    assert networks.value(critic, jnp.zeros((7, 3, 5))).shape == (7, 3)
