"""Operators and policies: checks find what they should and notice what is wrong; the mathematics holds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rapo.tabular import (
    Mdp,
    backup,
    evaluate,
    exact_value,
    occupancy,
    policy_iteration,
    random_mdp,
    value_iteration,
    worst_kernel,
)
from rapo.tabular.ensemble import divergence
from rapo.tabular.markov import average
from rapo.theory.statement import Verdict
from rapo.theory.statements import approximate, policies, value_drop
from rapo.theory.statements import contraction as operator
from rapo.theory.statements.tilting import tilted
from rapo.theory.statements.worlds import SHAPE, copies, fitted, interior, oscillation, worlds

STATEMENTS = (
    *operator.STATEMENTS,
    *approximate.STATEMENTS,
    *policies.STATEMENTS,
    *value_drop.STATEMENTS,
)
often = settings(deadline=None, max_examples=25, derandomize=True, database=None)
seeds, budgets = st.integers(0, 10_000), st.sampled_from([0.003, 0.03, 0.3, 3.0])


def drawn(seed, discount=0.9):
    """A random world in the common shape."""
    rng = np.random.default_rng(seed)
    return rng, fitted("random", random_mdp(rng, 6, 3, 4, discount))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda statement: statement.name)
def test_statements_fare_as_expected(statement, seed):
    found = statement.check(np.random.default_rng(seed))
    assert found.verdict == statement.expected, found.measured
    assert (found.counterexample != "") == (found.verdict is not Verdict.HOLDS)
    for rate in found.rates:
        assert rate.slope == pytest.approx(rate.predicted, abs=0.05)
        assert all(len(points.x) == len(points.y) > 4 for points in rate.curves)
        assert all(y > 0 for points in rate.curves for y in points.y)


def test_names_of_statements_are_their_own():
    assert len({statement.name for statement in STATEMENTS}) == len(STATEMENTS)


@pytest.mark.parametrize(
    ("module", "name", "wrong", "check"),
    [
        (operator, "backup", lambda q: q * 1.0001, operator.contraction),
        (operator, "backup", lambda q: q * 1.0001, operator.translation),
        (operator, "backup", lambda q: q - 2 * np.maximum(q, 0), operator.monotonicity),
        (operator, "policy_iteration", lambda f: replace(f, value=f.value + 1e-8), operator.fixed_point),
        (policies, "evaluate", lambda f: replace(f, value=f.value * 1.00001), policies.attained),
        (policies, "evaluate", lambda f: replace(f, value=f.value + 1e-8), policies.stationary_optimum),
        (
            approximate,
            "value_iteration",
            lambda f: replace(f, value=f.value - 1e-3),
            approximate.fixed_point_error,
        ),
        (value_drop, "evaluate", lambda f: replace(f, value=f.value - 1e-3), value_drop.value_drop),
        (value_drop, "evaluate", lambda f: replace(f, value=f.value + 10), value_drop.value_drop),
    ],
)
def test_a_solver_that_is_a_little_wrong_is_noticed(module, name, wrong, check, monkeypatch):
    right = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given, **named: wrong(right(*given, **named)))
    assert check(np.random.default_rng(0)).verdict is Verdict.FAILS


def test_an_adversary_that_leaves_its_budget_unused_is_noticed(monkeypatch):
    monkeypatch.setattr(policies, "worst_kernel", lambda mdp, value, budget: mdp.probabilities)
    assert policies.attained(np.random.default_rng(0)).verdict is Verdict.FAILS
    assert policies.performance_difference(np.random.default_rng(0)).verdict is Verdict.FAILS


def test_all_worlds_have_one_shape_and_spare_states_are_copies():
    for world in worlds(np.random.default_rng(0)):
        assert world.mdp.successors.shape == SHAPE
        assert world.mdp.successors.max() < world.size
        value = value_iteration(world.mdp, 0.1).value
        np.testing.assert_allclose(value[world.size :], value[0])
    small = random_mdp(np.random.default_rng(1), 6, 3, 4)
    kernel = fitted("", small).mdp.kernel
    np.testing.assert_allclose(kernel[:6, :3, :6], small.kernel)
    assert (fitted("", small).mdp.rewards[:6, 3:] == -np.inf).all()


def test_copies_side_by_side_do_not_meet():
    small = random_mdp(np.random.default_rng(1), 3, 2, 2)
    kernel = copies(small, 2).kernel
    np.testing.assert_allclose(kernel[3:, :, 3:], small.kernel)
    assert (kernel[:3, :, 3:] == 0).all()


@often
@given(seeds, budgets, st.floats(-20, 20), st.floats(1e-3, 100))
def test_the_operator_is_monotone_moves_constants_and_contracts(seed, budget, constant, scale):
    rng, world = drawn(seed)
    one, more = world.values(rng, 5), scale * np.abs(world.values(rng))
    policy = world.policy(rng)
    first, second, moved = (backup(world.mdp, v, budget) for v in (one, one + more, one + constant))
    for pick in (lambda q: q.max(axis=1), lambda q: average(policy, q)):
        assert (pick(second) >= pick(first) - 1e-12 * (10 + scale)).all()
        assert np.abs(pick(second) - pick(first)).max() <= 0.9 * more.max() + 1e-12 * (10 + scale)
        np.testing.assert_allclose(pick(moved), pick(first) + 0.9 * constant, atol=1e-11)


@often
@given(seeds, budgets, st.floats(-2, 2))
def test_the_dual_at_any_temperature_contracts_and_is_never_above_the_robust_operator(seed, budget, size):
    rng, world = drawn(seed)
    temperature = 10 ** (size + rng.normal(size=SHAPE[:2]))
    one, other = world.values(rng, 3), world.values(rng, 3)
    first, second = (approximate._dual(world.mdp, v, temperature, budget) for v in (one, other))
    assert np.abs(first - second).max() <= 0.9 * np.abs(one - other).max() + 1e-9
    assert (first <= backup(world.mdp, one, budget).max(axis=1) + 1e-9).all()


@often
@given(seeds, st.floats(0.01, 20))
def test_the_tilted_mean_has_the_derivatives_that_make_it_fail(seed, temperature):
    rng = np.random.default_rng(seed)
    row, p, step = rng.normal(size=4), rng.dirichlet(np.ones(4)), 1e-6
    here = tilted(row, p, temperature)
    expected = here.weights * (1 - temperature * (row - here.mean))
    moved = [tilted(row + sign * step * np.eye(4), p, temperature).mean for sign in (1, -1)]
    np.testing.assert_allclose((moved[0] - moved[1]) / (2 * step), expected, atol=1e-6)
    assert expected.sum() == pytest.approx(1)
    if temperature * np.ptp(row) <= 1:
        assert (expected >= 0).all()


@often
@given(seeds, budgets)
def test_the_worst_kernel_attains_the_value_and_others_in_the_ball_do_not_go_lower(seed, budget):
    rng, world = drawn(seed)
    policy = world.policy(rng)
    found = evaluate(world.mdp, policy, budget, tolerance=1e-10)
    worst = worst_kernel(world.mdp, found.value, budget)
    np.testing.assert_allclose(exact_value(world.mdp.under(worst), policy), found.value, atol=1e-9)
    used = divergence(worst, world.mdp.probabilities)
    assert (used <= budget * (1 + 1e-9)).all()
    np.testing.assert_allclose(used[interior(world.mdp, found.value, budget)], budget, rtol=1e-8)
    other = policies._feasible(world, budget, rng, found.value if seed % 2 else None)
    assert (divergence(other, world.mdp.probabilities) <= budget * (1 + 1e-9)).all()
    assert (exact_value(world.mdp.under(other), policy) >= found.value - 1e-9).all()


@often
@given(seeds, budgets)
def test_the_gain_of_a_policy_lies_between_its_two_expected_advantages(seed, budget):
    rng, world = drawn(seed)
    (old, kernel), (new, ahead) = (_in_worst_case(world, world.policy(rng), budget) for _ in range(2))
    gain = world.initial @ (new[0] - old[0])
    under = world.mdp.rewards + 0.9 * (kernel * old[0][world.mdp.successors]).sum(-1) - old[0][:, None]
    below, above = (
        occupancy(world.mdp.under(p), new[1], world.initial) @ average(new[1], under) / 0.1
        for p in (ahead, kernel)
    )
    assert below - 1e-7 <= gain <= above + 1e-7


def _in_worst_case(world, policy, budget):
    value = evaluate(world.mdp, policy, budget, tolerance=1e-10).value
    return (value, policy), worst_kernel(world.mdp, value, budget)


@often
@given(seeds, budgets, st.sampled_from([0.5, 0.9, 0.98]))
def test_the_value_drop_is_within_the_sharper_bound_too(seed, budget, discount):
    rng, world = drawn(seed, discount)
    policy = world.policy(rng)
    nominal, robust = exact_value(world.mdp, policy), evaluate(world.mdp, policy, budget).value
    narrower = min(oscillation(nominal), oscillation(robust))
    bound = discount / (1 - discount) * narrower * np.sqrt(budget / 2)
    assert (nominal - robust >= -1e-7).all()
    assert (nominal - robust <= bound + 1e-7).all()


@often
@given(seeds, budgets)
def test_no_policy_of_any_kind_beats_the_best_stationary_one(seed, budget):
    rng, world = drawn(seed)
    best = policy_iteration(world.mdp, budget, tolerance=1e-10)
    assert (evaluate(world.mdp, world.policy(rng), budget).value <= best.value + 2e-8).all()
    # Whatever it remembers, under this one kernel of the ball no policy gets more than the ordinary optimum.
    kernel = worst_kernel(world.mdp, best.value, budget)
    np.testing.assert_allclose(value_iteration(world.mdp.under(kernel), 0.0).value, best.value, atol=2e-8)


def test_alternating_between_two_policies_is_iterating_both_operators():
    mdp = random_mdp(np.random.default_rng(3), 3, 3, 3, 0.8)
    even, odd = np.random.default_rng(4).dirichlet(np.ones(3), (2, 3))
    found = policies._values_of(policies._two_turns(mdp), np.concatenate([even, odd])[None], 0.2)[0]
    value = np.zeros(SHAPE[0])
    world = fitted("", mdp)
    for _ in range(100):
        for policy in (odd, even):
            pairs = backup(world.mdp, value, 0.2)[:3, :3]
            value = (policy * pairs).sum(axis=1)[world.origin]
    np.testing.assert_allclose(found[:3], value[:3], atol=1e-8)


@often
@given(seeds, st.floats(0.05, 0.9), st.sampled_from([-1, 1]))
def test_wrong_temperatures_cost_no_more_than_the_square_of_their_error(seed, share, sign):
    _, world = drawn(seed)
    budget = 0.05
    exact = value_iteration(world.mdp, budget, tolerance=1e-10)
    inside = interior(world.mdp, exact.value, budget)
    best = np.where(inside, exact.temperature, np.inf)
    error = share * best.min()
    value, unsure = approximate._solve(world.mdp, exact.value, (best + sign * error)[None], budget)
    lowest = best.min() + min(sign * error, 0)
    bound = 9 * oscillation(exact.value) ** 2 / (8 * lowest) * error**2
    assert np.abs(value[0] - exact.value).max() <= bound + unsure + 1e-8
    # And the fixed point is one.
    again = approximate._dual(world.mdp, value[0], np.where(inside, best + sign * error, 1e9), budget)
    np.testing.assert_allclose(again, value[0], atol=1e-6)


def test_the_lemma_fails_in_the_two_states_worked_out_by_hand():
    # All chances are even and the budget, 1 > log 2, allows either state for certain; discount 1/2.
    # Old: state 0 pays 0, so the adversary stays there: V(0) = 0, V(1) = 1/2. New: state 0 pays 1, so the
    # adversary leaves for state 1 and stays: V(1) = 1, V(0) = 1 + 1/2. The gain from state 0 is 3/2. The
    # advantage of the new action in state 0 is 1 + 1/2 * 0 - 0 = 1, and the new policy is there at the first
    # step only, so the right side is 1.
    mdp = fitted("", Mdp.dense(np.full((2, 2, 2), 0.5), [[0.0, 1.0], [0.5, 0.5]], 0.5)).mdp
    old, new = (evaluate(mdp, np.full(SHAPE[0], action), 1.0).value[:2] for action in (0, 1))
    np.testing.assert_allclose(old, [0, 0.5], atol=1e-8)
    np.testing.assert_allclose(new, [1.5, 1], atol=1e-8)
    assert "1.5 - 0 = 1.5, the right side is 1, and 2 with" in policies._two_states()


def test_the_tilted_mean_iterates_to_two_answers_and_the_dual_to_one():
    assert "ends at 0.04 there and from 10 at 8.62, while the dual" in approximate._two_answers()
    # Both are fixed points: x = 0.9 (0.1 e^-x x + 0.9 e^-10 10) / (0.1 e^-x + 0.9 e^-10).
    for end in (0.04, 8.62):
        stay, leave = 0.1 * np.exp(-end), 0.9 * np.exp(-10)
        assert 0.9 * (stay * end + leave * 10) / (stay + leave) == pytest.approx(end, abs=0.01)
