"""AdvNet: predicts temperatures, and learns to spend the budget."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from rapo.learner import advnet, dual
from rapo.learner.tilted_laws import FiniteLaw


def toy(budget=0.1, rows=256):
    """Pairs whose branch values spread the wider the larger their one input is."""
    keys = jax.random.split(jax.random.key(0))
    inputs = jax.random.uniform(keys[0], (rows, 1), minval=-1, maxval=1)
    values = jnp.exp(inputs) * jax.random.normal(keys[1], (rows, 8))
    weights = jnp.full(8, 1 / 8)
    exact = dual.solve(values, weights, budget)
    scale = jnp.sqrt(jnp.mean(jnp.var(values, axis=1)))
    return advnet.TiltedRows(
        inputs, FiniteLaw(values, weights), jnp.asarray(budget), scale, exact.temperature
    ), exact


def finite(batch):
    assert isinstance(batch.law, FiniteLaw)
    return batch.law


def train(batch, updates, **options):
    layers = advnet.init(jax.random.key(1), 1)
    optimiser = optax.adam(3e-3)
    state = optimiser.init(layers)
    step = jax.jit(lambda layers, state: advnet.update(layers, optimiser, state, batch, 8, **options))
    for _ in range(updates):
        layers, state, _ = step(layers, state)
    return layers


@pytest.mark.parametrize("lowers", ["tilted", "soft"])
def test_under_the_feasible_projection_it_climbs_until_the_budget_stops_it(lowers):
    batch, exact = toy()
    first = advnet.predict(advnet.init(jax.random.key(1), 1), batch.inputs, batch.scale)
    assert float(dual.kl(finite(batch).values, finite(batch).weights, first).mean()) < 0.02
    layers = train(batch, 150, lowers=lowers)
    predicted = advnet.predict(layers, batch.inputs, batch.scale)
    allowed = advnet.project(predicted, batch.exact)
    used = dual.kl(finite(batch).values, finite(batch).weights, allowed)
    assert float(used.max()) < 0.1 * (1 + 1e-3)
    assert float(used.mean()) > 0.7 * 0.1
    # It lowers the value nearly as far as the exact adversary does, and never further.
    mean = finite(batch).values.mean(axis=1)
    lowered = dual.target(finite(batch).values, finite(batch).weights, allowed, 0.1)
    assert (lowered >= exact.value - 1e-4).all()
    assert float((mean - lowered).mean()) > 0.9 * float((mean - exact.value).mean())


def test_it_learns_that_wider_spreads_need_milder_temperatures():
    batch, _ = toy()
    layers = train(batch, 150)
    low, high = advnet.predict(layers, jnp.array([[-0.9], [0.9]]), batch.scale)
    assert float(low) > 2 * float(high)


def test_supervised_training_regresses_on_the_exact_temperature():
    batch, _ = toy()
    layers = train(batch, 150, kind="supervised")
    predicted = advnet.predict(layers, batch.inputs, batch.scale)
    assert np.corrcoef(predicted, batch.exact)[0, 1] > 0.8
    assert float(predicted.mean()) == pytest.approx(float(batch.exact.mean()), rel=0.05)


def test_projections_bound_the_temperature_and_pass_the_gradient_straight_through():
    predicted, exact = jnp.array([0.5, 2.0]), jnp.array([1.0, 1.0])
    np.testing.assert_allclose(advnet.project(predicted, exact), [0.5, 1.0])
    np.testing.assert_allclose(advnet.project(predicted, exact, "tight"), [1.0, 1.0])
    for gradient in (
        jax.grad(lambda p: advnet.project(p, exact, "feasible").sum())(predicted),
        jax.grad(lambda p: advnet.project(p, exact, "tight").sum())(predicted),
    ):
        np.testing.assert_allclose(gradient, [1, 1])


def test_predictions_are_never_negative_and_never_beyond_the_limit():
    layers = advnet.init(jax.random.key(0), 2, first=0.5)
    inputs = 10 * jax.random.normal(jax.random.key(1), (100, 2))
    predicted = advnet.predict(layers, inputs, jnp.asarray(2.0))
    np.testing.assert_allclose(predicted, 0.25, rtol=0.2)
    loud = [*layers[:-1], {"kernel": 1e6 * layers[-1]["kernel"], "bias": layers[-1]["bias"]}]
    predicted = advnet.predict(loud, inputs, jnp.asarray(2.0))
    assert float(predicted.min()) >= 0
    assert float(predicted.max()) == 50


def test_the_loss_does_not_depend_on_the_units_of_the_values():
    batch, _ = toy()
    layers = advnet.init(jax.random.key(1), 1)
    thousand = batch._replace(
        law=FiniteLaw(1000 * finite(batch).values, finite(batch).weights),
        scale=1000 * batch.scale,
        exact=batch.exact / 1000,
    )
    assert float(advnet.loss(layers, thousand)) == pytest.approx(float(advnet.loss(layers, batch)), rel=1e-4)
