"""Sensitivities: recovered from probes where the value is linear, and honest about how well."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rapo.learner import sensitivity

INPUTS, PARAMETERS, REMEMBERED = 3, 2, 512


def true_slopes(inputs):
    """A world whose value changes by 2 x with the first parameter, and by -1 with the second."""
    return jnp.stack((2 * inputs[:, 0], jnp.full(len(inputs), -1.0)), axis=1)


def probes(seed, count=128):
    keys = jax.random.split(jax.random.key(seed), 2)
    inputs = jax.random.normal(keys[0], (count, INPUTS))
    moves = jnp.sign(jax.random.normal(keys[1], (count, PARAMETERS)))
    changes = jnp.sum(true_slopes(inputs) * moves, axis=1)
    return sensitivity.compare(inputs, moves, changes, jnp.ones(count, bool))


def learned(updates=150):
    state = sensitivity.init(jax.random.key(0), INPUTS, PARAMETERS, (32, 32), REMEMBERED, 3e-3)
    rng = np.random.default_rng(0)
    step = jax.jit(sensitivity.learn, static_argnames="rate")
    for update in range(updates):
        batches = rng.integers(REMEMBERED, size=(8, 64), dtype=np.int32)
        state = step(state, probes(update), batches, rate=3e-3)
    return state


def test_the_slopes_of_a_linear_world_are_found():
    state = learned()
    inputs = jax.random.normal(jax.random.key(99), (200, INPUTS))
    error = sensitivity.predict(state.layers, state.scale, inputs) - true_slopes(inputs)
    assert float(jnp.mean(error**2)) < 0.02 * float(jnp.mean(true_slopes(inputs) ** 2))
    assert float(state.r2) > 0.95
    assert float(sensitivity.explained(state, probes(1000))) > 0.95


def test_a_network_that_knows_nothing_predicts_nothing_and_explains_nothing():
    state = sensitivity.init(jax.random.key(0), INPUTS, PARAMETERS, (8,), REMEMBERED, 1e-3)
    assert not sensitivity.predict(state.layers, state.scale, jnp.ones((4, INPUTS))).any()
    assert float(sensitivity.explained(state, probes(0))) == 0


def test_a_probe_is_the_rise_along_the_direction_between_the_dynamics():
    found = sensitivity.compare(
        jnp.zeros((3, INPUTS)),
        moves=jnp.array([[3.0, 4.0], [0.01, 0.0], [1.0, 0.0]]),
        changes=jnp.array([10.0, 1.0, jnp.nan]),
        valid=jnp.array([True, True, False]),
    )
    np.testing.assert_allclose(found.directions[0], [0.6, 0.8], rtol=1e-6)
    assert float(found.rises[0]) == pytest.approx(2.0)
    assert found.usable.tolist() == [True, False, False]  # the second is too close, the third went wrong
    assert np.isfinite(found.rises).all()


def test_probes_that_are_not_usable_change_nothing():
    state = learned(20)
    useless = probes(5)._replace(usable=jnp.zeros(128, bool))
    full = state._replace(
        memory=jax.tree.map(lambda x: x, state.memory._replace(usable=jnp.zeros(512, bool)))
    )
    after = sensitivity.learn(full, useless, jnp.zeros((1, 8), jnp.int32), 0.0)
    for old, new in zip(jax.tree.leaves(full.layers), jax.tree.leaves(after.layers), strict=True):
        np.testing.assert_array_equal(old, new)


def test_falls_off_a_cliff_are_cut_off():
    state = learned(20)
    wild = probes(7)
    wild = wild._replace(rises=wild.rises.at[0].set(1e6))
    cut = sensitivity.explained(state, wild)
    assert float(cut) > -200
    after = sensitivity.learn(state, wild, jnp.zeros((1, 8), jnp.int32), 1e-3)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(after))


def test_the_memory_keeps_the_newest_probes_in_order():
    state = learned(3)
    np.testing.assert_array_equal(state.memory.rises[-128:], probes(2).rises)
    np.testing.assert_array_equal(state.memory.rises[-256:-128], probes(1).rises)
    assert not state.memory.usable[:128].any()
