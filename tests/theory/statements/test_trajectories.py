"""Paths and visits of small chains."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rapo.tabular.ensemble import divergence
from rapo.theory.statements import whole_trajectories as trajectories

often = settings(deadline=None, max_examples=40, derandomize=True, database=None)


def kernels_of(states: int):
    shape = (states, states)
    return arrays(np.float64, shape, elements=st.floats(0.05, 1)).map(lambda x: x / x.sum(-1, keepdims=True))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("statement", trajectories.STATEMENTS, ids=lambda s: s.name)
def test_statements_fare_as_expected(statement, seed):
    found = statement.check(np.random.default_rng(seed))
    assert found.verdict == statement.expected, found.measured


@often
@given(kernels_of(3), kernels_of(3), st.integers(1, 5))
def test_the_kl_of_a_path_is_the_plain_sum_over_its_steps(law, base, steps):
    total = trajectories.path_kl(law, base, steps)
    assert total == pytest.approx(trajectories.step_kl(law, base, steps).sum(), abs=1e-11)


@often
@given(kernels_of(2), kernels_of(2), st.floats(0.1, 0.95))
def test_the_discounted_sum_is_the_kl_of_paths_that_end_at_random(law, base, discount):
    each = divergence(law, base)
    forever = trajectories.values(law, each, discount)[0]
    horizon = 6
    ends = (1 - discount) * discount ** np.arange(horizon)
    seen = sum(p * trajectories.path_kl(law, base, n + 1) for n, p in enumerate(ends))
    going_on = discount**horizon
    later = seen + going_on * trajectories.path_kl(law, base, horizon)
    assert later <= forever + 1e-11
    assert forever <= later + going_on * each.max() / (1 - discount) + 1e-11
    assert forever <= each.max() / (1 - discount) + 1e-11


@often
@given(kernels_of(4), st.floats(0, 0.99))
def test_visits_are_a_distribution_and_weigh_the_rewards(kernel, discount):
    rewards = np.arange(4.0)
    visits = trajectories.occupancy(kernel, discount)
    assert visits.sum() == pytest.approx(1)
    assert visits @ rewards == pytest.approx(
        (1 - discount) * trajectories.values(kernel, rewards, discount)[0]
    )


@often
@given(kernels_of(4), arrays(np.float64, 4, elements=st.floats(0, 1)), st.floats(1e-3, 1))
def test_the_worst_kernel_stays_within_its_budget_and_is_its_own_answer(kernel, rewards, budget):
    found = trajectories.robust_kernel(kernel[None], rewards[None], np.array([budget]))[0, 0]
    assert divergence(found, kernel).max() <= budget + 1e-9
    value = trajectories.values(found, rewards, trajectories.DISCOUNT)
    assert (value <= trajectories.values(kernel, rewards, trajectories.DISCOUNT) + 1e-9).all()
    again = trajectories.worst(value[:, None] * 0 + value, kernel, budget).value
    np.testing.assert_allclose(value, rewards + trajectories.DISCOUNT * again, atol=1e-8)
