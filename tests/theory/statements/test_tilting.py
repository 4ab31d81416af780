"""Tilts written out, against the learner's; rows of any shape, against the public solver."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rapo import robust_value
from rapo.learner import dual
from rapo.theory.statements.rates import agree, power, rate
from rapo.theory.statements.tilting import BLOCK, distributions, tilted, worst

learners = jax.jit(lambda v, w, eta: (dual.tilt(v, w, eta), dual.kl(v, w, eta), dual.soft(v, w, eta)))
often = settings(deadline=None, max_examples=40, derandomize=True, database=None)


@often
@given(
    arrays(np.float64, 5, elements=st.floats(-20, 20)),
    arrays(np.float64, 5, elements=st.floats(0, 1)).filter(lambda x: x.sum() > 0.1),
    st.floats(1e-3, 20),
)
def test_tilts_are_those_of_the_learner(values, weights, temperature):
    weights = weights / weights.sum()
    ours = tilted(values, weights, temperature)
    with jax.enable_x64(True):
        theirs = learners(*map(jnp.asarray, (values, weights, temperature)))
    for mine, learnt in zip((ours.weights, ours.kl, -ours.log_partition / temperature), theirs, strict=True):
        np.testing.assert_allclose(mine, learnt, atol=1e-9)
    np.testing.assert_allclose(ours.mean, ours.weights @ values, atol=1e-9)
    np.testing.assert_allclose(ours.variance, ours.weights @ (values - ours.mean) ** 2, atol=1e-9)


def test_rows_are_solved_as_by_the_public_function():
    rng = np.random.default_rng(0)
    shape = (2, BLOCK[0] // 2 + 1, 5)
    values, weights = rng.normal(size=shape), distributions(rng, *shape)
    budget = rng.uniform(0, 2, shape[:-1])
    ours, theirs = worst(values, weights, budget), robust_value(values, weights, budget=budget)
    np.testing.assert_allclose(ours.value, theirs.value, atol=1e-12)
    np.testing.assert_allclose(ours.weights, theirs.weights, atol=1e-12)
    np.testing.assert_allclose(ours.kl, theirs.kl, atol=1e-12)
    np.testing.assert_allclose(ours.temperature, theirs.temperature, rtol=1e-9)


def test_budgets_and_weights_broadcast_against_rows():
    values = np.array([[0.0, 1.0], [0.0, 2.0]])
    found = worst(values, [0.5, 0.5], np.array([[0.0], [0.1], [9.0]]))
    assert found.value.shape == (3, 2)
    np.testing.assert_allclose(found.value[0], [0.5, 1.0])
    np.testing.assert_allclose(found.value[1, 1], 2 * found.value[1, 0])
    np.testing.assert_allclose(found.value[2], 0)


def test_a_rate_knows_its_slope_and_the_line_it_is_held_against():
    x = np.array([1.0, 10.0, 100.0])
    found = rate("title", ("x", "y"), x, 3 * x**-0.5, -0.5)
    assert abs(found.slope + 0.5) < 1e-12
    np.testing.assert_allclose(found.curves[1].y, found.curves[0].y)
    assert agree((found,), 0.01)
    assert not agree((found, rate("title", ("x", "y"), x, x, 2)), 0.01)
    assert [power(p) for p in (-0.5, -0.25, -1, 2, 0.5)] == ["-1/2", "-1/4", "-1", "2", "1/2"]
