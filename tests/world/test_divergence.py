"""The guard: a simulation that fails is counted, named and reset, and the others go on."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rapo.world.find_task import TASKS, make_task
from rapo.world.mujoco_cpu import MujocoSimulator
from rapo.world.physics import Physics

N = 8


@pytest.fixture
def quiet(tmp_path, monkeypatch, capfd):
    """A folder of its own, in which MuJoCo must leave no log and say nothing."""
    monkeypatch.chdir(tmp_path)
    yield
    assert not list(Path(tmp_path).iterdir())
    assert capfd.readouterr() == ("", "")


def poisoned(simulator, row, value, column=3):
    snapshot = simulator.snapshot()
    physics = snapshot.physics.copy()
    physics[row, column] = value
    return replace(snapshot, physics=physics)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
@pytest.mark.parametrize("name", TASKS)
def test_an_injected_nan_is_named_and_reset_and_the_others_go_on(name, value):
    task = make_task(name)
    simulator, healthy = (MujocoSimulator(task, N, seed=0) for _ in range(2))
    actions = np.full((N, task.action_size), 0.1)
    before = simulator.observation.copy()
    simulator.restore(poisoned(simulator, 5, value))
    step, reference = simulator.step(actions), healthy.step(actions)
    others = np.arange(N) != 5
    np.testing.assert_array_equal(step.diverged, ~others)
    assert simulator.divergences == 1
    assert step.reward[5] == 0
    assert step.truncated[5]
    assert not step.terminated[5]
    np.testing.assert_array_equal(step.next_observation[5], before[5])
    assert np.isfinite(step.observation).all()
    for field in step._fields:
        np.testing.assert_array_equal(getattr(step, field)[others], getattr(reference, field)[others])
    after = simulator.step(actions)
    assert not after.diverged.any()
    assert np.isfinite(after.next_observation).all()


@pytest.mark.usefixtures("quiet")
def test_a_diverged_case_is_kept_and_can_be_made_to_fail_again():
    task = make_task("walker2d")
    simulator = MujocoSimulator(task, N, seed=0, dynamics=[1.2, 0.9, 1.1, 0.8])
    simulator.step(np.full((N, task.action_size), 0.2))
    simulator.restore(poisoned(simulator, 2, np.nan))
    simulator.step(np.full((N, task.action_size), 0.3))
    (case,) = simulator.diverged_cases
    assert case.environment == 2
    np.testing.assert_array_equal(case.action, np.full(task.action_size, 0.3))
    np.testing.assert_array_equal(case.snapshot.dynamics, [[1.2, 0.9, 1.1, 0.8]])
    assert case.snapshot.elapsed == 1
    again = MujocoSimulator(task, 1, seed=9)
    again.restore(case.snapshot)
    assert again.step(case.action[None]).diverged[0]


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("name", ["hopper", "ant"])
def test_branches_from_a_broken_state_are_marked_and_the_others_are_right(name):
    task = make_task(name)
    simulator = MujocoSimulator(task, N, seed=0)
    actions = np.full((N, task.action_size), 0.1)
    models = task.dynamics.ensemble(3, np.random.default_rng(0))
    whole = simulator.branch(simulator.snapshot(), actions, models)
    broken = simulator.branch(poisoned(simulator, 4, np.nan), actions, models)
    bad = np.arange(N) == 4
    np.testing.assert_array_equal(broken.diverged, np.repeat(bad[:, None], 3, axis=1))
    np.testing.assert_array_equal(broken.valid, ~broken.diverged)
    assert np.isnan(broken.reward[bad]).all()
    np.testing.assert_array_equal(broken.observation[~bad], whole.observation[~bad])
    assert simulator.branch(simulator.snapshot(), actions, models).valid.all()


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("name", ["hopper", "ant", "quadrotor-payload"])
def test_a_mujoco_error_in_some_simulations_is_named_and_the_others_go_on(name):
    task = make_task(name)
    simulator, healthy = (MujocoSimulator(task, N, seed=0) for _ in range(2))
    simulator._physics.batch.expand("integrator")[[1, 6]] = 99
    actions = np.full((N, task.action_size), 0.1)
    step, reference = simulator.step(actions), healthy.step(actions)
    failed = np.isin(np.arange(N), (1, 6))
    np.testing.assert_array_equal(step.diverged, failed)
    assert simulator.divergences == 2
    np.testing.assert_array_equal(step.next_observation[~failed], reference.next_observation[~failed])
    np.testing.assert_array_equal(step.reward[~failed], reference.reward[~failed])


@pytest.mark.usefixtures("quiet")
def test_a_mujoco_error_between_substeps_stops_that_simulation_there():
    task = make_task("quadrotor-payload")
    physics = Physics(task, 4, 1)
    physics.place(np.arange(4), task.begin(task.dynamics.nominal(4), np.random.default_rng(0)))
    integrator = physics.batch.expand("integrator")

    def before(substep):
        integrator[{1: 0, 3: 2}.get(substep, [])] = 99

    np.testing.assert_array_equal(physics.step(5, None, before), [True, False, True, False])
    np.testing.assert_allclose(physics.state[:, 0], np.array([1, 5, 3, 5]) * task.model.opt.timestep)


@pytest.mark.usefixtures("quiet")
def test_a_robot_torn_apart_by_its_forces_is_caught():
    task = make_task("halfcheetah")
    simulator = MujocoSimulator(task, N, seed=0, force_bodies=("torso",))
    forces = np.zeros((N, 1, 6))
    forces[3, 0, 2] = 1e25
    step = simulator.step(np.zeros((N, task.action_size)), forces)
    np.testing.assert_array_equal(step.diverged, np.arange(N) == 3)
    (case,) = simulator.diverged_cases
    assert case.force is not None
    assert case.force[0, 2] == 1e25
    again = MujocoSimulator(task, 1, seed=9, force_bodies=("torso",))
    again.restore(case.snapshot)
    assert not again.step(case.action[None]).diverged[0], "the snapshot is of before the push"
    again.restore(case.snapshot)
    assert again.step(case.action[None], case.force[None]).diverged[0]
