"""Robust MDPs against sums worked out in the open, ordinary dynamic programming, and one another."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rapo.errors import InputError
from rapo.tabular import (
    Mdp,
    advantage,
    backup,
    evaluate,
    exact_value,
    machine_replacement,
    occupancy,
    policy_iteration,
    random_mdp,
    value_iteration,
    worst_kernel,
)
from rapo.tabular import operator as tabular

SHAPE = (5, 3, 4)
"""One shape for all random MDPs, so that nothing is compiled twice."""
seeds = st.integers(0, 10_000)
again = jax.jit(tabular.apply_again)
quietly = settings(deadline=None, max_examples=25, derandomize=True, database=None)


def drawn(seed, discount=0.9):
    """A random MDP in which some state has fewer actions."""
    rng = np.random.default_rng(seed)
    mdp = random_mdp(rng, *SHAPE, discount)
    rewards = mdp.rewards.copy()
    rewards[rng.integers(5), rng.integers(3)] = -np.inf
    return rng, Mdp(rewards, mdp.successors, mdp.probabilities, discount)


def two_states(pay=0.0):
    """State 0 pays `pay` and leads to 0 or 1 with even chances; state 1 pays 1 and stays. The rest pads."""
    kernel, rewards = np.zeros((5, 3, 5)), np.full((5, 3), -np.inf)
    kernel[0, 0, :2] = 0.5
    kernel[1:, 0, 1] = 1
    rewards[:, 0] = [pay, 1, 1, 1, 1]
    # A pair that reaches four states keeps the room for four successors.
    kernel[4, 1, :4], rewards[4, 1] = 0.25, -1e6
    return Mdp.dense(kernel, rewards, 0.5)


def test_two_states_worked_out_by_hand():
    # V(1) = 1 + V(1)/2 = 2. With q the chance to stay in state 0, V(0) = (q V(0) + (1 - q) 2) / 2, so
    # V(0) = (2 - 2 q) / (2 - q). For q = 3/4 that is 1/2 / (5/4) = 2/5, and V(0) < V(1): the adversary wants
    # q as large as it can get, which at a budget of KL((3/4, 1/4) || (1/2, 1/2)) is 3/4.
    budget = 0.75 * np.log(0.75 / 0.5) + 0.25 * np.log(0.25 / 0.5)
    for found in (
        evaluate(two_states(), np.zeros(5, int), budget, tolerance=1e-12),
        value_iteration(two_states(), budget, tolerance=1e-12),
        policy_iteration(two_states(), budget, tolerance=1e-12),
    ):
        np.testing.assert_allclose(found.value[:2], [0.4, 2.0], rtol=1e-11)
        # q ~ 1/2 exp(-eta V): 3/4 against 1/4 means exp(eta (2 - 2/5)) = 3.
        assert found.temperature[0, 0] == pytest.approx(np.log(3) / 1.6, rel=1e-9)
    kernel = worst_kernel(two_states(), found.value, budget)
    np.testing.assert_allclose(kernel[0, 0, :2], [0.75, 0.25], rtol=1e-9)
    # One step from values (0, 1): pays 0, then 3/4 * 0 + 1/4 * 1, half of it.
    assert backup(two_states(), [0, 1, 1, 1, 1], budget)[0, 0] == pytest.approx(0.125, rel=1e-9)


def test_the_adversary_turns_round_where_the_better_state_changes():
    # With pay 2, V(0) = 2 + ... is the better one, so the adversary makes leaving likely: q = 1/4 and
    # V(0) = 2 + (V(0)/4 + 3/4 * 2) / 2 = 2 + V(0)/8 + 3/4, so V(0) = 11/4 * 8/7 = 22/7.
    budget = 0.75 * np.log(0.75 / 0.5) + 0.25 * np.log(0.25 / 0.5)
    found = policy_iteration(two_states(2.0), budget, tolerance=1e-12)
    np.testing.assert_allclose(found.value[:2], [22 / 7, 2], rtol=1e-11)


def test_advantages_are_those_of_the_policys_own_worst_case():
    _, mdp = drawn(3)
    policy = policy_iteration(mdp, 0.1).policy
    found = advantage(mdp, policy, 0.1)
    value = evaluate(mdp, policy, 0.1).value
    worst = mdp.under(worst_kernel(mdp, value, 0.1))
    expected = worst.rewards + worst.discount * worst.kernel @ value - value[:, None]
    np.testing.assert_allclose(found[mdp.allowed], expected[mdp.allowed], atol=1e-7)
    assert (found[~mdp.allowed] == -np.inf).all()
    # The policy is the best there is: none of its own actions is better or worse, and no other is better.
    np.testing.assert_allclose(found[np.arange(5), policy], 0, atol=1e-7)
    assert found.max() < 1e-7


@quietly
@given(seeds, st.sampled_from([0.01, 0.1, 1.0]), st.sampled_from([0.5, 0.9, 0.98]))
def test_value_iteration_policy_iteration_and_the_policys_own_value_agree(seed, budget, discount):
    _, mdp = drawn(seed, discount)
    swept, found = value_iteration(mdp, budget), policy_iteration(mdp, budget)
    own = evaluate(mdp, found.policy, budget)
    assert np.abs(swept.value - found.value).max() <= swept.error + found.error
    assert np.abs(own.value - found.value).max() <= own.error + found.error
    assert max(swept.error, found.error, own.error) <= 1e-8
    np.testing.assert_allclose(swept.value, swept.action_value.max(axis=1), atol=1e-7)
    assert mdp.allowed[np.arange(5), swept.policy].all()


@quietly
@given(seeds, st.sampled_from([1e-1, 1e-3, 1e-5]))
def test_the_certified_error_bounds_the_distance_to_a_much_finer_solution(seed, tolerance):
    rng, mdp = drawn(seed)
    budget = 10 ** rng.uniform(-3, 0.5)
    fine = policy_iteration(mdp, budget, tolerance=1e-11)
    for solve in (value_iteration, policy_iteration):
        found = solve(mdp, budget, tolerance=tolerance)
        assert np.abs(found.value - fine.value).max() <= found.error + fine.error
        assert found.error <= tolerance
    policy = rng.dirichlet(np.ones(3), 5) * mdp.allowed
    policy /= policy.sum(axis=1, keepdims=True)
    fine, coarse = (evaluate(mdp, policy, budget, tolerance=t) for t in (1e-11, tolerance))
    assert np.abs(coarse.value - fine.value).max() <= coarse.error + fine.error


def test_the_error_counts_a_spread_that_rounding_hides():
    # A chance of 1e-12 of a state that is lower by 4e-9: too little for a standard deviation, but a budget of
    # 30 allows that state alone, and the value under it is lower by half of that.
    rewards = np.full(SHAPE[:2], -np.inf)
    rewards[:, 0] = [0, 1, 1 - 2e-9, 0, 0]
    leads, chances = np.zeros(SHAPE, np.int32), np.zeros(SHAPE)
    leads[:, 0, 0], chances[:, 0, 0] = [1, 1, 2, 3, 4], 1
    leads[0, 0, 1], chances[0, 0, :2] = 2, [1 - 1e-12, 1e-12]
    mdp = Mdp(rewards, leads, chances, 0.5)
    found = evaluate(mdp, np.zeros(5, int), 30.0, tolerance=1e-7)
    assert abs(found.value[0] - 0.5 * found.value[2]) <= found.error


@quietly
@given(seeds)
def test_a_budget_of_0_is_ordinary_dynamic_programming(seed):
    rng, mdp = drawn(seed)
    value = np.zeros(5)
    for _ in range(400):
        value = (mdp.rewards + 0.9 * mdp.kernel @ value).max(axis=1)
    for solve in (value_iteration, policy_iteration):
        np.testing.assert_allclose(solve(mdp, 0.0).value, value, atol=2e-8)
    other = rng.normal(size=5)
    np.testing.assert_allclose(backup(mdp, other, 0.0), mdp.rewards + 0.9 * mdp.kernel @ other, atol=1e-13)
    np.testing.assert_allclose(worst_kernel(mdp, other, 0.0), mdp.probabilities)
    policy = value_iteration(mdp, 0.0).policy
    np.testing.assert_allclose(evaluate(mdp, policy, 0.0).value, exact_value(mdp, policy), atol=1e-12)


@quietly
@given(seeds)
def test_a_huge_budget_is_the_worst_successor(seed):
    _, mdp = drawn(seed)
    value = np.zeros(5)
    for _ in range(400):
        value = (mdp.rewards + 0.9 * value[mdp.successors].min(axis=-1)).max(axis=1)
    for solve in (value_iteration, policy_iteration):
        np.testing.assert_allclose(solve(mdp, 100.0).value, value, atol=2e-8)


@quietly
@given(seeds)
def test_budgets_may_differ_from_pair_to_pair(seed):
    rng, mdp = drawn(seed)
    budgets = rng.choice([0.0, 0.02, 0.3, 50.0], SHAPE[:2])
    value = rng.normal(size=5)
    alone = [backup(mdp, value, np.full(SHAPE[:2], budget)) for budget in (0.0, 0.02, 0.3, 50.0)]
    picked = np.select([budgets == b for b in (0.0, 0.02, 0.3, 50.0)], alone)
    np.testing.assert_allclose(backup(mdp, value, budgets), picked, atol=1e-12)
    swept, found = value_iteration(mdp, budgets), policy_iteration(mdp, budgets)
    assert np.abs(swept.value - found.value).max() <= swept.error + found.error


@quietly
@given(seeds, st.sampled_from([0.0, 0.05, 0.5, 5.0]))
def test_more_budget_never_means_more_value(seed, budget):
    _, mdp = drawn(seed)
    assert (value_iteration(mdp, budget + 0.1).value <= value_iteration(mdp, budget).value + 2e-8).all()


def test_an_action_that_is_not_allowed_is_never_taken_and_changes_nothing():
    rng, mdp = drawn(5)
    state, action = np.argwhere(~mdp.allowed)[0]
    wild = mdp.successors.copy()
    wild[state, action] = 4
    chances = mdp.probabilities.copy()
    chances[state, action] = rng.random(4) * 100
    other = Mdp(mdp.rewards, wild, chances, mdp.discount)
    for solve in (value_iteration, policy_iteration):
        one, same = solve(mdp, 0.1), solve(other, 0.1)
        np.testing.assert_allclose(one.value, same.value, rtol=1e-13)
        assert one.policy[state] != action
        assert one.action_value[state, action] == -np.inf
    open_to_all = np.where(mdp.allowed, mdp.rewards, 10.0)
    tempted = value_iteration(Mdp(open_to_all, mdp.successors, mdp.probabilities, mdp.discount), 0.1)
    assert tempted.policy[state] == action


def test_warm_sweeps_end_where_cold_ones_do():
    _, mdp = drawn(7)
    value = np.zeros(5)
    for _ in range(300):
        value = backup(mdp, value, 0.2).max(axis=1)
    np.testing.assert_allclose(value_iteration(mdp, 0.2, tolerance=1e-10).value, value, atol=1e-10)


def test_rare_disasters_do_not_stop_value_iteration():
    # KL rises in steps over the temperature, where Newton's method from the last sweep loses its way.
    rng = np.random.default_rng(6)
    for _ in range(10):
        chances = np.maximum(rng.dirichlet(np.full(4, 0.1), SHAPE[:2]), 1e-9)
        leads = rng.permuted(np.broadcast_to(np.arange(5), (*SHAPE[:2], 5)), axis=-1)[..., :4]
        rewards = rng.random(SHAPE[:2]) * rng.choice([0, 1, -100], SHAPE[:2])
        mdp = Mdp(rewards, leads, chances / chances.sum(axis=-1, keepdims=True), 0.9)
        for budget in (0.1, 1.0, 5.0):
            swept, found = value_iteration(mdp, budget), policy_iteration(mdp, budget)
            assert np.abs(swept.value - found.value).max() <= swept.error + found.error


@quietly
@given(seeds)
def test_the_operators_bounds_enclose_it_from_whatever_temperature(seed):
    rng, mdp = drawn(seed)
    value, budget = rng.normal(size=5) * 10, 10 ** rng.uniform(-3, 1)
    exact = backup(mdp, value, budget)[mdp.allowed]
    with jax.enable_x64(True):
        given = tabular.model(mdp, budget)
        lower, upper, _ = again(given, value, 10 ** rng.uniform(-4, 4, SHAPE[:2]))
    assert (np.asarray(lower)[mdp.allowed] <= exact + 1e-12).all()
    assert (np.asarray(upper)[mdp.allowed] >= exact - 1e-12).all()


def test_more_than_two_thousand_states_give_what_a_dense_solve_does():
    states = 2100
    rng = np.random.default_rng(0)
    leads = ((np.arange(states)[:, None, None] + np.array([0, 1, 5])) % states).astype(np.int32)
    chances = rng.dirichlet(np.ones(3), (states, 1))
    mdp = Mdp(rng.random((states, 1)), leads, chances, 0.9)
    chain = mdp.kernel[:, 0]
    policy = np.zeros(states, int)
    value = np.linalg.solve(np.eye(states) - 0.9 * chain, mdp.rewards[:, 0])
    np.testing.assert_allclose(exact_value(mdp, policy), value, rtol=1e-10)
    visits = occupancy(mdp, policy)
    np.testing.assert_allclose(visits, 0.1 / states + 0.9 * chain.T @ visits, rtol=1e-9)
    assert visits.sum() == pytest.approx(1)


def test_the_occupancy_weighs_rewards_as_the_value_does():
    rng, mdp = drawn(9)
    policy = value_iteration(mdp, 0.1).policy
    initial = rng.dirichlet(np.ones(5))
    rewards = mdp.rewards[np.arange(5), policy]
    assert occupancy(mdp, policy, initial) @ rewards / 0.1 == pytest.approx(
        initial @ exact_value(mdp, policy)
    )


def test_a_stochastic_policy_lies_between_its_actions():
    # A half-half mixture of two actions in one state only is linear in neither value, but the operator is.
    _, mdp = drawn(11)
    rows = np.eye(3)[value_iteration(mdp, 0.1).policy]
    even = mdp.allowed / mdp.allowed.sum(axis=1, keepdims=True)
    found = evaluate(mdp, even, 0.1)
    expected = np.where(even > 0, even * np.where(mdp.allowed, found.action_value, 0), 0).sum(axis=1)
    np.testing.assert_allclose(found.value, expected, atol=1e-8)
    assert (found.value <= evaluate(mdp, rows, 0.1).value + 1e-8).all()


def test_a_chi_square_ball_too_large_for_rounding_is_refused_rather_than_certified_wrongly():
    # A start that leads to one of three states for ever, the worst of them very seldom.
    rows = np.eye(4)[:, None].repeat(1, axis=1)
    rows[0, 0] = [0, 1e-10, 0.4, 0.6]
    mdp = Mdp.dense(rows / rows.sum(axis=2, keepdims=True), [[0.0], [-1.0], [-0.3], [0.7]], 0.5)
    assert evaluate(mdp, [0] * 4, 10.0, "chi-square").error <= 1e-8
    with pytest.raises(InputError, match="double precision allows"):
        evaluate(mdp, [0] * 4, 1e9, "chi-square")


@pytest.mark.parametrize("solver", [value_iteration, policy_iteration])
def test_near_a_discount_of_1_the_default_tolerance_can_be_reached_and_so_can_the_suggested_one(solver):
    mdp = machine_replacement(discount=0.999)
    fine = solver(mdp, 0.1)
    assert fine.error < 1e-5
    with pytest.raises(InputError, match="double precision allows") as refused:
        solver(mdp, 0.1, tolerance=1e-12)
    assert solver(mdp, 0.1, tolerance=float(str(refused.value).split()[-1])).error < 1e-5
