"""The tasks are Gymnasium's v5 tasks: from the same state and actions the same numbers come out."""

from typing import Any

import gymnasium
import mujoco
import numpy as np
import pytest
from scipy import stats

from rapo.world.find_task import LOCOMOTION, make_task
from rapo.world.mujoco_cpu import MujocoSimulator
from rapo.world.simulator import Snapshot
from rapo.world.task import Data

STATE = mujoco.mjtState.mjSTATE_INTEGRATION
DYNAMICS = {"nominal": [1.0, 1.0, 1.0, 1.0], "perturbed": [0.7, 1.3, 0.6, 1.4], "heavy": [1.5, 0.5, 1.5, 0.5]}


def gymnasium_env(task) -> Any:
    return gymnasium.make(task.gymnasium_id)


def p_value(a, b) -> Any:
    return stats.ks_2samp(a, b)[1]


def snapshot_of(env, task, dynamics, elapsed=0):
    """A snapshot whose one row is the state a Gymnasium environment is in."""
    model, data = env.unwrapped.model, env.unwrapped.data
    state = np.empty(mujoco.mj_stateSize(model, STATE))
    mujoco.mj_getState(model, data, state, STATE)
    fields = Data({field: getattr(data, field)[None].copy() for field in ("qpos", "qvel", *task.fields)})
    return Snapshot(
        task=task.name,
        physics=state[None],
        memory=task.remember(fields),
        observation=task.observe(fields),
        dynamics=np.array([dynamics]),
        elapsed=np.array([elapsed]),
        seed=np.array([0]),
        clock=np.array([0]),
    )


@pytest.mark.parametrize("dynamics", DYNAMICS.values(), ids=DYNAMICS.keys())
@pytest.mark.parametrize("name", LOCOMOTION)
def test_a_thousand_steps_side_by_side_agree(name, dynamics):
    task = make_task(name)
    env = gymnasium_env(task)
    env.reset(seed=0)
    task.dynamics.write(env.unwrapped.model, dynamics)
    rng = np.random.default_rng(1)
    observation, _ = env.reset(seed=1)
    simulator = MujocoSimulator(task, 1, seed=0)
    start = snapshot_of(env, task, dynamics)
    np.testing.assert_allclose(start.observation[0], observation, rtol=0, atol=1e-12)
    simulator.restore(start)
    largest_force = episodes = 0
    for _ in range(1000):
        action = rng.uniform(-1.2, 1.2, task.action_size)
        observation, reward, terminated, truncated, _ = env.step(action)
        step = simulator.step(action[None])
        np.testing.assert_allclose(step.next_observation[0], observation, rtol=0, atol=1e-9)
        assert abs(step.reward[0] - reward) < 1e-9
        assert (step.terminated[0], step.truncated[0]) == (terminated, truncated)
        assert not step.diverged[0]
        largest_force = max(largest_force, np.abs(env.unwrapped.data.cfrc_ext).max())
        if terminated or truncated:
            episodes += 1
            env.reset()
            simulator.restore(snapshot_of(env, task, dynamics))
    assert largest_force > 1, "the robot never touched the ground hard: contact terms were not tried"
    assert episodes > 0, "no episode ended: terminations were not tried"


@pytest.mark.parametrize("name", LOCOMOTION)
def test_an_episode_is_truncated_at_its_thousandth_step_and_not_terminated(name):
    task = make_task(name)
    env = gymnasium_env(task)
    env.reset(seed=0)
    simulator = MujocoSimulator(task, 1, seed=0)
    simulator.restore(snapshot_of(env, task, task.dynamics.nominal()[0], elapsed=998))
    assert env.spec is not None
    assert env.spec.max_episode_steps == task.time_limit == 1000
    action = np.zeros((1, task.action_size))
    before_last, last = simulator.step(action), simulator.step(action)
    assert (before_last.truncated[0], last.truncated[0]) == (False, True)
    assert not last.terminated[0]
    assert (last.next_observation != last.observation).any()
    assert not simulator.step(action).truncated[0]


@pytest.mark.parametrize("name", LOCOMOTION)
def test_reset_noise_has_gymnasiums_distribution(name):
    task = make_task(name)
    env = gymnasium_env(task)
    env.reset(seed=3)
    theirs = []
    for _ in range(1500):
        env.reset()
        theirs.append(np.concatenate((env.unwrapped.data.qpos, env.unwrapped.data.qvel)))
    qpos, qvel = task.reset(6000, np.random.default_rng(4))
    ours = np.concatenate((qpos, qvel), axis=1)
    p_values = [p_value(a, b) for a, b in zip(ours.T, np.array(theirs).T, strict=True)]
    assert min(p_values) > 1e-4
    np.testing.assert_allclose(ours.std(axis=0), np.std(theirs, axis=0), rtol=0.1)


@pytest.mark.parametrize("name", LOCOMOTION)
def test_the_first_observation_is_the_one_gymnasium_would_show_for_that_state(name):
    task = make_task(name)
    env = gymnasium_env(task)
    env.reset(seed=0)
    simulator = MujocoSimulator(task, 3, seed=5)
    states = simulator.snapshot().physics
    for row in range(3):
        qpos = states[row, 1 : 1 + task.model.nq]
        qvel = states[row, 1 + task.model.nq : 1 + task.model.nq + task.model.nv]
        env.unwrapped.set_state(qpos, qvel)
        np.testing.assert_allclose(simulator.observation[row], env.unwrapped._get_obs(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", LOCOMOTION)
def test_sizes_and_action_ranges_are_gymnasiums(name):
    task = make_task(name)
    env = gymnasium_env(task)
    assert env.observation_space.shape == (task.observation_size,)
    low, high = task.action_range
    np.testing.assert_allclose(low, env.action_space.low)
    np.testing.assert_allclose(high, env.action_space.high)
