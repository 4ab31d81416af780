"""Budgets over the course of training."""

import jax
import jax.numpy as jnp
import pytest

from rapo.errors import InputError
from rapo.learner import budget, dual
from rapo.learner.budget import Budget


def test_a_constant_stays_and_a_ramp_moves_and_then_stays():
    assert [Budget(0.3).at(p) for p in (0.0, 0.5, 1.0)] == [0.3, 0.3, 0.3]
    ramp = Budget(0.0, 0.4, until=0.5)
    assert [ramp.at(p) for p in (0.0, 0.25, 0.5, 1.0)] == pytest.approx([0.0, 0.2, 0.4, 0.4])


def test_a_joint_budget_splits_into_its_parts():
    kappa, epsilon = budget.split(0.5, 0.2)
    assert (kappa, epsilon) == pytest.approx((0.1, 0.4))


def test_discounted_budgets_of_the_steps_add_up_to_that_of_the_trajectory():
    assert budget.per_step(1.0, 0.99) == pytest.approx(0.01)
    step = budget.per_step(3.0, 0.9)
    assert step == pytest.approx(0.3)
    assert sum(step * 0.9**t for t in range(1000)) == pytest.approx(3.0)


def test_adapted_temperatures_come_to_spend_the_budget():
    values = jax.random.normal(jax.random.key(0), (256, 8))
    weights = jnp.full(8, 1 / 8)

    def spent(temperature):
        return dual.kl(values, weights, jnp.full(256, temperature)).mean()

    @jax.jit
    def adapted(temperature):
        return jax.lax.fori_loop(
            0, 400, lambda i, t: budget.adapt(t, spent(t), 0.2, jnp.asarray(i), rate=3.0), temperature
        )

    for first in (0.01, 30.0):
        assert float(spent(adapted(first))) == pytest.approx(0.2, rel=0.02)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Budget(-0.1), "the KL budget's start is -0.1: allowed are numbers from 0 to 1e"),
        (lambda: Budget(0.1, -1.0), "the KL budget's end is -1: allowed are numbers from 0 to 1e"),
        (lambda: Budget(float("nan")), "the KL budget's start is nan"),
        (
            lambda: Budget(0.1, 0.2, until=0.0),
            "until is 0: allowed are numbers above 0, up to 1",
        ),
        (lambda: budget.split(-1, 0.5), "the joint KL budget is -1: allowed are numbers from 0 to 1e"),
        (
            lambda: budget.split(1, 1.5),
            "of the joint KL budget is 1.5: allowed are numbers from 0 to 1",
        ),
        (lambda: budget.per_step(1, 1.0), "discount 1 was given: allowed are numbers from 0 to below 1"),
    ],
)
def test_budgets_that_make_no_sense_are_refused(make, says):
    with pytest.raises(InputError, match=says):
        make()
