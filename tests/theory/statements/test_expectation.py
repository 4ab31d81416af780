"""Statements on one row: each check finds what it should, and the mathematics holds for any row whatever."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rapo.tabular.ensemble import divergence
from rapo.theory.statement import Statement, Verdict
from rapo.theory.statements import expectation, tilting
from rapo.theory.statements import learned_temperature as advnet
from rapo.theory.statements import other_balls as balls
from rapo.theory.statements import rows as row
from rapo.theory.statements import temperature_errors as temperature

STATEMENTS = (
    *expectation.STATEMENTS,
    *temperature.STATEMENTS,
    *advnet.STATEMENTS,
    *balls.STATEMENTS,
)
usual = settings(deadline=None, max_examples=25, derandomize=True, database=None)


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.name)
def test_a_check_finds_what_is_expected_of_its_statement(statement: Statement):
    for seed in (7, 2024):
        finding = statement.check(np.random.default_rng(seed))
        assert finding.verdict == statement.expected, finding.measured
        assert (finding.counterexample != "") == (finding.verdict is not Verdict.HOLDS)
        for rate in finding.rates:
            assert all(len(points.x) == len(points.y) > 4 for points in rate.curves)
            assert all(y > 0 for points in rate.curves for y in points.y)


def test_names_of_statements_are_their_own():
    assert len({statement.name for statement in STATEMENTS}) == len(STATEMENTS)


@pytest.mark.parametrize(
    ("check", "field", "factor"),
    [
        (expectation.duality, "value", 1 + 1e-6),
        (expectation.tightness, "kl", 1 + 1e-6),
        (temperature.smoothness, "temperature", 1.01),
        (advnet.without_offset, "value", 1.01),
    ],
)
def test_a_solver_that_is_a_little_wrong_is_noticed(check, field, factor, monkeypatch):
    worst = tilting.worst

    def wrong(values, weights, budget):
        solved = worst(values, weights, budget)
        return solved._replace(**{field: getattr(solved, field) * factor})

    monkeypatch.setattr(tilting, "worst", wrong)
    assert check(np.random.default_rng(7)).verdict is Verdict.FAILS


@pytest.mark.parametrize(
    ("check", "field", "factor"),
    [
        (temperature.identities, "variance", 1 + 1e-4),
        (expectation.entropic_risk, "soft", 1 + 1e-9),
        (expectation.cumulants, "soft", 1 + 1e-9),
        (temperature.value_error, "soft", 1.01),
        (temperature.kl_residual, "variance", 1.1),
    ],
)
def test_a_formula_that_is_a_little_wrong_is_noticed(check, field, factor, monkeypatch):
    tilt = tilting.tilted

    def wrong(values, weights, temperature):
        tilted = tilt(values, weights, temperature)
        return tilted._replace(**{field: getattr(tilted, field) * factor})

    monkeypatch.setattr(tilting, "tilted", wrong)
    assert check(np.random.default_rng(7)).verdict is Verdict.FAILS


@st.composite
def rows(draw):
    """Values and weights of a row of 2 to 8 outcomes, not all alike."""
    size = draw(st.integers(2, row.OUTCOMES))
    values = np.array(draw(st.lists(st.integers(-300, 300), min_size=size, max_size=size))) / 100
    shares = np.array(draw(st.lists(st.integers(1, 20), min_size=size, max_size=size)))
    assume(np.ptp(values) > 0)
    return values, shares / shares.sum()


shares_of_the_ceiling = st.floats(1e-3, 0.9)
temperatures = st.floats(1e-2, 30)
seeds = st.integers(0, 2**32 - 1)


def solved(case, share) -> tuple[Any, float]:
    """The solver's answer for a budget that is a share of what allows the minimum, and that budget."""
    values, p = case
    budget = share * float(tilting.ceiling(values, p))
    return tilting.worst(values, p, budget), budget


@usual
@given(rows(), shares_of_the_ceiling, temperatures)
def test_no_temperature_gives_more_than_the_worst_expectation_and_one_gives_it(case, share, eta):
    values, p = case
    worst, budget = solved(case, share)
    assert row.dual(values, p, eta, budget) <= worst.value + 1e-12
    assert row.dual(values, p, worst.temperature, budget) == pytest.approx(worst.value, abs=1e-11)


@usual
@given(rows(), shares_of_the_ceiling, seeds)
def test_no_weights_within_the_budget_have_a_lower_mean(case, share, seed):
    values, p = case
    worst, budget = solved(case, share)
    for q in np.random.default_rng(seed).dirichlet(np.full(len(p), 0.3), 50):
        while divergence(q, p) > budget:
            q = 0.7 * q + 0.3 * p
        assert q @ values >= worst.value - 1e-12


@usual
@given(rows(), st.floats(1e-3, 3))
def test_the_budget_is_met_up_to_the_mass_of_the_minimum_and_not_beyond(case, share):
    values, p = case
    worst, budget = solved(case, share)
    limit = float(tilting.ceiling(values, p))
    assert worst.kl == pytest.approx(min(budget, limit), rel=1e-9)
    assert (worst.value == values.min()) == (budget >= limit)
    assert tilting.tilted(values, p, 1e5).kl == pytest.approx(limit)


@usual
@given(rows(), temperatures)
def test_tilted_mean_entropic_risk_and_kl_hang_together(case, eta):
    values, p = case
    q = p * np.exp(-eta * (values - values.min()))
    tilted = tilting.tilted(values, p, eta)
    np.testing.assert_allclose(tilted.weights, q / q.sum(), atol=1e-14)
    assert tilted.mean == pytest.approx(tilted.soft - tilted.kl / eta, abs=1e-11)
    assert tilted.kl == pytest.approx(divergence(tilted.weights, p), abs=1e-11)
    assert tilted.variance == pytest.approx(tilted.weights @ (values - tilted.mean) ** 2)


@usual
@given(rows(), temperatures, temperatures, st.floats(-5, 5), seeds)
def test_entropic_risk_is_monotone_lipschitz_and_falls_with_the_temperature(case, eta, other, constant, seed):
    values, p = case
    noise = np.random.default_rng(seed).normal(size=len(p))
    here = tilting.tilted(values, p, eta).soft
    assert tilting.tilted(values + constant, p, eta).soft == pytest.approx(here + constant, abs=1e-11)
    assert abs(tilting.tilted(values + noise, p, eta).soft - here) <= np.abs(noise).max() + 1e-12
    assert tilting.tilted(values + np.abs(noise), p, eta).soft >= here - 1e-12
    assert values.min() - 1e-12 <= here <= p @ values + 1e-12
    low, high = sorted((eta, other))
    assert tilting.tilted(values, p, high).soft <= tilting.tilted(values, p, low).soft + 1e-12


@usual
@given(rows(), temperatures, seeds)
def test_entropic_risk_is_the_penalised_minimum(case, eta, seed):
    values, p = case
    tilted = tilting.tilted(values, p, eta)
    others = np.random.default_rng(seed).dirichlet(np.full(len(p), 0.5), 50)
    assert (others @ values + divergence(others, p) / eta >= tilted.soft - 1e-12).all()
    attained = tilted.weights @ values + divergence(tilted.weights, p) / eta
    assert attained == pytest.approx(float(tilted.soft), abs=1e-11)


@usual
@given(rows(), st.floats(1e-2, 3))
def test_the_cumulant_expansion_leaves_at_most_the_fourth_power_of_the_temperature(case, eta):
    # On an interval of length 1 the fifth cumulant, E U^5 - 10 E U^3 E U^2, is at most 1/4 + 10/16.
    values, p = case
    values = values / np.ptp(values)
    mean = p @ values
    m2, m3, m4 = (p @ (values - mean) ** n for n in (2, 3, 4))
    expansion = mean - eta / 2 * m2 + eta**2 / 6 * m3 - eta**3 / 24 * (m4 - 3 * m2**2)
    assert abs(tilting.tilted(values, p, eta).soft - expansion) <= eta**4 / 120 * (1 / 4 + 10 / 16) + 1e-13


@usual
@given(st.lists(st.integers(0, 5), min_size=2, max_size=row.OUTCOMES))
def test_the_minimum_of_samples_costs_the_logarithm_of_one_over_its_share(samples):
    values = np.array(samples, float)
    assume(np.ptp(values) > 0)
    m, shared = len(samples), samples.count(min(samples))
    need = np.log(m / shared)
    p = np.full(m, 1 / m)
    assert tilting.worst(values, p, 0.99 * need).value > values.min()
    assert tilting.worst(values, p, 1.01 * need).value == values.min()
    assert need <= np.log(m)


@usual
@given(rows(), shares_of_the_ceiling, st.floats(0.05, 20), st.floats(0.05, 20))
def test_the_dual_rises_and_falls_once_and_is_concave_in_one_over_the_temperature(case, share, one, other):
    values, p = case
    worst, budget = solved(case, share)

    def dual(eta):
        return float(row.dual(values, p, eta, budget))

    low, high = (worst.temperature * factor for factor in sorted((one, other)))
    size = 1e-12 * (1 + abs(dual(low)) + abs(dual(high)))
    assert dual(2 / (1 / low + 1 / high)) >= 0.5 * (dual(low) + dual(high)) - size
    if high <= worst.temperature:
        assert dual(low) <= dual(high) + size
    if low >= worst.temperature:
        assert dual(low) >= dual(high) - size


@usual
@given(rows(), shares_of_the_ceiling)
def test_far_out_the_dual_lies_below_its_chords(case, share):
    # -log(Z)/eta - budget/eta tends to min + (log(1/mass) - budget)/eta, which is convex.
    values, p = case
    _, budget = solved(case, share)
    far = np.array([1e4, 2e4, 3e4])
    low, middle, high = (float(row.dual(values - values.min(), p, eta, budget)) for eta in far)
    assert middle < 0.5 * (low + high)


@usual
@given(rows(), shares_of_the_ceiling, st.floats(0.03, 30))
def test_a_wrong_temperature_costs_at_most_the_square_of_its_error(case, share, factor):
    values, p = case
    worst, budget = solved(case, share)
    eta = factor * worst.temperature
    loss = worst.value - row.dual(values, p, eta, budget)
    # With the temperature itself, which is never below the smaller of the two.
    assert loss <= np.ptp(values) ** 2 / (8 * eta) * (eta - worst.temperature) ** 2 + 1e-11


@usual
@given(rows(), shares_of_the_ceiling, st.floats(0.3, 3))
def test_the_kl_residual_bounds_the_error_of_the_temperature(case, share, factor):
    values, p = case
    worst, budget = solved(case, share)
    eta = factor * worst.temperature
    between = np.linspace(worst.temperature, eta, 50)
    variance = min(float(tilting.tilted(values, p, t).variance) for t in between)
    residual = abs(budget - float(tilting.tilted(values, p, eta).kl))
    error = abs(eta - worst.temperature)
    assert error * min(eta, worst.temperature) * variance <= residual * (1 + 1e-6) + 1e-12


@usual
@given(rows(), shares_of_the_ceiling)
def test_near_the_optimum_the_dual_stands_still_and_the_other_targets_do_not(case, share):
    values, p = case
    worst, budget = solved(case, share)
    step = 1e-4 * worst.temperature
    here, there = (tilting.tilted(values, p, worst.temperature + by) for by in (-step, step))
    scale = 2 * step
    tilted, soft = (there.mean - here.mean) / scale, (there.soft - here.soft) / scale
    at = tilting.tilted(values, p, worst.temperature)
    assert tilted == pytest.approx(-float(at.variance), rel=1e-4, abs=1e-9)
    assert soft == pytest.approx(-budget / worst.temperature**2, rel=1e-4)
    dual = soft + budget / (worst.temperature**2 - step**2)
    assert abs(dual) < 1e-4 * abs(soft)


@usual
@given(rows(), st.floats(0.05, 0.5), st.floats(0.05, 0.95))
def test_below_the_optimum_the_offset_pushes_advnet_down_and_without_it_up(case, share, factor):
    values, p = case
    worst, budget = solved(case, share)
    one = row.Rows(values[None], p[None], np.array([budget]))
    eta = np.array([factor * worst.temperature])
    for penalty in (0.0, 100.0):
        assert advnet.gradient(one, eta, penalty, True)[0] > 0
        assert advnet.gradient(one, eta, penalty, False)[0] < 0


def test_two_equal_values_worked_out_by_hand():
    # V = (0, 1), p = (1/2, 1/2), eta = log 3: Z = 1/2 + 1/6 = 2/3, q = (3/4, 1/4).
    tilted = tilting.tilted([0.0, 1.0], [0.5, 0.5], np.log(3))
    np.testing.assert_allclose(tilted.weights, [0.75, 0.25])
    assert tilted.mean == pytest.approx(0.25)
    assert tilted.variance == pytest.approx(3 / 16)
    assert tilted.kl == pytest.approx(0.75 * np.log(1.5) + 0.25 * np.log(0.5))
    assert tilted.soft == pytest.approx(-np.log(2 / 3) / np.log(3))
    assert tilting.ceiling([0.0, 1.0], [0.5, 0.5]) == pytest.approx(np.log(2))


@usual
@given(seeds)
def test_drawn_rows_are_what_they_say(seed):
    rng = np.random.default_rng(seed)
    drawn = row.draw(rng, 50, beyond=0.5)
    np.testing.assert_allclose(drawn.weights.sum(axis=1), 1)
    assert (drawn.spread > 0).all()
    assert (drawn.budget > 0).all()
    assert 0 < (drawn.budget > drawn.ceiling).mean() < 1
    q = row.within(rng, drawn, 5)
    assert (divergence(q, drawn.weights) <= drawn.budget + 1e-12).all()
    np.testing.assert_allclose(q.sum(axis=-1), 1)
