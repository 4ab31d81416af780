"""K models in place of a family: partition function, temperature, tilts, operator and policy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rapo.theory.statements import finite_ensemble, finite_operator, finite_temperature
from rapo.theory.statements.tilting import curvature, tilted, worst

often = settings(deadline=None, max_examples=30, derandomize=True, database=None)
STATEMENTS = finite_ensemble.STATEMENTS + finite_temperature.STATEMENTS + finite_operator.STATEMENTS
scores_of = arrays(np.float64, 5, elements=st.floats(0, 1))
priors = arrays(np.float64, 5, elements=st.floats(0.05, 1)).map(lambda x: x / x.sum())


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda s: s.name)
def test_statements_fare_as_expected(statement, seed):
    found = statement.check(np.random.default_rng(seed))
    assert found.verdict == statement.expected, found.measured


def test_the_family_is_integrated_exactly():
    omega = (np.arange(1_000_000) + 0.5) / 1_000_000
    raised = np.exp(-3 * finite_ensemble.score(omega))
    assert finite_ensemble.family(np.array(3.0)).log_partition == pytest.approx(
        np.log(raised.mean()), abs=1e-10
    )
    assert finite_ensemble.score(omega).min() >= 0
    assert finite_ensemble.score(omega).max() <= 1


def test_best_temperatures_are_those_of_the_solver():
    scores = finite_ensemble.score(np.arange(8) / 8 + np.random.default_rng(0).uniform(0, 1 / 8, (50, 8)))
    solved = worst(scores, np.full(8, 1 / 8), finite_ensemble.KAPPA)
    ours = finite_ensemble.best_temperature(scores, np.array(1 / 8))
    np.testing.assert_allclose(ours, solved.temperature, rtol=1e-9)
    best = finite_ensemble.best_temperature()
    assert finite_ensemble.family(best).kl == pytest.approx(finite_ensemble.KAPPA, abs=1e-12)


@often
@given(scores_of, priors, st.floats(0.3, 8), st.floats(0.01, 1))
def test_the_curvature_is_the_second_derivative_of_the_dual(scores, prior, beta, budget):
    step = 1e-3 * beta
    around = beta + step * np.array([-1, 0, 1])
    low, middle, high = finite_ensemble.dual(around, tilted(scores, prior, around), budget)
    second = curvature(tilted(scores, prior, beta), np.array(beta), budget)
    assert (low - 2 * middle + high) / step**2 == pytest.approx(float(second), rel=1e-4, abs=1e-4 / beta**2)


@often
@given(scores_of, priors, st.floats(0.3, 8), st.floats(0.01, 1))
def test_the_dual_is_strongly_concave_while_the_budget_is_not_used_up(scores, prior, beta, budget):
    tilt = tilted(scores, prior, beta)
    second = curvature(tilt, np.array(beta), budget)
    if tilt.kl <= budget:
        assert second <= -tilt.variance / beta + 1e-12
    else:
        assert second > -tilt.variance / beta


def test_kernels_of_drawn_models_count_where_they_lead():
    rng = np.random.default_rng(0)
    edges, omega = finite_operator.arcs(rng), rng.random((3, 20))
    kernels = finite_operator.drawn_kernels(edges, omega)
    np.testing.assert_allclose(kernels.sum(axis=-1), 1)
    for draw, state, action in ((0, 0, 0), (1, 2, 1), (2, 5, 2)):
        arc = edges[state, action]
        place = arc[0] + np.mod(omega[draw] - arc[0], 1)
        leads = np.searchsorted(arc, place, side="right") - 1
        counts = np.bincount(np.minimum(leads, finite_operator.STATES - 1), minlength=finite_operator.STATES)
        np.testing.assert_allclose(kernels[draw, state, action], counts / 20, atol=1e-12)
    many = finite_operator.drawn_kernels(edges, (np.arange(100_000)[None] + 0.5) / 100_000)[0]
    np.testing.assert_allclose(many, np.diff(edges, axis=-1), atol=2e-5)


def test_the_greedy_policy_of_the_fixed_point_has_its_value():
    rng = np.random.default_rng(0)
    kernel = np.diff(finite_operator.arcs(rng), axis=-1)
    rewards = rng.uniform(0, 1, kernel.shape[:2])
    value = finite_operator.solve(kernel, rewards, np.zeros(len(kernel)))
    greedy = finite_operator.backup(kernel, rewards, value).argmax(axis=-1)
    np.testing.assert_allclose(finite_operator.evaluate(kernel, rewards, greedy[None])[0], value, atol=1e-7)
    for policy in rng.integers(0, kernel.shape[1], (5, len(kernel))):
        assert (finite_operator.evaluate(kernel, rewards, policy[None])[0] <= value + 1e-7).all()
