"""The closed form of the tilted box: against quadrature, many models, and its draws against its law."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

from rapo.learner import box_tilt, dual

SLOPES = jnp.array([[0.3, -0.02, 0.0, 1.2], [5.0, 0.1, -0.4, 0.0], [0.001, 0.002, -0.003, 0.004]])


def by_quadrature(z):
    """Mean, variance and log of the partition function of a density ~ exp(z x) on [-1, 1], and its KL."""
    total = quad(lambda x: np.exp(z * x) / 2, -1, 1)[0]
    mean = quad(lambda x: x * np.exp(z * x) / 2 / total, -1, 1)[0]
    variance = quad(lambda x: (x - mean) ** 2 * np.exp(z * x) / 2 / total, -1, 1)[0]
    kl = quad(lambda x: np.exp(z * x) / 2 / total * (z * x - np.log(total)), -1, 1)[0]
    return mean, variance, np.log(total), kl


@pytest.mark.parametrize("z", [-30.0, -4.0, -0.51, -0.49, -0.01, 0.0, 1e-4, 0.3, 0.5, 2.0, 15.0])
def test_mean_variance_partition_and_kl_are_those_of_quadrature(z):
    mean, variance, partition, kl = by_quadrature(z)
    at = jnp.array([z])
    np.testing.assert_allclose(float(box_tilt.mean(at)[0]), mean, rtol=2e-6, atol=1e-9)
    np.testing.assert_allclose(float(box_tilt.variance(at)[0]), variance, rtol=2e-5)
    np.testing.assert_allclose(float(box_tilt.log_partition(at)[0]), partition, rtol=2e-6, atol=1e-9)
    np.testing.assert_allclose(float(box_tilt.kl(-at[None], jnp.ones(1))[0]), kl, rtol=2e-4, atol=1e-9)


@pytest.mark.parametrize("budget", [0.01, 0.3, 1.5, 5.0])
def test_the_temperature_that_is_found_uses_up_the_budget(budget):
    temperature = box_tilt.solve(SLOPES, budget)
    np.testing.assert_allclose(box_tilt.kl(SLOPES, temperature), budget, rtol=1e-4)


def test_eight_iterations_are_enough_for_the_budgets_of_a_step():
    slopes = jax.random.normal(jax.random.key(0), (500, 4)) * jnp.array([1.0, 0.1, 0.01, 1e-4])
    for budget in (0.1, 1.5, 3.0):
        temperature = box_tilt.solve(slopes, budget, iterations=8)
        np.testing.assert_allclose(box_tilt.kl(slopes, temperature), budget, rtol=1e-3)


def test_without_a_budget_or_without_slopes_nothing_is_tilted():
    assert box_tilt.solve(SLOPES, 0.0).tolist() == [0, 0, 0]
    assert box_tilt.solve(jnp.zeros((2, 3)), 1.0).tolist() == [0, 0]
    assert box_tilt.tilted(SLOPES, jnp.zeros(3)).tolist() == [0, 0, 0]


def test_a_budget_beyond_all_bounds_takes_the_worst_corner():
    slopes = jnp.array([[2.0, -1.0]])
    temperature = box_tilt.solve(slopes, 100.0)
    np.testing.assert_allclose(box_tilt.tilted(slopes, temperature), -3.0, rtol=1e-4)


def test_at_the_best_temperature_risk_less_budget_over_temperature_is_the_tilted_mean():
    temperature = box_tilt.solve(SLOPES, 0.7)
    dual_value = box_tilt.soft(SLOPES, temperature) - 0.7 / temperature
    np.testing.assert_allclose(dual_value, box_tilt.tilted(SLOPES, temperature), rtol=1e-3)
    other = box_tilt.soft(SLOPES, 2 * temperature) - 0.7 / (2 * temperature)
    assert (other < dual_value).all()


def test_the_finite_ensemble_comes_closer_to_the_box_as_it_grows():
    slopes, budget = jnp.array([0.5, -1.0]), 0.4
    exact = float(box_tilt.tilted(slopes, box_tilt.solve(slopes, budget)))
    errors = []
    for side in (4, 16, 64):
        points = jnp.linspace(-1, 1, side + 1)[:-1] + 1 / side
        grid = jnp.stack(jnp.meshgrid(points, points), axis=-1).reshape(-1, 2)
        values = grid @ slopes
        worst = dual.solve(values, jnp.full(len(values), 1 / len(values)), budget)
        errors.append(abs(float(worst.value) - exact))
    assert errors[0] > 4 * errors[1] > 16 * errors[2]
    assert errors[2] < 1e-3


@pytest.mark.parametrize("z", [-8.0, -0.3, 1e-7, 0.02, 3.0, 40.0])
def test_draws_follow_their_law(z):
    v = (jnp.arange(20_000) + 0.5) / 20_000
    drawn = np.asarray(box_tilt.draw(jnp.full(v.shape, z), v), np.float64)
    mean, variance, _, _ = by_quadrature(z)
    assert abs(drawn).max() <= 1
    np.testing.assert_allclose(drawn.mean(), mean, atol=1e-3)
    np.testing.assert_allclose(drawn.var(), variance, rtol=5e-3)
    below = quad(lambda x: np.exp(z * x), -1, 0.5)[0] / quad(lambda x: np.exp(z * x), -1, 1)[0]
    np.testing.assert_allclose((drawn < 0.5).mean(), below, atol=1e-3)


def test_the_gradient_of_the_tilted_mean_is_finite_everywhere():
    def lowered(temperature):
        return box_tilt.tilted(jnp.array([[1.0, 0.0, -1e-6]]), temperature).sum()

    for temperature in (0.0, 1e-6, 0.5, 1e3, 1e9):
        assert np.isfinite(jax.grad(lowered)(jnp.array([temperature]))).all()
