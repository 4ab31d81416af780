"""One budget over models and outcomes, and its two parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rapo.tabular.ensemble import divergence, joint
from rapo.theory.statements import joint_budget
from rapo.theory.statements.tilting import worst

often = settings(deadline=None, max_examples=40, derandomize=True, database=None)
K, T = joint_budget.MODELS, joint_budget.OUTCOMES


def laws_of(*shape: int):
    return arrays(np.float64, shape, elements=st.floats(0.05, 1)).map(lambda x: x / x.sum(-1, keepdims=True))


returns_of = arrays(np.float64, (K, T), elements=st.floats(-5, 5))
budgets = st.floats(0.01, 1)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("statement", joint_budget.STATEMENTS, ids=lambda s: s.name)
def test_statements_fare_as_expected(statement, seed):
    found = statement.check(np.random.default_rng(seed))
    assert found.verdict == statement.expected, found.measured


@often
@given(laws_of(3, 5), laws_of(3), laws_of(3, 5), laws_of(3))
def test_the_joint_kl_is_that_of_the_mixture_plus_the_mean_of_the_laws(law, mixture, base, prior):
    whole = joint_budget.joint_kl(mixture[None], law[None], prior[None], base[None])[0]
    parts = divergence(mixture, prior) + mixture @ divergence(law, base)
    assert whole == pytest.approx(parts, abs=1e-12)
    assert whole <= divergence(mixture, prior) + divergence(law, base).max() + 1e-12


@often
@given(returns_of, laws_of(K, T), laws_of(K), budgets, st.floats(0.01, 30))
def test_with_one_temperature_the_dual_is_never_above_the_joint_worst_case(returns, law, prior, budget, beta):
    temperature = np.array(beta)
    dual = joint_budget.two_temperatures(returns, law, prior, np.array(budget), temperature, temperature)
    solved = joint_budget.worst_joint(returns[None], law[None], prior[None], np.array([budget]))
    assert dual <= solved.value[0] + 1e-9


@often
@given(returns_of, laws_of(K, T), laws_of(K), budgets)
def test_with_two_it_reaches_the_worst_mixture_of_untouched_models(returns, law, prior, budget):
    means = (law * returns).sum(axis=1)
    mixture = worst([means], prior, budget)
    beta = np.clip(mixture.temperature[0], 1e-6, 1e6)
    reached = joint_budget.two_temperatures(
        returns, law, prior, np.array(budget), np.array(beta), np.array(1e-7)
    )
    if mixture.kl[0] < budget - 1e-9 or beta >= 1e6:
        reached = joint_budget.two_temperatures(
            returns, law, prior, np.array(budget), np.array(1e7), np.array(1e-7)
        )
    assert reached == pytest.approx(mixture.value[0], abs=1e-4)


@often
@given(returns_of, laws_of(K, T), laws_of(K), budgets)
def test_many_ensembles_at_once_are_solved_like_one(returns, law, prior, budget):
    many = joint_budget.worst_joint(returns[None], law[None], prior[None], np.array([budget]))
    assert many.value[0] == pytest.approx(joint(returns, law, prior, budget).value, abs=1e-10)
