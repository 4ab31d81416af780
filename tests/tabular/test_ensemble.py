"""The worst case over models and their outcomes, with one budget and with two."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rapo import robust_value
from rapo.errors import InputError
from rapo.tabular.ensemble import divergence, joint, split

MODELS, OUTCOMES = 2, 4
often = settings(deadline=None, max_examples=50, derandomize=True, database=None)
budgets = st.floats(1e-4, 3)
returns_of = arrays(np.float64, (MODELS, OUTCOMES), elements=st.floats(-10, 10))


def laws_of(*shape: int):
    return arrays(np.float64, shape, elements=st.floats(0.05, 1)).map(lambda x: x / x.sum(-1, keepdims=True))


ensembles = st.tuples(returns_of, laws_of(MODELS, OUTCOMES), laws_of(MODELS))


@often
@given(ensembles, budgets)
def test_one_budget_is_the_worst_expectation_over_pairs_of_model_and_outcome(ensemble, budget):
    returns, laws, prior = ensemble
    worst = joint(returns, laws, prior, budget)
    flat = robust_value(returns.ravel(), (prior[:, None] * laws).ravel(), budget=budget)
    np.testing.assert_allclose(worst.value, flat.value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(worst.weights @ (worst.laws * returns).sum(1), worst.value, atol=1e-9)
    np.testing.assert_allclose(worst.weights.sum(), 1)
    np.testing.assert_allclose(worst.laws.sum(1), 1)
    np.testing.assert_allclose(worst.kl, flat.kl, atol=1e-9)
    assert worst.kl <= budget + 1e-9


@often
@given(ensembles, st.floats(0.01, 3))
def test_models_and_outcomes_are_tilted_at_one_temperature(ensemble, temperature):
    returns, laws, prior = ensemble
    returns = returns + np.arange(OUTCOMES)[::-1] * 0.1
    raised = laws * np.exp(-temperature * (returns - returns.min()))
    weights = prior * raised.sum(1) / (prior @ raised.sum(1))
    tilted = raised / raised.sum(1, keepdims=True)
    spent = divergence(weights, prior) + weights @ divergence(tilted, laws)
    worst = joint(returns, laws, prior, spent)
    np.testing.assert_allclose(worst.weights, weights, atol=1e-6)
    np.testing.assert_allclose(worst.laws, tilted, atol=1e-6)
    np.testing.assert_allclose(worst.kl, spent, rtol=1e-8, atol=1e-12)


@often
@given(ensembles, budgets, budgets)
def test_two_budgets_never_cost_more_than_their_sum_in_one(ensemble, model_budget, outcome_budget):
    returns, laws, prior = ensemble
    two = split(returns, laws, prior, model_budget, outcome_budget)
    one = joint(returns, laws, prior, model_budget + outcome_budget)
    assert two.value >= one.value - 1e-9
    assert two.model_kl <= model_budget + 1e-9
    assert two.outcome_kl <= outcome_budget + 1e-9
    np.testing.assert_allclose(two.weights @ (two.laws * returns).sum(1), two.value, atol=1e-9)
    np.testing.assert_allclose(divergence(two.weights, prior), two.model_kl, atol=1e-9)
    np.testing.assert_allclose(two.weights @ divergence(two.laws, laws), two.outcome_kl, atol=1e-9)


@often
@given(ensembles, budgets)
def test_without_a_budget_for_outcomes_the_split_problem_is_the_worst_mixture(ensemble, budget):
    returns, laws, prior = ensemble
    worst = split(returns, laws, prior, budget, 0)
    mixture = robust_value((laws * returns).sum(1), prior, budget=budget)
    np.testing.assert_allclose(worst.value, mixture.value, atol=1e-9)
    np.testing.assert_allclose(worst.laws, laws)
    assert worst.outcome_kl == 0


def test_no_budget_changes_nothing_and_a_large_one_leaves_the_lowest_return_alone():
    returns = [[1.0, 2.0, -99.0, -99.0], [0.0, 5.0, -99.0, -99.0]]
    laws, prior = [[0.5, 0.5, 0.0, 0.0], [0.25, 0.75, 0.0, 0.0]], [0.5, 0.5]
    still = joint(returns, laws, prior, 0)
    assert still.value == pytest.approx(0.5 * 1.5 + 0.5 * 3.75)
    np.testing.assert_allclose(still.weights, prior)
    np.testing.assert_allclose(still.laws, laws)
    lowest = joint(returns, laws, prior, 10)
    assert lowest.value == 0
    np.testing.assert_array_equal(lowest.weights, [0, 1])
    np.testing.assert_array_equal(lowest.laws, [[0.5, 0.5, 0, 0], [1, 0, 0, 0]])
    assert lowest.kl == pytest.approx(np.log(8))


def test_a_model_that_the_prior_rules_out_stays_out():
    returns, laws = [[1.0, 2.0, 3.0, 4.0], [-9.0, -8.0, -7.0, -6.0]], np.full((2, 4), 0.25)
    for worst in (joint(returns, laws, [1.0, 0.0], 0.1), split(returns, laws, [1.0, 0.0], 0.1, 0.1)):
        np.testing.assert_allclose(worst.weights, [1, 0])
        assert worst.weights[1] == 0
        assert worst.value >= 1


def test_a_law_that_does_what_its_base_rules_out_is_infinitely_far():
    assert divergence([0.5, 0.5], [1.0, 0.0]) == np.inf
    np.testing.assert_allclose(divergence([[1.0, 0.0], [0.5, 0.5]], [0.5, 0.5]), [np.log(2), 0])


RETURNS, LAWS, PRIOR = np.zeros((2, 2)), np.full((2, 2), 0.5), np.array([0.5, 0.5])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: joint([1.0, 2.0], LAWS, PRIOR, 0.1), r"returns of shape \(2,\) were given"),
        (lambda: joint([[1.0, np.nan], [0, 0]], LAWS, PRIOR, 0.1), "allowed are finite numbers"),
        (lambda: joint(RETURNS, [0.5, 0.5], PRIOR, 0.1), r"laws of shape \(2,\) were given"),
        (
            lambda: joint(RETURNS, [[0.5, 0.5], [0.9, 0.2]], PRIOR, 0.1),
            "'laws' in row 1 has .* the sum 1.1: allowed are numbers from 0 with sum 1",
        ),
        (lambda: split(RETURNS, LAWS, [1.5, -0.5], 0.1, 0.1), "'prior' has the smallest number -0.5"),
        (
            lambda: split(RETURNS, LAWS, [np.nan, 1.0], 0.1, 0.1),
            "'prior' has .*: allowed are numbers from 0 with sum 1",
        ),
        (
            lambda: joint(RETURNS, LAWS, PRIOR, -0.1),
            "the KL budget is -0.1: allowed are numbers from 0 to 1e.09",
        ),
        (lambda: split(RETURNS, LAWS, PRIOR, np.nan, 0.1), "the model budget is nan"),
        (lambda: split(RETURNS, LAWS, PRIOR, 0.1, np.inf), "the outcome budget is inf"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, says):
    with pytest.raises(InputError, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)
