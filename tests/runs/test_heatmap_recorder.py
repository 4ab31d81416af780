"""What the critic expects under other dynamics, recorded while a run learns."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import rapo
from rapo.errors import InputError
from rapo.learner import networks, normalize
from rapo.runs.heatmap_recorder import Heatmap, read_heatmap
from rapo.runs.json_lines import read_lines
from rapo.training.config import make_config
from rapo.training.loop import Training

TINY: dict[str, Any] = {"num_envs": 4, "horizon": 8, "minibatches": 2, "epochs": 1}


def test_it_is_recorded_every_so_many_updates_over_the_whole_test_range(tiny_runs):
    rows = read_heatmap(tiny_runs[0].folder)
    assert [(row["update"], row["steps"]) for row in rows] == [(2, 64), (4, 128)]
    for row in rows:
        assert list(row["values"]) == ["mass", "inertia", "friction", "torque"]
        for name in row["values"]:
            assert (row["scales"][name][0], row["scales"][name][-1]) == (0.5, 1.5)
            assert len(row["scales"][name]) == len(row["values"][name]) == 41
            assert np.isfinite(row["values"][name]).all()


def test_a_value_is_the_mean_of_reward_and_discounted_value_of_one_step(tmp_path):
    training = Training(make_config("hopper", "ppo", steps=10**6, options={**TINY, "heatmap_every": 1}))
    training.update()
    heatmap = Heatmap(training, tmp_path)
    heatmap(training)
    heatmap.close()
    (row,) = read_heatmap(tmp_path)
    task, learner = training.config.task, training.learner
    pairs = training.simulator.snapshot()
    policy, critic = learner.players[0].parameters
    seen = normalize.normalise(learner.observations, jnp.asarray(pairs.observation))
    actions = np.clip(networks.forward(policy.mean, seen), -1, 1)
    (light,) = task.dynamics.sweep("mass", [0.5])
    led = training.simulator.branch(pairs, actions, light)
    after = normalize.normalise(learner.observations, jnp.asarray(led.observation[:, 0]))
    value = networks.value(critic, after)
    total = led.reward[:, 0] + 0.99 * ~led.terminated[:, 0] * np.asarray(value * learner.rewards.scale)
    assert row["values"]["mass"][0] == pytest.approx(total.mean(), rel=1e-5)


def test_recording_changes_nothing_of_what_is_learned(tmp_path, tiny_runs):
    without = rapo.train(
        "hopper", "ppo", steps=4 * 32, seed=0, out=tmp_path / "x", quiet=True, heatmap_every=0, **TINY
    )
    assert read_heatmap(without.folder) == []
    for mine, theirs in zip(without.metrics(), tiny_runs[0].metrics(), strict=True):
        assert {k: v for k, v in mine.items() if "seconds" not in k} == {
            k: v for k, v in theirs.items() if "seconds" not in k
        }


def test_an_interval_below_0_is_refused():
    with pytest.raises(InputError, match="option heatmap_every is -1: allowed are whole numbers from 0"):
        make_config("hopper", "ppo", options={"heatmap_every": -1})


def test_lines_of_updates_that_were_lost_are_dropped_when_it_goes_on(tmp_path):
    training = Training(make_config("hopper", "ppo", steps=10**6, options=TINY))
    training.updates = 1
    (tmp_path / "heatmap.jsonl").write_text('{"update": 1, "steps": 32}\n{"update": 40, "steps": 1280}\n')
    Heatmap(training, tmp_path).close()
    assert [row["update"] for row in read_lines(tmp_path / "heatmap.jsonl")] == [1]
    with pytest.raises(InputError, match="is damaged: every line must be one record"):
        read_heatmap(tmp_path)
