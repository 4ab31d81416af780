"""Options by name, and the configuration they make."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

from rapo.algorithms.counts import Worst
from rapo.algorithms.draws import Nominal
from rapo.algorithms.ppo import PPO
from rapo.errors import InputError
from rapo.learner.budget import Budget
from rapo.tasks.hopper import Hopper
from rapo.training.config import (
    Settings,
    changed_options,
    default_options,
    identity,
    make_config,
    up_to_date,
)
from rapo.training.options import options, values, with_options


def test_options_are_the_fields_of_all_parts_with_their_docstrings():
    found = options(make_config("hopper", "rapo-paper").algorithm)
    assert {"models", "epsilon", "kappa", "samples", "target", "projection"} <= found.keys()
    assert not {"name", "summary", "opponent"} & found.keys()
    assert found["kappa"].help == "KL budget of the mixture."
    assert found["samples"].help.startswith("How many models")
    assert all(option.help for option in found.values())


def test_a_task_may_bring_settings_that_suit_it_and_what_is_said_comes_first():
    usual, own = Settings(), make_config("quadrotor-payload", "ppo").settings
    assert (own.first_std, own.num_envs, own.ppo.epochs) == (0.3, 64, 4)
    assert (own.discount, own.ppo.clip) == (usual.discount, usual.ppo.clip)
    assert make_config("hopper", "ppo").settings == usual
    said = make_config("quadrotor-payload", "ppo", options={"epochs": 3}).settings
    assert (said.ppo.epochs, said.first_std) == (3, 0.3)
    wrong = type("Wrong", (Hopper,), {"options": {"epoch": 3}})()
    with pytest.raises(InputError, match="unknown option of task 'hopper' 'epoch': did you mean 'epochs'"):
        make_config(wrong, "ppo")


def test_text_is_read_as_the_option_needs_it():
    config = make_config(
        "hopper",
        "rapo-paper",
        options={
            "epsilon": "0:0.2:0.5",
            "models": "8",
            "hidden": "32,16",
            "target_kl": "none",
            "samples": "all",
        },
    )
    assert config.settings.hidden == (32, 16)
    assert config.settings.ppo.target_kl is None
    found = options(config.algorithm)
    assert found["epsilon"].value == Budget(0.0, 0.2, 0.5)
    assert found["epsilon"].shown == "0.0:0.2:0.5"
    assert (found["models"].value, found["samples"].value) == (8, "all")


@pytest.mark.parametrize("algo", ["rapo", "rapo-paper", "ppo", "epopt", "rarl"])
def test_a_described_configuration_makes_the_same_one_again(algo):
    config = make_config("walker2d", algo, steps=5, seed=7, options={"learning_rate": 1e-3})
    said = json.loads(json.dumps(config.describe()))
    again = make_config(said["task"], said["algo"], steps=5, seed=7, options=said["options"])
    assert (again.settings, again.algorithm) == (config.settings, config.algorithm)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"epsilom": 1}, "unknown option of algorithm 'rapo-paper' 'epsilom': did you mean 'epsilon'"),
        ({"strength": 1}, "option 'strength' is not one of algorithm 'rapo-paper': it is one of rarl"),
        ({"models": "many"}, "option models is 'many': allowed are whole numbers from 1"),
        ({"models": 2.5}, "option models is 2.5: allowed are whole numbers from 1"),
        ({"models": True}, "option models is True: allowed are whole numbers from 1"),
        ({"models": 0}, "option models is 0: allowed are whole numbers from 1"),
        ({"samples": 0}, "option samples is 0: allowed are whole numbers from 1"),
        (
            {"epsilon": -1},
            "option epsilon is -1: allowed are numbers from 0, or start:end, or",
        ),
        ({"kappa": "1:2:3:4"}, "option kappa is '1:2:3:4': allowed are numbers from 0, or start:end"),
        ({"target": "best"}, "option target is 'best': allowed are tilted, soft, dual, hard-min, mean"),
        ({"num_envs": 0}, "option num_envs is 0: allowed are whole numbers from 1"),
        ({"discount": 1.0}, "option discount is 1: allowed are numbers from 0 to below 1"),
        (
            {"minibatches": 4096},
            "minibatches is 4096: allowed are at most num_envs x horizon, here 2048",
        ),
        ({"epochs": 0}, "option epochs is 0: allowed are whole numbers from 1"),
        ({"learning_rate": -1}, "option learning_rate is -1: allowed are numbers above 0, up to 1e"),
        ({"learning_rate": float("inf")}, "option learning_rate is inf"),
        ({"value_cost": float("nan")}, "option value_cost is nan: allowed are numbers from -1e"),
        ({"advnet_hidden": 0}, "option advnet_hidden is 0: allowed are whole numbers from 1"),
        ({"penalty": float("nan")}, "option penalty is nan: allowed are numbers from 0 to 1e"),
        ({"num_envs": float("inf")}, "option num_envs is inf: allowed are whole numbers"),
    ],
)
def test_impossible_options_are_refused_in_a_sentence(given, says):
    with pytest.raises(InputError, match=says):
        make_config("hopper", "rapo-paper", options=given)


def test_impossible_runs_are_refused():
    with pytest.raises(InputError, match="0 steps were asked for"):
        make_config("hopper", steps=0)
    with pytest.raises(InputError, match="seed -1 was given"):
        make_config("hopper", seed=-1)
    with pytest.raises(InputError, match="unknown task 'hoper': did you mean 'hopper'"):
        make_config("hoper")
    with pytest.raises(InputError, match="steps '5' were given: allowed are whole numbers"):
        make_config("hopper", steps="5")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="task None was given: allowed are the name of one"):
        make_config(None)  # pyright: ignore[reportArgumentType]
    numpys = make_config(
        "hopper", "ppo", steps=np.int64(5), seed=np.int32(7), options={"num_envs": np.int64(8)}
    )
    assert json.loads(json.dumps(numpys.describe()))["options"]["num_envs"] == 8


def test_a_part_of_ones_own_brings_its_own_options():
    @dataclass(frozen=True)
    class Wind(Nominal):
        """Nominal dynamics and weather."""

        gust: float = 1.0
        """How hard it blows."""

    windy = replace(PPO, name="windy", dynamics=Wind())
    changed = make_config("hopper", windy, options={"gust": "2.5"})
    assert values(changed.algorithm) == {"gust": 2.5}
    assert options(windy)["gust"].help == "How hard it blows."


def test_parts_that_share_the_name_of_an_option_are_refused_with_both_owners():
    @dataclass(frozen=True)
    class Rain(Nominal):
        """Nominal dynamics and a share of rain."""

        fraction: float = 0.5
        """How much of the time it rains."""

    rainy = replace(PPO, name="rainy", dynamics=Rain(), counts=Worst())
    with pytest.raises(InputError, match="option fraction is a field of Rain and of Worst: parts of"):
        options(rainy)


def test_an_option_that_changes_nothing_that_is_learned_does_not_tell_runs_apart():
    described = make_config("hopper", "ppo", options={"heatmap_every": 7, "epochs": 3}).describe()
    assert described["options"]["heatmap_every"] == 7
    assert changed_options(described["options"], default_options("hopper", "ppo")) == {"epochs": 3}
    assert "heatmap_every" not in identity(described)["options"]
    other = make_config("hopper", "ppo", options={"heatmap_every": 0, "epochs": 3}).describe()
    assert identity(other) == identity(described)
    assert identity(make_config("hopper", "ppo").describe()) != identity(described)


def test_what_a_task_brings_is_no_changed_option():
    described = make_config("quadrotor-payload", "rapo").describe()
    assert changed_options(described["options"], default_options("quadrotor-payload", "rapo")) == {}


def test_the_range_of_an_option_is_part_of_what_is_said_of_it():
    found = options(make_config("hopper", "rapo-paper").algorithm) | options(Settings())
    assert {name: found[name].allowed for name in ("samples", "correction", "discount", "advnet_hidden")} == {
        "samples": "whole numbers from 1 to 1,000,000 or all",
        "correction": "numbers above 0 and below 1 or none",
        "discount": "numbers from 0 to below 1",
        "advnet_hidden": "whole numbers from 1 to 16,384, at most 16 of them, several with commas",
    }
    assert found["value_cost"].allowed == "numbers from -1e+09 to 1e+09"


def test_updates_are_rounded_up_to_whole_ones():
    config = make_config("hopper", "ppo", steps=2049)
    assert (config.steps_per_update, config.updates) == (2048, 2)
    assert with_options(Settings(), "x", {"horizon": 10}).horizon == 10


def test_a_run_of_branch_targets_of_before_is_known_by_its_new_name():
    now = make_config("hopper", "rapo-paper", seed=3).describe()
    before = {**now, "algo": "rapo", "options": {k: v for k, v in now["options"].items() if k != "branches"}}
    del before["movable"]
    assert identity(before) == identity(now)
    assert identity(make_config("hopper", "rapo", seed=3).describe())["algo"] == "rapo"
    assert up_to_date({"algo": "mine", "parts": {"targets": "Robust"}})["algo"] == "mine"
