"""Reweighting the mixture of models."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rapo.learner import boltzmann

PRIOR = jnp.array([0.1, 0.2, 0.3, 0.4])
SCORES = jnp.array([5.0, 1.0, 3.0, 9.0])


def test_no_budget_keeps_the_prior_and_a_large_one_picks_the_hardest_model():
    np.testing.assert_allclose(boltzmann.reweight(PRIOR, SCORES, 0.0).weights, PRIOR)
    hardest = boltzmann.reweight(PRIOR, SCORES, float(jnp.log(4 / 0.2)))
    np.testing.assert_array_equal(hardest.weights, [0, 1, 0, 0])
    assert float(hardest.kl) == pytest.approx(np.log(5), rel=1e-6)
    uniform = jnp.full(4, 0.25)
    np.testing.assert_array_equal(
        boltzmann.reweight(uniform, SCORES, float(np.log(4)) + 1e-6).weights, [0, 1, 0, 0]
    )


def test_weights_are_boltzmann_and_spend_exactly_the_budget():
    mixture = boltzmann.reweight(PRIOR, SCORES, 0.3)
    unnormalised = PRIOR * jnp.exp(-mixture.temperature * SCORES)
    np.testing.assert_allclose(mixture.weights, unnormalised / unnormalised.sum(), rtol=1e-4)
    spent = float(jnp.sum(mixture.weights * jnp.log(mixture.weights / PRIOR)))
    assert spent == pytest.approx(0.3, rel=1e-4)
    assert float(mixture.kl) == pytest.approx(0.3, rel=1e-4)


def test_a_larger_budget_moves_more_weight_to_harder_models():
    budgets = (0.0, 0.05, 0.2, 0.6, 1.2)
    means = [float(boltzmann.reweight(PRIOR, SCORES, b).weights @ SCORES) for b in budgets]
    assert all(a > b for a, b in pairwise(means))


def test_only_differences_and_their_proportions_matter():
    plain = boltzmann.reweight(PRIOR, SCORES, 0.2).weights
    np.testing.assert_allclose(boltzmann.reweight(PRIOR, 1000 * SCORES - 7, 0.2).weights, plain, atol=1e-5)


def test_models_alike_keep_the_prior():
    np.testing.assert_allclose(boltzmann.reweight(PRIOR, jnp.full(4, 3.0), 0.5).weights, PRIOR)


def test_the_moving_average_is_of_what_was_seen_and_nothing_else():
    scores = boltzmann.no_scores(2)
    np.testing.assert_array_equal(scores.average, [0, 0])
    scores = boltzmann.observe(scores, jnp.array([[1.0, 10.0], [3.0, 30.0]]), True, rate=0.25)
    np.testing.assert_allclose(scores.average, [2, 20])
    scores = boltzmann.observe(scores, jnp.array([[6.0, 0.0]]), True, rate=0.25)
    # weights 0.75 * 0.25 and 0.25: (0.1875 * 2 + 0.25 * 6) / 0.4375
    np.testing.assert_allclose(scores.average, [1.875 / 0.4375, 3.75 / 0.4375], rtol=1e-6)
    np.testing.assert_allclose(boltzmann.observe(scores, jnp.array([[4.0, 5.0]]), True, 1.0).average, [4, 5])


def test_a_model_keeps_its_score_until_more_is_seen_of_it_and_an_unseen_one_has_the_mean_of_the_others():
    values, counted = jnp.array([[1.0, 10.0, 0.0], [3.0, 99.0, 0.0]]), jnp.array([[1, 1, 0], [1, 0, 0]], bool)
    scores = boltzmann.observe(boltzmann.no_scores(3), values, counted, rate=0.5)
    np.testing.assert_allclose(scores.average, [2, 10, 6])  # means of 1 and 3, of 10 alone, and (2 + 10) / 2
    scores = boltzmann.observe(scores, values, jnp.array([[0, 0, 1], [0, 1, 0]], bool), rate=0.5)
    # weights 0.5 * 0.5 and 0.5: (0.25 * 10 + 0.5 * 99) / 0.75
    np.testing.assert_allclose(scores.average, [2, 52 / 0.75, 0], rtol=1e-6)


def test_the_limit_bounds_how_far_the_mixture_moves():
    old, new = jnp.array([0.5, 0.5, 0.0]), jnp.array([0.1, 0.5, 0.4])
    np.testing.assert_allclose(boltzmann.limit(old, new, 0.1), [0.4, 0.5, 0.1], rtol=1e-6)
    np.testing.assert_allclose(boltzmann.limit(old, new, 0.4), new, rtol=1e-6)
    np.testing.assert_allclose(boltzmann.limit(old, old, 0.1), old)


def test_it_can_be_compiled():
    np.testing.assert_allclose(
        jax.jit(boltzmann.reweight)(PRIOR, SCORES, 0.3).weights,
        boltzmann.reweight(PRIOR, SCORES, 0.3).weights,
        rtol=1e-5,
    )
