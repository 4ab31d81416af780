"""The bridge between simulator and learner."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rapo.learner.networks import forward, init_policy
from rapo.learner.normalize import normalise, nothing_seen
from rapo.training.rollout import branch, collect
from rapo.world.find_task import make_task
from rapo.world.mujoco_cpu import MujocoSimulator

N, T = 4, 12


@pytest.fixture
def task():
    return make_task("hopper")


def policy(task, size=None, scale=0.0):
    made = init_policy(jax.random.key(1), task.observation_size, size or task.action_size)
    return made._replace(log_std=made.log_std + scale)


def collected(task, simulator, **options):
    return collect(
        simulator,
        [policy(task)],
        nothing_seen((task.observation_size,)),
        np.random.default_rng(0),
        T,
        task.dynamics.nominal(),
        **options,
    )


def test_a_rollout_is_what_the_simulator_did(task):
    rollout, visited = collected(task, MujocoSimulator(task, N, seed=3), keep=True)
    assert visited is not None
    assert rollout.observation.shape == rollout.next_observation.shape == (T, N, task.observation_size)
    again = MujocoSimulator(task, N, seed=3)
    for t in range(T):
        np.testing.assert_array_equal(rollout.observation[t], again.observation.astype(np.float32))
        step = again.step(visited.controls[t * N : (t + 1) * N])
        np.testing.assert_array_equal(rollout.next_observation[t], step.next_observation.astype(np.float32))
        np.testing.assert_array_equal(rollout.reward[t], step.reward.astype(np.float32))
        np.testing.assert_array_equal(rollout.terminated[t], step.terminated)
        np.testing.assert_array_equal(rollout.ended[t], step.done)
    assert bool(rollout.valid.all())


def test_controls_are_clipped_and_actions_are_not(task):
    rollout, visited = collect(
        MujocoSimulator(task, N, seed=0),
        [policy(task, scale=2.0)],
        nothing_seen((task.observation_size,)),
        np.random.default_rng(0),
        T,
        task.dynamics.nominal(),
        keep=True,
    )
    assert visited is not None
    assert np.abs(visited.controls).max() == 1.0
    assert float(jnp.abs(rollout.actions[0]).max()) > 2
    expected = np.clip(np.asarray(rollout.actions[0]).reshape(T * N, -1), -1, 1)
    np.testing.assert_array_equal(visited.controls, expected)


def test_actions_are_drawn_around_the_mean_with_the_policys_deviation(task):
    acting, seen = policy(task, scale=-0.7), nothing_seen((task.observation_size,))
    rollout, _ = collect(
        MujocoSimulator(task, 64, seed=0),
        [acting],
        seen,
        np.random.default_rng(0),
        100,
        task.dynamics.nominal(),
    )
    noise = np.asarray(rollout.actions[0] - forward(acting.mean, normalise(seen, rollout.observation)))
    np.testing.assert_allclose(noise.mean(axis=(0, 1)), 0, atol=0.02)
    np.testing.assert_allclose(noise.std(axis=(0, 1)), np.exp(-0.7), rtol=0.02)


def test_a_branch_under_the_environments_own_dynamics_is_the_step_itself(task):
    simulator = MujocoSimulator(task, N, seed=3)
    rollout, visited = collected(task, simulator, keep=True)
    assert visited is not None
    models = np.concatenate([task.dynamics.nominal(), task.dynamics.sweep("torque", [0.5])])
    branches = branch(simulator, visited, models, None)
    np.testing.assert_array_equal(branches.observation[:, 0], rollout.next_observation.reshape(T * N, -1))
    np.testing.assert_array_equal(branches.reward[:, 0], rollout.reward.reshape(-1))
    np.testing.assert_array_equal(branches.terminated[:, 0], rollout.terminated.reshape(-1))
    assert (branches.reward[:, 1] != branches.reward[:, 0]).mean() > 0.9
    assert bool(branches.valid.all())


def test_a_second_player_pushes_and_its_forces_reach_the_robot_and_the_branches(task):
    def run(strength):
        simulator = MujocoSimulator(task, N, seed=3, force_bodies=task.pushed_bodies)

        def forces(pushes):
            applied = np.zeros((N, 1, 6))
            applied[:, :, (0, 2)] = strength * np.clip(pushes, -1, 1)[:, None]
            return applied

        rollout, visited = collect(
            simulator,
            [policy(task), policy(task, size=2)],
            nothing_seen((task.observation_size,)),
            np.random.default_rng(0),
            T,
            task.dynamics.nominal(),
            forces,
            keep=True,
        )
        assert visited is not None
        branches = branch(simulator, visited, task.dynamics.nominal(), None)
        np.testing.assert_array_equal(branches.reward[:, 0], rollout.reward.reshape(-1))
        return rollout

    still, pushed = run(0.0), run(20.0)
    assert [a.shape for a in pushed.actions] == [(T, N, 3), (T, N, 2)]
    np.testing.assert_array_equal(still.observation[0], pushed.observation[0])
    assert float(jnp.abs(still.next_observation[0] - pushed.next_observation[0]).max()) > 1e-3


def test_the_key_decides_the_noise(task):
    first, same = (collected(task, MujocoSimulator(task, N, seed=3))[0] for _ in range(2))
    np.testing.assert_array_equal(first.actions[0], same.actions[0])
    other, _ = collect(
        MujocoSimulator(task, N, seed=3),
        [policy(task)],
        nothing_seen((task.observation_size,)),
        np.random.default_rng(1),
        T,
        task.dynamics.nominal(),
    )
    assert (first.actions[0] != other.actions[0]).all()


def test_a_rollout_says_which_model_every_step_was_taken_under(task):
    models = task.dynamics.sweep("mass", [0.5, 1.0, 1.5])
    own = np.concatenate([models[[2, 0]], task.dynamics.sweep("mass", [0.7, 0.5])])
    simulator = MujocoSimulator(task, N, seed=3, dynamics=own, fresh=lambda n, rng: models[[1] * n])
    observations, rng = nothing_seen((task.observation_size,)), np.random.default_rng(0)
    rollout, _ = collect(simulator, [policy(task)], observations, rng, 200, models)
    ended = np.asarray(rollout.ended)
    for n, first in enumerate(([0, 0, 1], [1, 0, 0], [0, 0, 0], [1, 0, 0])):
        end = ended[:, n].argmax() + 1
        assert 1 < end < 200
        np.testing.assert_array_equal(rollout.played[:end, n], [first] * end)
        np.testing.assert_array_equal(rollout.played[end:, n], [[0, 1, 0]] * (200 - end))
