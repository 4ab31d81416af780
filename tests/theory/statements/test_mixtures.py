"""Boltzmann reweighting: limits, ceiling and updates."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rapo.theory.statements import mixtures
from rapo.theory.statements.tilting import tilted, worst

often = settings(deadline=None, max_examples=50, derandomize=True, database=None)
scores_of = arrays(np.float64, 4, elements=st.integers(-20, 20).map(lambda n: n / 4))
priors = arrays(np.float64, 4, elements=st.floats(0.05, 1)).map(lambda x: x / x.sum())


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("statement", mixtures.STATEMENTS, ids=lambda s: s.name)
def test_statements_fare_as_expected(statement, seed):
    found = statement.check(np.random.default_rng(seed))
    assert found.verdict == statement.expected, found.measured


@often
@given(scores_of, priors, st.floats(0, 5), st.floats(1e-3, 5))
def test_kl_grows_with_the_temperature_up_to_the_ceiling(scores, prior, temperature, more):
    low, high = (float(tilted(scores, prior, t).kl) for t in (temperature, temperature + more))
    assert low <= high + 1e-12
    assert high <= mixtures.ceiling(scores, prior) + 1e-12


@often
@given(scores_of, priors, st.floats(0.1, 3))
def test_its_slope_is_temperature_times_variance(scores, prior, temperature):
    step = 1e-5
    low, high = (float(tilted(scores, prior, temperature + s).kl) for s in (-step, step))
    expected = temperature * float(tilted(scores, prior, temperature).variance)
    assert (high - low) / (2 * step) == pytest.approx(expected, rel=1e-4, abs=1e-6)


@often
@given(scores_of, priors)
def test_the_hardest_models_share_the_mixture_by_their_prior_in_the_end(scores, prior):
    np.testing.assert_allclose(tilted(scores, prior, 0.0).weights, prior)
    np.testing.assert_allclose(
        tilted(scores, prior, 400.0).weights, mixtures.hardest(scores, prior), atol=1e-12
    )


@often
@given(scores_of, priors, st.floats(0.01, 4))
def test_a_budget_is_met_if_it_is_below_the_ceiling_and_only_then(scores, prior, budget):
    assume(np.ptp(scores) > 0)
    top = float(mixtures.ceiling(scores, prior))
    assume(abs(budget - top) > 1e-6)
    solved = worst([scores], prior, budget)
    assert float(solved.kl[0]) == pytest.approx(min(budget, top), abs=1e-9)
    if budget > top:
        np.testing.assert_allclose(solved.weights[0], mixtures.hardest(scores, prior))
