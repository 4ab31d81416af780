"""Worst expectations within three balls, against a convex solver, by their properties and by hand."""

from functools import cache
from typing import Any

import cvxpy as cp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import rapo
from rapo.tabular.balls import chi_square, total_variation

WIDEST = 12
SIZES = (2, 4, 7, 12)
BALLS = ("kl", "chi-square", "total-variation")
usual = settings(deadline=None, max_examples=25, derandomize=True, database=None)
compiled = {"chi-square": jax.jit(chi_square), "total-variation": jax.jit(total_variation)}


def worst(ball, values, weights, budget) -> tuple[np.ndarray, np.ndarray]:
    """Value `[B]` and weights `[B, K]`, rows padded to one shape so that there is but one to compile."""
    values, weights = np.atleast_2d(values), np.atleast_2d(weights)
    rows, size = weights.shape
    # What pads is lower than all the rest: it must not be chosen all the same.
    wide, p = np.full((rows, WIDEST), values.min() - 7.0), np.zeros((rows, WIDEST))
    wide[:, :size], p[:, :size] = values, weights
    budget = np.broadcast_to(np.asarray(budget, float), (rows,))
    if ball == "kl":
        solved: Any = rapo.robust_value(wide, p, budget=budget)
    else:
        with jax.enable_x64(True):
            solved = jax.tree.map(np.asarray, compiled[ball](wide, p, budget))
    assert (solved.weights[:, size:] == 0).all()
    return solved.value, solved.weights[:, :size]


def rounding(values):
    """What the sums of a row, padding included, may be off by."""
    return 1e-13 * (np.abs(values).max() + 7)


def used(ball, q, p):
    """How much of a budget weights q `[..., K]` need."""
    if ball == "kl":
        return np.where(q > 0, q * np.log(np.where(q > 0, q, 1) / p), 0).sum(axis=-1)
    return ((q - p) ** 2 / p).sum(axis=-1) if ball == "chi-square" else 0.5 * np.abs(q - p).sum(axis=-1)


@cache
def program(ball, size) -> Any:
    """A convex program for rows of one size, to be solved again and again with other numbers."""
    move = cp.Variable(size)
    values, p, scale = cp.Parameter(size), cp.Parameter(size, nonneg=True), cp.Parameter(size, nonneg=True)
    limit = cp.Parameter()
    if ball == "kl":
        needed = -cp.sum(cp.entr(p + move)) + scale @ move
    elif ball == "chi-square":
        needed = cp.norm2(cp.multiply(scale, move))
    else:
        needed = 0.5 * cp.norm1(move)
    constraints = [cp.sum(move) == 0, p + move >= 0, needed <= limit]
    return cp.Problem(cp.Minimize(values @ move), constraints), values, p, scale, limit


def by_convex_solver(ball, row, weights, budget):
    """The value of one row from a general convex solver, in units of the row's spread."""
    task, values, p, scale, limit = program(ball, len(row))
    values.value, p.value = row, weights
    scale.value = -np.log(weights) if ball == "kl" else 1 / np.sqrt(weights)
    limits = {"kl": budget + weights @ np.log(weights), "chi-square": np.sqrt(budget)}
    limit.value = limits.get(ball, budget)
    # Exponential cones cost it a digit.
    tight = 1e-9 if ball == "kl" else 1e-10
    task.solve(solver=cp.CLARABEL, tol_gap_abs=tight, tol_gap_rel=tight, tol_feas=tight)
    return weights @ row + task.value


@pytest.mark.parametrize("ball", BALLS)
def test_the_worst_expectation_agrees_with_a_convex_solver(ball):
    rng = np.random.default_rng(0)
    errors = []
    for size in SIZES:
        values = rng.normal(size=(50, size)) * 10 ** rng.uniform(-2, 2, (50, 1)) + rng.normal(size=(50, 1))
        p = rng.dirichlet(np.ones(size), 50) * 0.98 + 0.02 / size
        budget = (1.0 if ball == "total-variation" else 3.0) * 10 ** rng.uniform(-3, 0, 50)
        spread = np.ptp(values, axis=1)
        ours, q = worst(ball, values, p, budget)
        assert (used(ball, q, p) <= budget * (1 + 1e-9)).all()
        for b in range(50):
            reference = by_convex_solver(ball, values[b] / spread[b], p[b], budget[b])
            errors.append(abs(ours[b] / spread[b] - reference))
    assert len(errors) == 200
    assert max(errors) < 1e-6


@st.composite
def rows(draw):
    """Values and weights of a row of 2 to 12 outcomes, ties and far-off values among them."""
    size = draw(st.integers(2, WIDEST))
    values = draw(arrays(float, size, elements=st.one_of(st.integers(-3, 3), st.floats(-100, 100, width=32))))
    shares = draw(arrays(int, size, elements=st.one_of(st.integers(1, 9), st.just(1000))))
    return values.astype(float), shares / shares.sum()


budgets = st.floats(1e-6, 4)
balls = pytest.mark.parametrize("ball", BALLS)


@balls
@usual
@given(rows(), budgets)
def test_the_worst_value_is_attained_within_the_budget_and_lies_between_minimum_and_mean(ball, row, budget):
    values, p = row
    value, q = worst(ball, values, p, budget)
    error = rounding(values)
    assert values.min() - error <= value[0] <= p @ values + error
    assert value[0] == pytest.approx(q[0] @ values, abs=error)
    assert (q >= 0).all()
    assert q.sum() == pytest.approx(1, abs=1e-12)
    assert used(ball, q[0], p) <= budget * (1 + 1e-9) + 1e-15


@balls
@usual
@given(rows(), budgets, budgets)
def test_the_worst_value_falls_as_the_budget_grows(ball, row, one, other):
    values, p = row
    smaller, larger = (worst(ball, values, p, b)[0][0] for b in sorted((one, other)))
    assert larger <= smaller + rounding(values)


@balls
@usual
@given(rows(), budgets, st.floats(-50, 50), st.floats(0.01, 100))
def test_adding_a_constant_adds_it_and_scaling_scales(ball, row, budget, constant, factor):
    values, p = row
    plain, weights = worst(ball, values, p, budget)
    moved, same = worst(ball, factor * values + constant, p, budget)
    error = 1e3 * (factor * rounding(values) + rounding(constant))
    assert moved[0] == pytest.approx(factor * plain[0] + constant, abs=error)
    if np.unique(values).size == values.size and np.diff(np.sort(values)).min() > 1e-3 * np.ptp(values):
        np.testing.assert_allclose(same, weights, atol=1e-6)


@usual
@given(rows(), budgets)
def test_balls_within_balls_have_the_higher_worst_values(row, budget):
    values, p = row
    error = rounding(values)
    # Pinsker: total variation <= sqrt(KL / 2).
    kl = worst("kl", values, p, budget)[0][0]
    assert worst("total-variation", values, p, np.sqrt(budget / 2))[0][0] <= kl + error
    # KL <= log(1 + chi-square).
    inside = worst("chi-square", values, p, budget)[0][0]
    assert worst("kl", values, p, np.log1p(budget))[0][0] <= inside + error
    # Total variation <= sqrt(chi-square) / 2.
    assert worst("total-variation", values, p, np.sqrt(budget) / 2)[0][0] <= inside + error


@balls
@usual
@given(rows(), budgets, st.integers(0, 2**32 - 1))
def test_no_other_weights_within_the_budget_do_worse(ball, row, budget, seed):
    values, p = row
    q = np.random.default_rng(seed).dirichlet(np.full(len(p), 0.3), 200)
    # Halfway points toward the nominal weights until they are within the budget.
    for _ in range(30):
        q = np.where((used(ball, q, p) > budget)[:, None], 0.5 * (q + p), q)
    q = q[used(ball, q, p) <= budget]
    assert len(q)
    assert (q @ values).min() >= worst(ball, values, p, budget)[0][0] - rounding(values)


def test_chi_square_worked_out_by_hand():
    # Even weights on 0 and 1, q = (1/2 + d, 1/2 - d): chi-square 4 d^2, so a budget of 1/4 allows d = 1/4.
    value, q = worst("chi-square", [0.0, 1.0], [0.5, 0.5], 0.25)
    np.testing.assert_allclose(q[0], [0.75, 0.25], rtol=1e-12)
    assert value[0] == pytest.approx(0.25)
    # Thirds on 0, 1, 2: while all keep weight, mean - sqrt(budget variance) = 1 - sqrt(2/3 budget).
    thirds = np.full(3, 1 / 3)
    assert worst("chi-square", [0.0, 1.0, 2.0], thirds, 0.24)[0][0] == pytest.approx(1 - np.sqrt(0.16))
    # The last one loses the last of its weight where q = p (2 - value): chi-square (1 + 0 + 1)/3 = 2/3.
    value, q = worst("chi-square", [0.0, 1.0, 2.0], thirds, 2 / 3)
    np.testing.assert_allclose(q[0], [2 / 3, 1 / 3, 0], atol=1e-12)
    # Beyond it two are left, q = (1/2 + d, 1/2 - d, 0): chi-square 6 d^2 + 1/2, so 1.46 allows d = 0.4.
    value, q = worst("chi-square", [0.0, 1.0, 2.0], thirds, 1.46)
    np.testing.assert_allclose(q[0], [0.9, 0.1, 0], atol=1e-12)
    assert value[0] == pytest.approx(0.1)
    # (1 - 1/3) / (1/3) = 2 allows the minimum alone.
    value, q = worst("chi-square", [0.0, 1.0, 2.0], thirds, 2)
    np.testing.assert_array_equal(q[0], [1, 0, 0])
    assert value[0] == 0


def test_total_variation_worked_out_by_hand():
    p = [0.2, 0.3, 0.1, 0.4]
    # 0.5 of mass moves to the lowest: all 0.4 of the highest, and 0.1 of the 0.3 that come next.
    value, q = worst("total-variation", [-1.0, 2.0, 1.0, 5.0], p, 0.5)
    np.testing.assert_allclose(q[0], [0.7, 0.2, 0.1, 0], atol=1e-15)
    assert value[0] == pytest.approx(-0.7 + 0.4 + 0.1)
    # Those who share the highest value lose alike, those who share the lowest gain alike.
    value, q = worst("total-variation", [0.0, 0.0, 1.0, 1.0], p, 0.25)
    np.testing.assert_allclose(q[0], [0.3, 0.45, 0.05, 0.2], atol=1e-15)
    value, q = worst("total-variation", [-1.0, 2.0, 1.0, 5.0], p, 0.8)
    np.testing.assert_array_equal(q[0], [1, 0, 0, 0])
    assert value[0] == -1


@pytest.mark.parametrize("ball", compiled)
def test_degenerate_rows_have_exact_answers(ball):
    p = np.array([0.2, 0.3, 0.5])
    for values, weights, budget, value, q in (
        ([2.0, 2.0, 2.0], p, 0.5, 2.0, p),
        ([1.0, 2.0, 3.0], p, 0.0, 2.3, p),
        ([1.0, 2.0, 3.0], p, 9.0, 1.0, [1, 0, 0]),
        ([1.0, 1.0, 3.0], p, 1.0, 1.0, [0.4, 0.6, 0]),
        ([5.0, 2.0, 5.0], [0.5, 0.0, 0.5], 0.3, 5.0, [0.5, 0, 0.5]),
        ([3.0], [1.0], 0.3, 3.0, [1]),
    ):
        solved = worst(ball, values, weights, budget)
        np.testing.assert_allclose(solved[0], value, rtol=1e-14)
        np.testing.assert_allclose(solved[1][0], q, rtol=1e-14)


@pytest.mark.parametrize("ball", compiled.values(), ids=compiled)
def test_rows_of_any_size_are_solved_alike_and_the_gradient_is_the_worst_weights(ball):
    # In single precision, with weights and a budget that all rows share.
    row, p = jnp.array([1.0, 2.0, 4.0, 5.0]), jnp.full(4, 0.25)

    def total(values):
        solved = ball(values, p, 0.2)
        return solved.value.sum(), solved

    gradient, solved = jax.jit(jax.grad(total, has_aux=True))(jnp.stack([row, row * 1e-30, row * 1e30]))
    np.testing.assert_allclose(solved.value / np.array([1, 1e-30, 1e30]), solved.value[0], rtol=1e-5)
    np.testing.assert_allclose(solved.weights[1:], [solved.weights[0]] * 2, atol=1e-6)
    np.testing.assert_allclose(gradient, solved.weights, atol=1e-6)
