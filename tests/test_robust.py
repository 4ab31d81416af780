"""The public building blocks: plain arrays in, plain arrays out, and errors that name the thing."""

import numpy as np
import pytest

import rapo
from rapo.errors import InputError


def test_robust_value_lies_between_the_minimum_and_the_mean():
    values = np.random.default_rng(0).normal(size=(5, 3, 8))
    result = rapo.robust_value(values, budget=0.1)
    assert result.value.shape == result.temperature.shape == (5, 3)
    assert result.weights.shape == (5, 3, 8)
    assert result.value.dtype == np.float64
    assert (result.value < values.mean(axis=-1)).all()
    assert (result.value > values.min(axis=-1)).all()
    np.testing.assert_allclose(result.kl, 0.1, rtol=1e-9)
    np.testing.assert_allclose(result.gap, 0, atol=1e-9)
    np.testing.assert_allclose((result.weights * values).sum(axis=-1), result.value, rtol=1e-9)


def test_rows_may_have_their_own_weights_and_budgets():
    values = np.array([[0.0, 1.0], [0.0, 1.0]])
    result = rapo.robust_value(values, [[0.5, 0.5], [0.9, 0.1]], budget=[0.0, 5.0])
    np.testing.assert_allclose(result.value, [0.5, 0.0])


def test_reweight_moves_to_the_models_with_the_lowest_scores():
    result = rapo.reweight([0.25] * 4, [1.0, 2.0, 3.0, 4.0], budget=0.2)
    assert (np.diff(result.weights) < 0).all()
    assert result.kl == pytest.approx(0.2)
    np.testing.assert_array_equal(rapo.reweight([0.5, 0.5], [1.0, 2.0], 0).weights, [0.5, 0.5])
    np.testing.assert_array_equal(rapo.reweight([0.5, 0.5], [1.0, 2.0], 1.0).weights, [1, 0])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: rapo.robust_value([1.0, np.nan], budget=0.1), r"values of shape \(2,\) were given"),
        (lambda: rapo.robust_value([1.0, 2.0], budget=-0.1), "KL budget -0.1 was given"),
        (lambda: rapo.robust_value([1.0, 2.0], budget=np.nan), "KL budget nan was given"),
        (lambda: rapo.robust_value([1.0, 2.0], [0.5, 0.4], budget=0.1), "weights must be distributions"),
        (lambda: rapo.robust_value([1.0, 2.0], [1.5, -0.5], budget=0.1), "weights must be distributions"),
        (lambda: rapo.robust_value([1.0, 2.0], [1.0], budget=0.1), r"weights of shape \(1,\) were given"),
        (lambda: rapo.robust_value([[1.0, 2.0]], budget=[0.1, 0.2]), r"budgets of shape \(2,\) were given"),
        (lambda: rapo.reweight([1.0], [], 0.1), r"scores of shape \(0,\) were given"),
        (lambda: rapo.reweight([0.5, 0.6], [1.0, 2.0], 0.1), "prior must be distributions"),
        (lambda: rapo.reweight([0.5, 0.5], [1.0, 2.0], -1), "KL budget -1 was given"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, says):
    with pytest.raises(InputError, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)
