"""Classic MDPs: their rows by hand, and what a budget changes about what is best to do."""

import numpy as np
import pytest

from rapo.errors import InputError
from rapo.tabular import inventory, machine_replacement, policy_iteration, random_mdp, slippery_grid
from rapo.tabular.classic import BUDGET, MOVES, PLAN
from rapo.theory.statements.worlds import fitted


def best(mdp, budget):
    """The best robust policy, solved in one shape for all MDPs here."""
    return policy_iteration(fitted("", mdp).mdp, budget).policy[: mdp.states]


def cells(plan):
    return [(i, j) for i, row in enumerate(plan) for j, cell in enumerate(row) if cell != "#"]


def way(policy, plan=PLAN):
    """The cells from S to G, if no move slips."""
    free = cells(plan)
    here = next(cell for cell in free if plan[cell[0]][cell[1]] == "S")
    passed = [here]
    while plan[here[0]][here[1]] != "G":
        assert len(passed) < 50
        down, right = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}[
            MOVES[policy[free.index(here)]]
        ]
        moved = (here[0] + down, here[1] + right)
        here = moved if moved in free else here
        passed.append(here)
    return passed


def test_a_machine_wears_and_is_repaired():
    mdp = machine_replacement(4, wear=0.3, jolt=0.1, repaired=0.9, repair=2, breakdown=5)
    np.testing.assert_allclose(mdp.kernel[0, 0], [0.6, 0.3, 0.1, 0])
    np.testing.assert_allclose(mdp.kernel[2, 0], [0, 0, 0.6, 0.4])
    np.testing.assert_allclose(mdp.kernel[3, 0], [0, 0, 0, 1])
    np.testing.assert_allclose(mdp.kernel[2, 1], [0.9, 0, 0.1, 0])
    np.testing.assert_allclose(mdp.kernel[0, 1], [1, 0, 0, 0])
    np.testing.assert_array_equal(mdp.rewards, [[1, -2], [1, -2], [1, -2], [0, -5]])


def test_a_robust_owner_repairs_earlier():
    nominal, robust = (best(machine_replacement(), budget) for budget in (0.0, BUDGET))
    # Operate up to some state, repair from there on.
    assert (np.diff(nominal) >= 0).all()
    assert (np.diff(robust) >= 0).all()
    assert robust.sum() > nominal.sum() > 0


def test_moves_slip_to_either_side_and_walls_and_edges_stop_them():
    mdp = slippery_grid(["S.", "#G"], slip=0.2)
    # Cells are (0, 0), (0, 1), (1, 1), then the end; moves are north, east, south, west.
    np.testing.assert_allclose(mdp.kernel[0, 1], [0.2, 0.8, 0, 0])
    np.testing.assert_allclose(mdp.kernel[1, 1], [0, 0.9, 0.1, 0])
    np.testing.assert_allclose(mdp.kernel[1, 2], [0.1, 0.1, 0.8, 0])
    np.testing.assert_allclose(mdp.kernel[2], [[0, 0, 0, 1]] * 4)
    np.testing.assert_allclose(mdp.kernel[3], [[0, 0, 0, 1]] * 4)
    np.testing.assert_array_equal(mdp.rewards[:, 0], [0, 0, 1, 0])


def test_without_ice_the_value_is_the_discounted_goal():
    mdp = slippery_grid(["S..G"], slip=0)
    found = policy_iteration(fitted("", mdp).mdp, 0.0)
    np.testing.assert_allclose(found.value[:5], [0.95**3, 0.95**2, 0.95, 1, 0], atol=1e-7)


def test_a_robust_walker_goes_round_the_wall_where_a_nominal_one_goes_along_the_pits():
    nominal, robust = (way(best(slippery_grid(), budget)) for budget in (0.0, BUDGET))
    beside = [cell for cell in cells(PLAN) if cell[0] + 1 < len(PLAN) and PLAN[cell[0] + 1][cell[1]] == "P"]
    assert set(beside) <= set(nominal)
    assert not set(beside) & set(robust)
    assert len(nominal) < len(robust)


def test_an_inventory_sells_what_is_there():
    mdp = inventory(2, demand=[0.2, 0.5, 0.3], price=10, cost=4, fixed=1, holding=0.5, lost=2)
    assert mdp.allowed.tolist() == [[True, True, True], [True, True, False], [True, False, False]]
    # One in stock and none ordered: 0.2 keep it, else it is sold; 0.3 ask for two, and one of them goes away.
    np.testing.assert_allclose(mdp.kernel[1, 0], [0.8, 0.2, 0])
    assert mdp.rewards[1, 0] == pytest.approx(0.2 * -0.5 + 0.5 * 10 + 0.3 * (10 - 2))
    # None in stock and two ordered.
    np.testing.assert_allclose(mdp.kernel[0, 2], [0.3, 0.5, 0.2])
    assert mdp.rewards[0, 2] == pytest.approx(0.2 * -1 + 0.5 * (10 - 0.5) + 0.3 * 20 - 9)
    # With nothing there, nothing is sold.
    assert mdp.rewards[0, 0] == pytest.approx(-2 * (0.5 + 2 * 0.3))


def test_a_robust_shop_orders_less_and_never_beyond_its_room():
    policies = [best(inventory(), budget) for budget in (0.0, BUDGET)]
    for policy in policies:
        assert (policy + np.arange(7) <= 6).all()
    assert (policies[1] <= policies[0]).all()
    assert policies[1].sum() < policies[0].sum()


def test_random_mdps_have_distinct_successors_and_come_from_the_generator():
    one, same, other = (random_mdp(np.random.default_rng(seed), 6, 3, 4, 0.7) for seed in (1, 1, 2))
    assert one.successors.shape == (6, 3, 4)
    assert (np.diff(np.sort(one.successors, axis=2), axis=2) > 0).all()
    assert one.rewards.min() >= 0
    assert one.rewards.max() <= 1
    np.testing.assert_array_equal(one.kernel, same.kernel)
    assert (one.rewards != other.rewards).any()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: machine_replacement(2), "states 2 was given: allowed are whole numbers from 3"),
        (lambda: machine_replacement(wear=0.7, jolt=0.4), r"wear \+ jolt 1.1 was given: allowed are prob"),
        (lambda: machine_replacement(repaired=-0.1), "repaired -0.1 was given"),
        (lambda: machine_replacement(repair=np.nan), "reward of action 1 in state 0 is nan"),
        (lambda: slippery_grid(slip=1.5), "slip 1.5 was given: allowed are probabilities, from 0 to 1"),
        (lambda: slippery_grid(slip=np.nan), "slip nan was given"),
        (lambda: slippery_grid(["S.", "G"]), r"rows of lengths \[2, 1\] was given"),
        (lambda: slippery_grid([]), r"rows of lengths \[\] was given"),
        (lambda: slippery_grid([""]), r"rows of lengths \[0\] was given"),
        (lambda: slippery_grid(discount=1), "discount 1 was given"),
        (lambda: inventory(0), "capacity 0 was given: allowed are whole numbers from 1"),
        (lambda: inventory(2.5), "capacity 2.5 was given"),  # pyright: ignore
        (lambda: inventory(demand=[0.5, 0.6]), r"demand \[0.5, 0.6\] was given: allowed is a distribution"),
        (lambda: inventory(demand=[1.5, -0.5]), r"demand \[1.5, -0.5\] was given: allowed is a distribution"),
        (lambda: inventory(demand=[]), r"demand \[\] was given: allowed is a distribution"),
        (lambda: random_mdp(np.random.default_rng(0), 0), "states 0 was given"),
        (lambda: random_mdp(np.random.default_rng(0), actions=0), "actions 0 was given"),
        (lambda: random_mdp(np.random.default_rng(0), successors=0), "successors 0 was given"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, says):
    with pytest.raises(InputError, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)
