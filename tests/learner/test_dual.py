"""The KL-robust expectation, against sums worked out in the open and a high-precision solver."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

from rapo.learner import dual

UNIFORM = jnp.array([0.5, 0.5])


def reference(values, weights, budget):
    """Value, temperature and KL of one row in extended precision by bracketing."""
    values, weights = values.astype(np.longdouble), weights.astype(np.longdouble)

    def tilt(temperature):
        exponent = -temperature * (values - values.min())
        q = weights * np.exp(exponent)
        total = q.sum()
        return q / total, float(np.sum(q / total * (exponent - np.log(total))))

    high = 1 / float(values.std())
    while tilt(high)[1] < budget:
        high *= 2
    temperature: Any = brentq(lambda t: tilt(t)[1] - budget, 0, high, xtol=1e-300, maxiter=1000)
    q, used = tilt(temperature)
    return float((q * values).sum()), temperature, used


def random_rows(rng, rows, models, dtype):
    """Rows of very different scales, some with heavy tails, and uneven weights."""
    heavy = rng.random((rows, 1)) < 0.5
    values = np.where(heavy, rng.standard_t(2, (rows, models)), rng.normal(size=(rows, models)))
    values = values * 10 ** rng.uniform(-2, 3, (rows, 1)) + rng.normal(size=(rows, 1))
    weights = rng.dirichlet(np.ones(models), rows)
    values, weights = values.astype(dtype), weights.astype(dtype)
    return values, weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("x64", "value_error", "temperature_error"), [(True, 1e-12, 1e-9), (False, 2e-5, 2e-4)]
)
def test_the_solver_agrees_with_a_high_precision_root_finder_on_thousands_of_rows(
    x64, value_error, temperature_error
):
    rng = np.random.default_rng(0)
    compared = 0
    with jax.enable_x64(x64):
        for models in (2, 3, 8, 16, 32):
            for budget in (1e-3, 1e-2, 0.1, 0.5, 1.0, 2.0):
                values, weights = random_rows(rng, 100, models, np.float64 if x64 else np.float32)
                solved = jax.jit(dual.solve)(values, weights, budget)
                ceiling = -np.log((weights * (values == values.min(axis=1, keepdims=True))).sum(axis=1))
                for b in np.flatnonzero(budget < 0.999 * ceiling):
                    value, temperature, _ = reference(values[b], weights[b], budget)
                    deviation = np.abs(values[b]).max()
                    assert abs(float(solved.value[b]) - value) < value_error * deviation
                    assert float(solved.temperature[b]) == pytest.approx(temperature, rel=temperature_error)
                    compared += 1
    assert compared > 2000


def test_two_equal_models_worked_out_by_hand():
    # G = (0, 1), p = (1/2, 1/2), eta = log 3: q ~ (1, 1/3), so q = (3/4, 1/4).
    values, temperature = jnp.array([0.0, 1.0]), jnp.log(jnp.array(3.0))
    np.testing.assert_allclose(dual.tilt(values, UNIFORM, temperature), [0.75, 0.25], rtol=1e-6)
    # KL = 3/4 log(3/2) + 1/4 log(1/2) = 0.130812
    used = 0.75 * np.log(1.5) + 0.25 * np.log(0.5)
    assert float(dual.kl(values, UNIFORM, temperature)) == pytest.approx(used, rel=1e-6)
    # soft = -1/log3 log(1/2 + 1/6) = 0.369070
    soft = -np.log(2 / 3) / np.log(3)
    assert float(dual.soft(values, UNIFORM, temperature)) == pytest.approx(soft, rel=1e-6)
    # tilted = 1/4 = soft - KL/eta
    assert soft - used / np.log(3) == pytest.approx(0.25)
    assert float(dual.target(values, UNIFORM, temperature, used)) == pytest.approx(0.25, rel=1e-6)
    # and the solver, given that KL as its budget, finds that temperature.
    solved = dual.solve(values, UNIFORM, used)
    assert float(solved.temperature) == pytest.approx(np.log(3), rel=1e-5)
    assert float(solved.value) == pytest.approx(0.25, rel=1e-5)


def test_at_the_root_tilted_equals_dual_and_nothing_does_better():
    rng = np.random.default_rng(1)
    with jax.enable_x64(True):
        values, weights = random_rows(rng, 500, 8, np.float64)
        solved = dual.solve(values, weights, 0.2)
        dual_value = dual.dual(values, weights, solved.temperature, 0.2)
        scale = np.abs(values).max(axis=1)
        interior = np.asarray(solved.kl) > 0.2 * (1 - 1e-6)
        assert interior.sum() > 400
        error = np.asarray(dual_value - solved.value) / scale
        np.testing.assert_allclose(error[interior], 0, atol=1e-9)
        for factor in (0.3, 0.9, 1.1, 3.0):
            other = dual.dual(values, weights, factor * solved.temperature, 0.2)
            assert (other <= solved.value + 1e-9 * scale).all()
        np.testing.assert_allclose(
            dual.target(values, weights, solved.temperature, 0.2, "tilted") / scale,
            solved.value / scale,
            atol=1e-9,
        )


def test_no_other_distribution_within_the_budget_has_a_lower_mean():
    rng = np.random.default_rng(2)
    with jax.enable_x64(True):
        values, weights = random_rows(rng, 50, 5, np.float64)
        solved = dual.solve(values, weights, 0.3)
        for b in range(50):
            others = rng.dirichlet(np.ones(5) * rng.choice([0.3, 1, 5]), 2000) + 1e-12
            others /= others.sum(axis=1, keepdims=True)
            feasible = (others * np.log(others / weights[b])).sum(axis=1) <= 0.3
            assert (others[feasible] @ values[b] >= float(solved.value[b]) - 1e-9).all()


def test_kl_grows_with_the_temperature_at_the_rate_of_temperature_times_variance():
    values = jnp.array([0.3, -1.0, 2.0, 0.5])
    weights = jnp.array([0.1, 0.2, 0.3, 0.4])
    temperatures = jnp.linspace(0.0, 8.0, 200)
    used = jax.vmap(lambda t: dual.kl(values, weights, t))(temperatures)
    assert (jnp.diff(used) > 0).all()
    assert used[0] == 0
    with jax.enable_x64(True):
        v, w = jnp.asarray(values, jnp.float64), jnp.asarray(weights, jnp.float64)
        slope = jax.grad(lambda t: dual.kl(v, w, t))(jnp.asarray(1.7))
        q = np.asarray(dual.tilt(v, w, jnp.asarray(1.7)))
        variance = (q * v**2).sum() - (q * v).sum() ** 2
        assert float(slope) == pytest.approx(float(1.7 * variance), rel=1e-6)


def test_adding_a_constant_adds_it_and_scaling_scales_while_the_temperature_shrinks():
    rng = np.random.default_rng(3)
    with jax.enable_x64(True):
        values, weights = random_rows(rng, 100, 6, np.float64)
        plain = dual.solve(values, weights, 0.1)
        moved = dual.solve(values + 5, weights, 0.1)
        scaled = dual.solve(10 * values, weights, 0.1)
        scale = np.abs(values).max(axis=1) + 5
        np.testing.assert_allclose((moved.value - plain.value - 5) / scale, 0, atol=1e-12)
        np.testing.assert_allclose(scaled.value, 10 * plain.value, rtol=1e-9)
        np.testing.assert_allclose(scaled.temperature, plain.temperature / 10, rtol=1e-9)
        np.testing.assert_allclose(scaled.weights, plain.weights, atol=1e-9)


def test_a_larger_budget_never_gives_a_larger_value():
    values, weights = random_rows(np.random.default_rng(4), 200, 8, np.float32)
    budgets = (0.0, 1e-4, 0.01, 0.1, 1.0, 3.0, 30.0)
    solved = np.array([dual.solve(values, weights, b).value for b in budgets])
    tolerance = 1e-5 * np.abs(values).max(axis=1)
    assert (np.diff(solved, axis=0) <= tolerance).all()
    np.testing.assert_allclose(solved[0], (weights * values).sum(axis=1), atol=tolerance.max(), rtol=1e-5)
    np.testing.assert_array_equal(solved[-1], values.min(axis=1))


def test_degenerate_rows_have_exact_answers():
    values = jnp.array([[2.0, 2.0, 2.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 1.0, 3.0], [5.0, 2.0, 3.0]])
    weights = jnp.array([[0.2, 0.3, 0.5]] * 4 + [[0.5, 0.0, 0.5]])
    budget = jnp.array([1.0, 0.0, 2.0, 0.7, 9.0])
    solved = jax.jit(dual.solve)(values, weights, budget)
    # no spread: the mean; no budget: the mean; log(1/0.2) < 2: the minimum; log(1/(0.2+0.3)) < 0.7: the
    # minimum, which two share; a model without weight can't be the minimum.
    np.testing.assert_allclose(solved.value, [2.0, 2.3, 1.0, 1.0, 3.0], rtol=1e-6)
    np.testing.assert_allclose(
        solved.weights,
        [[0.2, 0.3, 0.5], [0.2, 0.3, 0.5], [1, 0, 0], [0.4, 0.6, 0], [0, 0, 1]],
        rtol=1e-6,
    )
    np.testing.assert_allclose(solved.kl, [0, 0, np.log(5), np.log(2), np.log(2)], rtol=1e-6)
    np.testing.assert_array_equal(solved.temperature[:2], 0)
    np.testing.assert_array_equal(solved.gap, 0)
    assert jnp.isfinite(solved.temperature).all()


def test_one_model_alone_is_its_own_worst_case():
    solved = dual.solve(jnp.array([[3.0], [-1.0]]), jnp.ones(1), 0.5)
    np.testing.assert_array_equal(solved.value, [3, -1])
    np.testing.assert_array_equal(solved.kl, 0)


@pytest.mark.parametrize("kind", ["tilted", "soft", "dual"])
def test_the_gradient_with_respect_to_the_values_is_the_tilted_weights(kind):
    values = jnp.array([[0.3, -1.0, 2.0], [4.0, 5.0, 3.0]])
    weights = jnp.array([0.2, 0.3, 0.5])
    solved = dual.solve(values, weights, 0.2)
    gradient = jax.grad(lambda v: dual.target(v, weights, solved.temperature, 0.2, kind).sum())(values)
    np.testing.assert_allclose(gradient, solved.weights, atol=1e-5)
    whole = jax.grad(lambda v: dual.expectation(v, dual.solve(v, weights, 0.2).weights).sum())(values)
    np.testing.assert_allclose(whole, solved.weights, atol=1e-5)


@pytest.mark.parametrize("budget", [0.0, 1e-3, 0.2, 1.0, 5.0])
def test_the_gradient_of_the_worst_expectation_is_the_weights_that_attain_it(budget):
    values = jnp.array([[0.3, -1.0, 2.0], [4.0, 5.0, 3.0], [7.0, 7.0, 7.0]])
    weights = jnp.array([0.2, 0.3, 0.5])
    solved = dual.solve(values, weights, budget)
    gradient = jax.grad(lambda v: dual.solve(v, weights, budget).value.sum())(values)
    np.testing.assert_allclose(gradient, solved.weights, atol=1e-5)
    step = 1e-2  # and moving one value shows it, to the first order
    for k in range(3):
        up, down = (dual.solve(values.at[:, k].add(s), weights, budget).value for s in (step, -step))
        np.testing.assert_allclose((up - down)[:2] / (2 * step), solved.weights[:2, k], atol=2e-3)


def test_hard_minimum_and_mean_ignore_the_temperature():
    values, weights = jnp.array([[0.3, -1.0, 2.0]]), jnp.array([0.5, 0.0, 0.5])
    for temperature in (jnp.zeros(1), jnp.ones(1)):
        assert dual.target(values, weights, temperature, 0.2, "hard-min")[0] == pytest.approx(0.3)
        assert dual.target(values, weights, temperature, 0.2, "mean")[0] == pytest.approx(1.15)


def test_draws_are_shares_of_m_and_average_to_the_weights():
    weights = jnp.array([0.1, 0.2, 0.3, 0.4, 0.0])
    shares = dual.draw(jax.random.key(0), weights, rows=20_000, samples=16)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(shares * 16, jnp.round(shares * 16), atol=1e-5)
    np.testing.assert_allclose(shares.mean(axis=0), weights, atol=0.005)
    assert (shares[:, 4] == 0).all()
    # Each share is binomial: variance p(1-p)/m.
    np.testing.assert_allclose(shares.var(axis=0), weights * (1 - weights) / 16, atol=5e-4)


def test_the_sampled_soft_value_errs_upward_and_the_correction_turns_it():
    rng = np.random.default_rng(5)
    values = jnp.asarray(rng.normal(size=8), jnp.float32)
    weights = jnp.full(8, 1 / 8)
    temperature = jnp.asarray(2.0)
    exact = float(dual.soft(values, weights, temperature))
    shares = dual.draw(jax.random.key(1), weights, rows=20_000, samples=8)
    rows = jnp.broadcast_to(values, shares.shape)
    sampled = dual.soft(rows, shares, jnp.full(20_000, 2.0))
    assert float(sampled.mean()) > exact + 0.01
    cautious = dual.conservative(rows, shares, jnp.full(20_000, 2.0), samples=8, failure=0.05)
    assert float(cautious.mean()) < exact
    assert float((cautious > exact).mean()) < 0.2


def test_models_without_weight_do_not_spoil_the_gradient_of_the_kl():
    values, weights = jnp.array([1.0, 2.0, 50.0]), jnp.array([0.5, 0.5, 0.0])
    with_it = jax.grad(lambda t: dual.kl(values, weights, t))(jnp.asarray(1.0))
    without = jax.grad(lambda t: dual.kl(values[:2], weights[:2], t))(jnp.asarray(1.0))
    # eta Var_q(G) with q = 1 / (1 + e^-1) on the lower: 0.7311 * 0.2689 = 0.1966.
    assert float(with_it) == pytest.approx(float(without)) == pytest.approx(0.1966, abs=1e-4)


def test_a_row_with_nothing_to_tilt_is_its_mean_whatever_is_made_of_it():
    values, weights, none = jnp.full((1, 2), 3.0), jnp.full(2, 0.5), jnp.zeros(1)
    assert float(dual.dual(values, weights, none, 0.1)[0]) == 3
    assert float(dual.conservative(values, weights, none, 4, 0.1)[0]) == 3


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_rows_of_any_size_are_solved_alike(size):
    row = jnp.array([[1.0, 2.0, 4.0]])
    usual = dual.solve(row, jnp.full(3, 1 / 3), 0.1)
    sized = dual.solve(row * size, jnp.full(3, 1 / 3), 0.1)
    np.testing.assert_allclose(sized.weights, usual.weights, rtol=1e-4)
    np.testing.assert_allclose(sized.value / size, usual.value, rtol=1e-5)


def test_bounds_enclose_the_worst_expectation_from_any_temperature_and_close_in_on_it():
    rng = np.random.default_rng(5)
    with jax.enable_x64(True):
        values = jnp.asarray(rng.normal(size=(500, 8)) * 10 ** rng.uniform(-3, 3, (500, 1)))
        weights = jnp.asarray(rng.dirichlet(np.full(8, 0.5), 500))
        weights = weights.at[:100, 0].set(0)
        weights /= weights.sum(axis=1, keepdims=True)
        budget = jnp.asarray(10 ** rng.uniform(-6, 1, 500))
        exact = jax.jit(dual.solve)(values, weights, budget)
        again = jax.jit(dual.bounds)
        size = np.asarray(jnp.abs(values).max(axis=1))
        for start in (jnp.zeros(500), exact.temperature * 10 ** rng.uniform(-2, 2, 500), exact.temperature):
            found = again(values, weights, budget, start)
            widths = [found.upper - found.lower]
            for _ in range(30):
                assert (found.lower <= exact.value + 1e-12 * size).all()
                assert (found.upper >= exact.value - 1e-12 * size).all()
                found = again(values, weights, budget, found.temperature)
                widths.append(found.upper - found.lower)
            np.testing.assert_array_less(widths[-1], 1e-9 * size)


def test_a_rare_and_very_low_value_does_not_hide_the_root():
    # The rare value makes up nearly all of the standard deviation, so in its units the root is far below 1.
    values = np.array([[-1e4, 0.0, 1.0], [-1e5, 0.0, 1.0]])
    weights = np.array([[1e-9, 0.5, 0.5], [1e-10, 0.9, 0.1]])
    weights /= weights.sum(axis=1, keepdims=True)
    with jax.enable_x64(True):
        for budget in (0.1, 1.0, 3.0):
            solved = jax.jit(dual.solve)(values, weights, budget)
            for row in range(len(values)):
                value, temperature, _ = reference(values[row], weights[row], budget)
                assert float(solved.value[row]) == pytest.approx(value, rel=1e-9)
                assert float(solved.temperature[row]) == pytest.approx(temperature, rel=1e-9)
                assert abs(float(solved.gap[row])) < 1e-9 * abs(value)


def test_lowest_values_that_nearly_tie_are_told_apart():
    # The budget allows the two lowest alone, -log 0.95 < 0.1, but not the lowest, -log 0.65 > 0.1.
    values, weights = np.array([-20.0, -20.0 + 1e-7, -16.0]), np.array([0.65, 0.3, 0.05])
    with jax.enable_x64(True):
        solved = jax.jit(dual.solve)(values, weights, 0.1)
        value, temperature, _ = reference(values, weights, 0.1)
        assert float(solved.temperature) == pytest.approx(temperature, rel=1e-6)
        assert float(solved.value) == pytest.approx(value, abs=1e-13)
        assert float(solved.kl) == pytest.approx(0.1, rel=1e-6)
