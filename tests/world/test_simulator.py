"""Stepping, snapshots and branches."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from rapo.errors import InputError
from rapo.world.find_task import LOCOMOTION, TASKS, make_task
from rapo.world.mujoco_cpu import MujocoSimulator
from rapo.world.simulator import Simulator, Snapshot

N = 12


def random_actions(task, rows, rng):
    return rng.uniform(-1, 1, (rows, task.action_size))


def perturbed(name, num_envs=N, seed=0, **options):
    """A simulator whose environments all have different dynamics, and a generator."""
    task = make_task(name)
    rng = np.random.default_rng(seed)
    dynamics = task.dynamics.ensemble(num_envs, rng, over="test")
    return MujocoSimulator(task, num_envs, seed=seed, dynamics=dynamics, **options), rng


def walk(simulator, steps, rng):
    return [simulator.step(random_actions(simulator.task, simulator.num_envs, rng)) for _ in range(steps)]


def assert_same_steps(a, b):
    for x, y in zip(a, b, strict=True):
        for field in x._fields:
            np.testing.assert_array_equal(getattr(x, field), getattr(y, field), err_msg=field)


def assert_same_branches(a, b):
    for field in ("observation", "reward", "terminated", "valid", "diverged"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field), err_msg=field)


def test_it_is_a_simulator_by_protocol():
    simulator: Simulator = perturbed("hopper")[0]
    assert simulator.num_envs == N


@pytest.mark.parametrize("name", TASKS)
def test_branching_under_the_own_model_is_the_very_next_step_bit_for_bit(name):
    simulator, rng = perturbed(name)
    walk(simulator, 15, rng)
    for _ in range(15):
        snapshot = simulator.snapshot()
        actions = random_actions(simulator.task, N, rng)
        branches = simulator.branch(snapshot, actions, snapshot.dynamics, only=np.eye(N, dtype=bool))
        step = simulator.step(actions)
        own = np.arange(N)
        np.testing.assert_array_equal(branches.observation[own, own], step.next_observation)
        np.testing.assert_array_equal(branches.reward[own, own], step.reward)
        np.testing.assert_array_equal(branches.terminated[own, own], step.terminated)


@pytest.mark.parametrize("name", TASKS)
def test_branching_leaves_the_environments_untouched(name):
    branching, rng = perturbed(name)
    undisturbed, same_rng = perturbed(name)
    models = branching.task.dynamics.ensemble(5, np.random.default_rng(9), over="test")
    for _ in range(20):
        before = branching.snapshot()
        branching.branch(before, np.ones((N, branching.task.action_size)), models)
        after = branching.snapshot()
        for field, array in before.arrays().items():
            np.testing.assert_array_equal(array, getattr(after, field))
        assert_same_steps(walk(branching, 1, rng), walk(undisturbed, 1, same_rng))


@pytest.mark.parametrize("sampler", ["uniform", "ensemble"])
@pytest.mark.parametrize("name", TASKS)
def test_a_restored_snapshot_continues_identically_through_resets_and_fresh_dynamics(name, sampler):
    task = make_task(name)

    def fresh(n, rng):
        return getattr(task.dynamics, sampler)(n, rng, over="test")

    first = MujocoSimulator(task, N, seed=1, fresh=fresh)
    walk(first, 30, np.random.default_rng(0))
    snapshot = first.snapshot()
    short = replace(snapshot, elapsed=snapshot.elapsed + 960)
    first.restore(short)
    expected = walk(first, 60, np.random.default_rng(2))
    assert sum(step.done.sum() for step in expected) >= N
    walk(first, 10, np.random.default_rng(3))
    first.restore(short)
    assert_same_steps(walk(first, 60, np.random.default_rng(2)), expected)
    second = MujocoSimulator(task, N, seed=99, fresh=fresh, threads=1)
    np.testing.assert_array_equal(second.restore(short), short.observation)
    assert_same_steps(walk(second, 60, np.random.default_rng(2)), expected)
    np.testing.assert_array_equal(second.dynamics, first.dynamics)


@pytest.mark.parametrize("name", TASKS)
def test_threads_and_chunks_change_no_bit(name):
    results = []
    for threads, chunk in ((1, 1), (2, 7), (2, 64), (1, 2048)):
        simulator, rng = perturbed(name, threads=threads, chunk=chunk)
        steps = walk(simulator, 40, rng)
        snapshot = simulator.snapshot()
        models = simulator.task.dynamics.ensemble(3, rng, over="test")
        results.append((steps, simulator.branch(snapshot, random_actions(simulator.task, N, rng), models)))
    for steps, branches in results[1:]:
        assert_same_steps(steps, results[0][0])
        assert_same_branches(branches, results[0][1])


def test_only_the_pairs_asked_for_are_simulated_and_they_do_not_depend_on_the_others():
    simulator, rng = perturbed("walker2d", chunk=8)
    walk(simulator, 10, rng)
    snapshot, actions = simulator.snapshot(), random_actions(simulator.task, N, rng)
    models = simulator.task.dynamics.ensemble(4, rng, over="test")
    everything = simulator.branch(snapshot, actions, models)
    assert everything.valid.all()
    only = rng.random((N, 4)) < 0.4
    only[3] = False
    some = simulator.branch(snapshot, actions, models, only=only)
    np.testing.assert_array_equal(some.valid, only)
    np.testing.assert_array_equal(some.observation[only], everything.observation[only])
    np.testing.assert_array_equal(some.reward[only], everything.reward[only])
    assert np.isnan(some.observation[~only]).all()
    assert np.isnan(some.reward[~only]).all()
    assert not some.terminated[~only].any()


def test_models_can_change_from_call_to_call():
    simulator, rng = perturbed("hopper")
    walk(simulator, 10, rng)
    snapshot, actions = simulator.snapshot(), random_actions(simulator.task, N, rng)
    few, many = (simulator.task.dynamics.ensemble(k, rng, over="test") for k in (3, 8))
    wanted = [simulator.branch(snapshot, actions, m) for m in (few, many)]
    assert (wanted[0].observation[:, 0] != wanted[0].observation[:, 1]).any()
    for models, expected in ((few, wanted[0]), (many, wanted[1]), (few, wanted[0])):
        fresh = MujocoSimulator(simulator.task, 1, seed=7)
        assert_same_branches(simulator.branch(snapshot, actions, models), expected)
        assert_same_branches(fresh.branch(snapshot, actions, models), expected)
    assert_same_branches(
        simulator.branch(snapshot[2:5], actions[2:5], few),
        MujocoSimulator(simulator.task, 1, seed=7).branch(snapshot[2:5], actions[2:5], few),
    )


def test_snapshots_of_many_steps_can_be_put_together_and_branched_at_once():
    simulator, rng = perturbed("hopper")
    snapshots, steps, actions = [], [], []
    for _ in range(5):
        snapshots.append(simulator.snapshot())
        actions.append(random_actions(simulator.task, N, rng))
        steps.append(simulator.step(actions[-1]))
    together = Snapshot.concatenate(snapshots)
    assert len(together) == 5 * N
    own = np.tile(np.eye(N, dtype=bool), (5, 1))
    branches = simulator.branch(together, np.concatenate(actions), simulator.dynamics, only=own)
    np.testing.assert_array_equal(branches.reward[own], np.concatenate([s.reward for s in steps]))


def test_the_last_observation_of_an_episode_and_the_first_of_the_next_are_both_given():
    simulator, rng = perturbed("hopper", num_envs=32)
    ended = 0
    for step in walk(simulator, 60, rng):
        np.testing.assert_array_equal(step.observation[~step.done], step.next_observation[~step.done])
        for i in np.flatnonzero(step.done):
            ended += 1
            assert step.terminated[i]
            assert not step.truncated[i]
            assert abs(step.next_observation[i, 1]) >= 0.2 or step.next_observation[i, 0] <= 0.7
            assert np.abs(step.observation[i, 1:]).max() <= 5e-3 + 1e-12
    assert ended > 10


def test_fresh_dynamics_are_drawn_for_those_that_start_anew_and_only_for_them():
    task = make_task("hopper")
    simulator = MujocoSimulator(task, 32, seed=0, fresh=lambda n, rng: task.dynamics.uniform(n, rng))
    rng = np.random.default_rng(0)
    assert len(np.unique(simulator.dynamics, axis=0)) == 32
    changed = 0
    for _ in range(40):
        before = simulator.dynamics
        done = simulator.step(random_actions(task, 32, rng)).done
        same = (simulator.dynamics == before).all(axis=1)
        np.testing.assert_array_equal(same, ~done)
        changed += done.sum()
    assert changed > 10


def test_initial_states_do_not_depend_on_whether_dynamics_are_drawn():
    task = make_task("hopper")
    fixed = MujocoSimulator(task, 8, seed=3)
    drawn = MujocoSimulator(task, 8, seed=3, fresh=lambda n, rng: task.dynamics.uniform(n, rng))
    np.testing.assert_array_equal(fixed.observation, drawn.observation)


def test_one_row_of_a_snapshot_is_a_snapshot():
    simulator, _ = perturbed("hopper")
    snapshot = simulator.snapshot()
    for i in (0, 5, -1):
        np.testing.assert_array_equal(snapshot[i].physics, snapshot.physics[[i]])
        assert len(snapshot[i]) == 1
    other = MujocoSimulator(make_task("walker2d"), 1, seed=0).snapshot()
    with pytest.raises(InputError, match="snapshots of 2 tasks were given"):
        Snapshot.concatenate([snapshot, other])


def test_the_seed_decides_and_nothing_else():
    runs = [walk(*_with_rng(seed)) for seed in (3, 3, 4)]
    assert_same_steps(runs[0], runs[1])
    assert (runs[0][0].observation != runs[2][0].observation).any()


def _with_rng(seed):
    return MujocoSimulator(make_task("ant"), 4, seed=seed), 20, np.random.default_rng(0)


@pytest.mark.parametrize("name", LOCOMOTION)
def test_forces_push_the_named_body_for_one_step(name):
    task = make_task(name)
    bodies = ("torso",)
    pushed = MujocoSimulator(task, 2, seed=0, force_bodies=bodies)
    free = MujocoSimulator(task, 2, seed=0)
    actions = np.zeros((2, task.action_size))
    forces = np.zeros((2, 1, 6))
    forces[1, 0, 0] = 200.0
    before = pushed.snapshot()
    branches = pushed.branch(before, actions, task.dynamics.nominal(), forces=forces)
    step, reference = pushed.step(actions, forces), free.step(actions)
    np.testing.assert_array_equal(step.reward[0], reference.reward[0])
    assert step.reward[1] > reference.reward[1] + 1e-3
    np.testing.assert_array_equal(branches.observation[:, 0], step.next_observation)
    np.testing.assert_array_equal(branches.reward[:, 0], step.reward)
    free.restore(pushed.snapshot())
    assert_same_steps([pushed.step(actions)], [free.step(actions)])


def test_forces_come_on_top_of_those_a_task_applies_itself():
    # The quadrotor's own disturbance is in xfrc_applied already; 0.28 N more for 10 ms are 0.01 m/s more.
    task = make_task("quadrotor-payload")
    rows = task.dynamics.grid({"payload": [0.0], "cable": [0.5]})
    pushed = MujocoSimulator(task, 64, seed=0, dynamics=rows, force_bodies=("quadrotor",))
    free = MujocoSimulator(task, 64, seed=0, dynamics=rows)
    forces = np.tile([0.28, 0.0, 0.0, 0.0, 0.0, 0.0], (64, 1, 1))
    for simulator, given in ((pushed, forces), (free, None)):
        simulator.step(np.zeros((64, 4)), given)
    faster = pushed.data.qvel[:, 0] - free.data.qvel[:, 0]
    assert np.median(faster) == pytest.approx(0.01, rel=0.01)
    assert (np.abs(free.data.xfrc_applied[:, 1]).max(axis=1) > 0).any()


def test_ant_with_two_thousand_pairs_and_thirty_two_models_stays_below_two_gigabytes():
    code = """
from pathlib import Path
import numpy as np
from rapo import MujocoSimulator, make_task
task = make_task("ant")
simulator = MujocoSimulator(task, 2048, seed=0)
models = task.dynamics.ensemble(32, np.random.default_rng(0))
branches = simulator.branch(simulator.snapshot(), np.zeros((2048, 8)), models)
assert branches.valid.all() and branches.observation.shape == (2048, 32, 105)
print(next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmHWM")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # Not ru_maxrss: a process starts with that of the one that started it.
    _, kibibytes, unit = done.stdout.split()
    assert unit == "kB"
    assert int(kibibytes) < 2 * 1024 * 1024
