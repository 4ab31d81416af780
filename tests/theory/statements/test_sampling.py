"""The sampled dual: its bias, its correction and its concentration, by exact enumeration."""

import itertools
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rapo.theory.statements import sampling
from rapo.theory.statements.tilting import tilted, worst

often = settings(deadline=None, max_examples=40, derandomize=True, database=None)
probabilities = st.floats(0.001, 0.999)
laws = arrays(np.float64, 3, elements=st.floats(0.05, 1)).map(lambda x: x / x.sum())
rows = arrays(np.float64, 3, elements=st.floats(-5, 5))


def all_samples(size, law):
    """Every way in which `size` draws from `law` can fall, as shares, and how likely each is."""
    counts = np.array([c for c in itertools.product(range(size + 1), repeat=len(law)) if sum(c) == size])
    ways = [factorial(size) / np.prod([factorial(int(n)) for n in c]) for c in counts]
    return counts / size, np.array(ways) * np.prod(law**counts, axis=1)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("statement", sampling.STATEMENTS, ids=lambda s: s.name)
def test_statements_fare_as_expected(statement, seed):
    found = statement.check(np.random.default_rng(seed))
    assert found.verdict == statement.expected, found.measured


@often
@given(rows, laws, st.floats(0.01, 5), st.integers(1, 6))
def test_the_sampled_entropic_risk_is_never_below_the_true_one_on_average(values, law, temperature, size):
    shares, likely = all_samples(size, law)
    risk = -tilted(values, shares, np.full(len(shares), temperature)).log_partition / temperature
    truth = -tilted(values, law, temperature).log_partition / temperature
    assert likely @ risk >= truth - 1e-9


@often
@given(rows, laws, st.floats(0.01, 2), st.integers(1, 6))
def test_nor_is_the_sampled_worst_expectation(values, law, budget, size):
    shares, likely = all_samples(size, law)
    assert likely @ worst(values, shares, budget).value >= worst([values], law, budget).value[0] - 1e-9


@often
@given(probabilities, st.floats(0.01, 30), st.integers(1, 200), st.floats(0.001, 0.9))
def test_hoeffdings_correction_keeps_its_probability(probability, depth, samples, allowed):
    p, x = np.array([probability]), np.array([depth])
    correction = sampling.hoeffding_correction(samples, allowed, x)
    assert sampling.failure(samples, p, x, correction)[0] <= allowed + 1e-12


@often
@given(st.floats(1, 100), st.integers(1, 64), st.floats(0.01, 0.5))
def test_no_multiple_of_the_papers_correction_keeps_it(multiple, samples, allowed):
    correction = multiple * np.sqrt(-np.log(allowed) / samples)
    p = np.array([1 - (1.5 * allowed) ** (1 / samples)])
    x = correction - np.log(p) + 1
    assert sampling.failure(samples, p, x, correction)[0] > allowed


@often
@given(probabilities, st.integers(1, 300))
def test_binomial_laws_sum_to_one_and_have_their_mean(probability, trials):
    law = sampling.binomial(trials, np.array([probability]))[0]
    np.testing.assert_allclose(law.sum(), 1, rtol=1e-10)
    np.testing.assert_allclose(law @ np.arange(trials + 1), trials * probability, rtol=1e-10)
