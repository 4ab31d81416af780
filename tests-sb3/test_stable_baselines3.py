"""Stable-Baselines3 trains on tasks, built-in and wrapped, under changed physics: `make test-sb3`."""

import gymnasium
import numpy as np
import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.env_util import make_vec_env

import rapo
import rapo.gym

WRAPPED = {"task": "InvertedPendulum-v5"}


@pytest.mark.parametrize(("name", "given"), [("rapo/Hopper", {}), ("rapo/Task", WRAPPED)])
@pytest.mark.filterwarnings("ignore::UserWarning")  # of actions beyond 1 and of unbounded observations
def test_its_checker_accepts_the_environments(name, given):
    check_env(gymnasium.make(name, dynamics="train", **given).unwrapped)


@pytest.mark.parametrize(("name", "given"), [("rapo/Hopper", {}), ("rapo/Task", WRAPPED)])
def test_its_ppo_learns_and_acts_under_changed_physics(name, given):
    envs = make_vec_env(name, n_envs=4, seed=0, env_kwargs={"dynamics": "train", **given})
    agent = PPO("MlpPolicy", envs, n_steps=32, batch_size=32, n_epochs=2, seed=0, device="cpu")
    before = [parameter.detach().clone().numpy() for parameter in agent.policy.parameters()]
    agent.learn(256)
    after = [parameter.detach().numpy() for parameter in agent.policy.parameters()]
    assert agent.num_timesteps == 256
    assert any((one != other).any() for one, other in zip(before, after, strict=True))
    assert all(np.isfinite(one).all() for one in after)
    task = rapo.make_task(given.get("task", "hopper"))
    heavy = rapo.evaluate(
        task,
        lambda seen: agent.predict(seen, deterministic=True)[0],
        task.dynamics.sweep("mass", [0.8, 1.5]),
        episodes=2,
        seed=0,
    )
    assert np.isfinite(heavy.means).all()
    assert (heavy.length > 0).all()
