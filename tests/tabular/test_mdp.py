"""What an MDP is made of, and what is refused, in one sentence that names the thing."""

import numpy as np
import pytest

from rapo.errors import InputError
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

REWARDS = np.array([[1.0, 0.0], [0.5, -np.inf]])
KERNEL = np.array([[[0.5, 0.5], [1, 0]], [[0, 1], [np.nan, 7]]])
NO = -np.inf
DRAWN = random_mdp(np.random.default_rng(0), 5, 3, 4)


def mdp():
    return Mdp.dense(KERNEL, REWARDS, 0.9)


def changed(**given):
    kept = {"rewards": REWARDS, "successors": mdp().successors, "probabilities": mdp().probabilities}
    return Mdp(**{**kept, "discount": 0.9, **given})


def at(array, place, value):
    array = np.array(array, float)
    array[place] = value
    return array


def test_a_dense_kernel_comes_back_as_it_was_given():
    kernel = np.random.default_rng(0).dirichlet(np.ones(4), (4, 2))
    kernel[0, 0] = [0, 0.25, 0, 0.75]
    made = Mdp.dense(kernel, np.zeros((4, 2)), 0.5)
    np.testing.assert_allclose(made.kernel, kernel, rtol=1e-15)
    assert (made.states, made.actions, made.successors.shape) == (4, 2, (4, 2, 4))


def test_no_more_successors_are_kept_than_some_pair_needs_and_repeated_ones_are_added():
    ring = np.roll(np.eye(50), 1, axis=1)[:, None]
    assert Mdp.dense(ring, np.zeros((50, 1)), 0.9).successors.shape == (50, 1, 1)
    twice = Mdp(np.zeros((2, 1)), np.array([[[1, 1]], [[0, 1]]]), np.full((2, 1, 2), 0.5), 0.9)
    np.testing.assert_array_equal(twice.kernel, [[[0, 1]], [[0.5, 0.5]]])


def test_the_row_of_an_action_that_a_state_does_not_have_is_ignored():
    assert mdp().allowed.tolist() == [[True, True], [True, False]]
    np.testing.assert_array_equal(mdp().kernel[1, 0], [0, 1])
    assert np.isfinite(mdp().kernel).all()


def test_what_is_given_is_not_shared_with_the_mdp():
    rewards = np.zeros((2, 1))
    made = Mdp.dense(np.full((2, 1, 2), 0.5), rewards, 0.9)
    rewards[:] = 7
    assert (made.rewards == 0).all()


def test_sums_that_rounding_has_left_a_little_off_are_made_1():
    third = np.full((3, 1, 3), 0.3333333)
    np.testing.assert_allclose(
        Mdp.dense(third, np.zeros((3, 1)), 0.9).probabilities.sum(axis=2), 1, rtol=1e-15
    )


def test_a_policy_may_be_given_as_actions_or_as_distributions():
    np.testing.assert_array_equal(mdp().distribution([1, 0]), [[0, 1], [1, 0]])
    np.testing.assert_array_equal(mdp().distribution([[0.25, 0.75], [1, 0]]), [[0.25, 0.75], [1, 0]])


BAD = {
    "rewards of one dimension": (lambda: changed(rewards=[1.0]), r"rewards of shape \(1,\) were given"),
    "rewards that are words": (lambda: changed(rewards="much"), "rewards can't be read as numbers"),
    "dense rewards that are words": (
        lambda: Mdp.dense(KERNEL, [["a", "b"], ["c", "d"]], 0.9),
        "rewards can't be read as numbers",
    ),
    "no states": (lambda: changed(rewards=np.zeros((0, 2))), r"rewards of shape \(0, 2\) were given"),
    "no actions": (lambda: changed(rewards=np.zeros((2, 0))), r"rewards of shape \(2, 0\) were given"),
    "probabilities for other states": (
        lambda: changed(probabilities=np.ones((3, 2, 1))),
        r"probabilities of shape \(3, 2, 1\) were given: allowed is \(2, 2, M\)",
    ),
    "no successors": (
        lambda: changed(probabilities=np.ones((2, 2, 0))),
        r"probabilities of shape \(2, 2, 0\) were given",
    ),
    "successors of another shape": (
        lambda: changed(successors=np.zeros((2, 2, 3), int)),
        r"successors of shape \(2, 2, 3\) and type int64 were given",
    ),
    "successors that are no whole numbers": (
        lambda: changed(successors=np.zeros((2, 2, 2))),
        "successors of .* type float64 were given: allowed are whole numbers",
    ),
    "discount 0": (lambda: changed(discount=0.0), "discount 0.0 was given"),
    "discount 1": (lambda: changed(discount=1.0), "discount 1.0 was given"),
    "discount NaN": (lambda: changed(discount=np.nan), "discount nan was given"),
    "a NaN reward": (
        lambda: changed(rewards=at(REWARDS, (1, 0), np.nan)),
        "reward of action 0 in state 1 is nan",
    ),
    "an infinite reward": (
        lambda: changed(rewards=at(REWARDS, (0, 1), np.inf)),
        "reward of action 1 in state 0 is inf",
    ),
    "a state without actions": (lambda: changed(rewards=[[0, 0], [NO, NO]]), "state 1 has no action"),
    "a row that sums to more": (
        lambda: Mdp.dense(at(KERNEL, (0, 1), 0.6), REWARDS, 0.9),
        "action 1 in state 0 have probabilities that sum to 1.2",
    ),
    "a row of zeros": (
        lambda: Mdp.dense(at(KERNEL, (0, 0), 0), REWARDS, 0.9),
        "action 0 in state 0 have probabilities that sum to 0",
    ),
    "a negative probability": (
        lambda: Mdp.dense(at(KERNEL, (0, 0), [-0.5, 1.5]), REWARDS, 0.9),
        "action 0 in state 0 have probabilities that sum to 1, the lowest -0.5",
    ),
    "a NaN probability": (
        lambda: Mdp.dense(at(KERNEL, (0, 0), [np.nan, 0.5]), REWARDS, 0.9),
        "action 0 in state 0 have probabilities that sum to nan",
    ),
    "a successor that is no state": (
        lambda: changed(successors=np.full((2, 2, 2), 2)),
        "action 0 in state 0 leads to state 2: allowed are 0 to 1",
    ),
    "a kernel that is not square": (
        lambda: Mdp.dense(np.ones((2, 2, 3)) / 3, REWARDS, 0.9),
        r"a kernel of shape \(2, 2, 3\) was given",
    ),
    "a kernel of two dimensions": (lambda: Mdp.dense([[1.0]], REWARDS, 0.9), r"kernel of shape \(1, 1\)"),
    "a new successor": (
        lambda: mdp().under([[[0.5, 0.5], [0.9, 0.1]], [[1, 0], [1, 0]]]),
        "successor number 1 of action 1 in state 0 was given a probability of 0.1",
    ),
    "other probabilities of another shape": (
        lambda: mdp().under(np.ones((2, 2, 1))),
        r"successors of shape \(2, 2, 2\) .* allowed are whole numbers of shape \(2, 2, 1\)",
    ),
    "an action that there is not": (lambda: mdp().distribution([0, 2]), "actions other than 0 to 1"),
    "a negative action": (lambda: mdp().distribution([0, -1]), "actions other than 0 to 1"),
    "an action that a state does not have": (
        lambda: mdp().distribution([0, 1]),
        "takes action 1 in state 1, which does not have it",
    ),
    "a policy of fractions": (lambda: mdp().distribution([0.0, 1.0]), r"shape \(2,\) and type float64"),
    "a policy for other states": (lambda: mdp().distribution([0, 1, 0]), r"a policy of shape \(3,\)"),
    "a policy that sums to more": (
        lambda: mdp().distribution([[0.5, 0.6], [1, 0]]),
        "no distribution over actions was given",
    ),
    "a negative policy": (
        lambda: mdp().distribution([[1.5, -0.5], [1, 0]]),
        "no distribution over actions was given",
    ),
    "a NaN policy": (
        lambda: mdp().distribution([[np.nan, 1], [1, 0]]),
        "no distribution over actions was given",
    ),
    "a negative budget": (lambda: backup(mdp(), [0, 0], -0.5), "budget -0.5 was given"),
    "a NaN budget": (lambda: value_iteration(mdp(), np.nan), "budget nan was given"),
    "one infinite budget": (
        lambda: backup(mdp(), [0, 0], [[0.1, np.inf], [0, 0]]),
        "budget inf was given: allowed are finite numbers from 0",
    ),
    "budgets of another shape": (lambda: evaluate(mdp(), [0, 0], [0.1, 0.2]), r"budgets of shape \(2,\)"),
    "values of another shape": (lambda: backup(mdp(), [0, 0, 0], 0.1), r"values of shape \(3,\) were given"),
    "an infinite value": (
        lambda: worst_kernel(mdp(), [0, np.inf], 0.1),
        "the value of state 1 is inf: it must be finite",
    ),
    "an unknown ball": (lambda: backup(mdp(), [0, 0], 0.1, "foot"), "ball 'foot' was given: allowed are kl"),  # pyright: ignore
    "an unknown ball to evaluate": (lambda: evaluate(mdp(), [0, 0], 0, "foot"), "ball 'foot'"),  # pyright: ignore
    "an unknown ball to iterate": (lambda: value_iteration(mdp(), 0, "foot"), "ball 'foot'"),  # pyright: ignore
    "an unknown ball to improve": (lambda: policy_iteration(mdp(), 0, "foot"), "ball 'foot'"),  # pyright: ignore
    "tolerance 0": (lambda: value_iteration(mdp(), 0.1, tolerance=0), "tolerance 0 was given"),
    "a negative tolerance": (lambda: evaluate(mdp(), [0, 0], 0.1, tolerance=-1), "tolerance -1 was given"),
    "a negative tolerance to improve": (
        lambda: policy_iteration(mdp(), 0.1, tolerance=-1),
        "tolerance -1 was given",
    ),
    "a NaN tolerance": (lambda: policy_iteration(mdp(), 0.1, tolerance=np.nan), "tolerance nan was given"),
    "a tolerance too fine to sweep": (
        lambda: value_iteration(DRAWN, 0, tolerance=1e-17),
        r"tolerance 1e-17 was asked for: for this MDP double precision allows \d\.\de-1[0-4]",
    ),
    "a tolerance too fine to evaluate": (
        lambda: evaluate(DRAWN, [0] * 5, 0.1, tolerance=1e-17),
        r"tolerance 1e-17 was asked for: for this MDP double precision allows \d\.\de-1[0-4]",
    ),
    "a tolerance too fine to improve": (
        lambda: policy_iteration(DRAWN, 0.1, tolerance=1e-17),
        r"tolerance 1e-17 was asked for: for this MDP double precision allows \d\.\de-1[0-4]",
    ),
    "an initial state too many": (lambda: occupancy(mdp(), [0, 0], [1, 0, 0]), "over the 2 states"),
    "an initial sum of 2": (
        lambda: occupancy(mdp(), [0, 0], [1, 1]),
        "sum 2 was given: allowed is a distribution",
    ),
    "a negative initial share": (lambda: occupancy(mdp(), [0, 0], [1.5, -0.5]), "smallest number -0.5"),
    "a NaN initial share": (lambda: occupancy(mdp(), [0, 0], [np.nan, 1]), "smallest number nan"),
    "an action not had, exactly": (lambda: exact_value(mdp(), [0, 1]), "takes action 1 in state 1"),
    "more successors than states": (
        lambda: random_mdp(np.random.default_rng(0), 3, 1, 4),
        "successors 4 was given: allowed are 1 to 3",
    ),
}


@pytest.mark.parametrize(("call", "says"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused_in_one_sentence(call, says):
    with pytest.raises(InputError, match=says) as caught:
        call()
    assert "\n" not in str(caught.value)
