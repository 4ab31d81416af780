"""Steps under their own dynamics, and steps that go on from a branch: to the bit what a fresh world does."""

from dataclasses import replace

import numpy as np
import pytest

from rapo.errors import InputError
from rapo.world.find_task import make_task
from rapo.world.model_fields import DERIVED
from rapo.world.mujoco_cpu import MujocoSimulator
from rapo.world.physics import Physics

TASKS = ("hopper", "walker2d", "halfcheetah", "ant", "quadrotor-payload")
N = 6


def drawn(task, rng, n=N, grid=8):
    """Dynamics within the test ranges, on a grid, so that some come back."""
    low, high = task.dynamics.box("test")
    return low + (high - low) * rng.integers(1, grid, (n, len(low))) / grid


def with_own(task, rows, episodes):
    """Rows that keep what can't change within an episode."""
    fixed = [i for i, p in enumerate(task.dynamics) if not p.within_episode]
    rows[:, fixed] = episodes[:, fixed]
    return rows


def same(first, second):
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", TASKS)
def test_a_step_under_given_rows_is_that_of_a_world_created_with_them(name):
    task, rng = make_task(name), np.random.default_rng(0)
    steered = MujocoSimulator(task, N, seed=3, threads=1)
    for turn in range(12):
        rows = with_own(task, drawn(task, rng), steered.dynamics)
        actions = rng.uniform(-1, 1, (N, task.action_size))
        fresh = MujocoSimulator(task, N, seed=3, threads=2, dynamics=rows)
        fresh.restore(replace(steered.snapshot(), dynamics=rows))
        got, wanted = steered.step(actions, dynamics=rows), fresh.step(actions)
        same(got[1:], wanted[1:])
        going = ~got.done
        np.testing.assert_array_equal(steered.snapshot().physics[going], fresh.snapshot().physics[going])
        assert (steered.dynamics == task.dynamics.nominal(N)).all(), turn


def test_looked_up_constants_are_those_that_mujoco_derives():
    task, rng = make_task("walker2d"), np.random.default_rng(1)
    known, plain = Physics(task, N, 1), Physics(task, N, 1)
    met = drawn(task, rng, 64, grid=3)
    for _ in range(30):
        rows = met[rng.integers(64, size=N)]
        known.set_dynamics(rows, remember=True)
        plain.set_dynamics(rows)
        for field in DERIVED[:6]:  # those of actuators are read by muscles only, and follow the gears
            np.testing.assert_array_equal(known.batch.expand(field), plain.batch.expand(field))


@pytest.mark.parametrize("name", ["walker2d", "quadrotor-payload"])
def test_episodes_after_steered_steps_are_as_if_nothing_had_been_steered_before(name):
    task, rng = make_task(name), np.random.default_rng(2)
    fresh = task.dynamics.uniform
    one = MujocoSimulator(task, N, seed=5, threads=1, fresh=fresh)
    for _ in range(5):
        rows = with_own(task, drawn(task, rng), one.dynamics)
        one.step(rng.uniform(-1, 1, (N, task.action_size)), dynamics=rows)
    other = MujocoSimulator(task, N, seed=5, threads=1, fresh=fresh)
    other.restore(one.snapshot())
    for _ in range(40):  # long enough for episodes to end
        actions = rng.uniform(-1, 1, (N, task.action_size))
        same(one.step(actions), other.step(actions))
    np.testing.assert_array_equal(one.dynamics, other.dynamics)


def test_a_step_that_is_steered_and_ends_an_episode_begins_the_next_under_its_own_dynamics():
    task = make_task("hopper")
    simulator = MujocoSimulator(task, N, seed=0, threads=1, dynamics=[1.1, 1.1, 1.1, 1.1])
    task.time_limit = 1
    step = simulator.step(np.zeros((N, 3)), dynamics=[0.8, 0.8, 0.8, 0.8])
    assert step.truncated.all()
    np.testing.assert_array_equal(simulator.data.dynamics, np.full((N, 4), 1.1))


def test_what_stays_through_an_episode_can_not_be_steered():
    task = make_task("quadrotor-payload")
    simulator = MujocoSimulator(task, 2, seed=0, threads=1)
    rows = simulator.dynamics
    rows[1, task.dynamics.column("cable")] += 0.1
    with pytest.raises(InputError, match="parameter 'cable' was given another value for a step"):
        simulator.step(np.zeros((2, 4)), dynamics=rows)
    before = simulator.snapshot()
    with pytest.raises(InputError, match="can't change within an episode"):
        simulator.step_among(np.zeros((2, 4)), rows[1:], lambda branches: np.zeros(2, int))
    np.testing.assert_array_equal(simulator.snapshot().physics, before.physics)


@pytest.mark.parametrize(
    "rows", [np.ones((3, 4)), np.ones((N, 3)), np.full((N, 4), np.nan), -np.ones((N, 4))]
)
def test_impossible_dynamics_of_a_step_are_refused_and_nothing_moves(rows):
    simulator = MujocoSimulator(make_task("hopper"), N, seed=0, threads=1)
    before = simulator.snapshot()
    with pytest.raises(InputError, match=r"dynamics|parameter"):
        simulator.step(np.zeros((N, 3)), dynamics=rows)
    np.testing.assert_array_equal(simulator.snapshot().physics, before.physics)


@pytest.mark.parametrize("name", ["hopper", "ant"])
@pytest.mark.parametrize("own", [False, True])
def test_going_on_from_a_branch_is_stepping_under_its_model(name, own):
    task, rng = make_task(name), np.random.default_rng(4)
    among, steered = (MujocoSimulator(task, N, seed=7, threads=t) for t in (1, 2))
    for _ in range(8):
        models = drawn(task, rng, 3 * N).reshape(N, 3, -1) if own else drawn(task, rng, 3)
        actions = rng.uniform(-1, 1, (N, task.action_size))
        picked = rng.integers(3, size=N)
        seen = []

        def choose(branches, picked=picked, seen=seen):
            seen.append(branches)
            return picked

        got = among.step_among(actions, models, choose)
        rows = models[np.arange(N), picked] if own else models[picked]
        same(got, steered.step(actions, dynamics=rows))
        np.testing.assert_array_equal(seen[0].reward[np.arange(N), picked], got.reward)
        np.testing.assert_array_equal(among.snapshot().physics, steered.snapshot().physics)
        np.testing.assert_array_equal(among.data.qpos, steered.data.qpos)


@pytest.mark.parametrize("picked", [np.zeros(N), np.zeros(2, int), np.full(N, 3), np.full(N, -1)])
def test_a_choice_that_is_none_is_refused(picked):
    simulator = MujocoSimulator(make_task("hopper"), N, seed=0, threads=1)
    with pytest.raises(InputError, match="allowed are whole numbers from 0 to 1, one for each of 6"):
        simulator.step_among(np.zeros((N, 3)), np.ones((2, 4)), lambda branches: picked)


def test_branches_can_have_models_of_their_own_for_each_pair():
    task, rng = make_task("hopper"), np.random.default_rng(0)
    simulator = MujocoSimulator(task, N, seed=1, threads=1, chunk=4)
    models = drawn(task, rng, 2 * N).reshape(N, 2, 4)
    actions = rng.uniform(-1, 1, (N, 3))
    own = simulator.branch(simulator.snapshot(), actions, models)
    for i in range(N):
        alone = simulator.branch(simulator.snapshot(np.array([i])), actions[i : i + 1], models[i])
        np.testing.assert_array_equal(alone.observation[0], own.observation[i])
        np.testing.assert_array_equal(alone.reward[0], own.reward[i])
    with pytest.raises(InputError, match=r"models of shape \(5, 2, 4\) were given for 6 states"):
        simulator.branch(simulator.snapshot(), actions, models[:5])


def test_a_steered_step_that_diverges_can_be_made_to_diverge_again():
    task = make_task("hopper")
    simulator = MujocoSimulator(task, 2, seed=0, threads=1)
    broken = simulator.snapshot()
    broken.physics[1, 1:8] = 1e12
    simulator.restore(broken)
    rows = np.array([[0.9, 1.0, 1.0, 1.1], [0.8, 1.1, 0.9, 1.2]])
    step = simulator.step(np.zeros((2, 3)), dynamics=rows)
    assert step.diverged.tolist() == [False, True]
    case = simulator.diverged_cases[0]
    np.testing.assert_array_equal(case.snapshot.dynamics, rows[1:])
    again = simulator.branch(case.snapshot, case.action[None], case.snapshot.dynamics)
    assert again.diverged.all()


def test_units_are_training_half_widths_and_back():
    dynamics = make_task("quadrotor-payload").dynamics
    names = [dynamics.names[i] for i in dynamics.movable]
    assert names == ["payload", "mass", "inertia", "gain", "lag"]  # no cable, and nothing without a range
    low, high = dynamics.box()
    np.testing.assert_allclose(dynamics.units(np.stack((low, high))), [[-1] * 5, [1] * 5])
    rows = dynamics.uniform(4, np.random.default_rng(0))
    np.testing.assert_allclose(dynamics.moved(rows, dynamics.units(rows)), rows, rtol=1e-12)
    moved = dynamics.moved(rows, np.zeros((4, 5)))
    np.testing.assert_array_equal(moved[:, 1], rows[:, 1])
