"""Options by name, and the configuration they make."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest

from rapo.algorithms.draws import Nominal
from rapo.algorithms.ppo import PPO
from rapo.errors import InputError
from rapo.learner.budget import Budget
from rapo.tasks.hopper import Hopper
from rapo.training.config import Settings, make_config
from rapo.training.options import options, values, with_options


def test_options_are_the_fields_of_all_parts_with_their_docstrings():
    found = options(make_config("hopper", "rapo").algorithm)
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
        "rapo",
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


@pytest.mark.parametrize("algo", ["rapo", "ppo", "epopt", "rarl"])
def test_a_described_configuration_makes_the_same_one_again(algo):
    config = make_config("walker2d", algo, steps=5, seed=7, options={"learning_rate": 1e-3})
    said = json.loads(json.dumps(config.describe()))
    again = make_config(said["task"], said["algo"], steps=5, seed=7, options=said["options"])
    assert (again.settings, again.algorithm) == (config.settings, config.algorithm)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"epsilom": 1}, "unknown option of algorithm 'rapo' 'epsilom': did you mean 'epsilon'"),
        ({"strength": 1}, "unknown option of algorithm 'rapo' 'strength'"),
        ({"models": "many"}, "option models is 'many': allowed is a whole number"),
        ({"models": 2.5}, "option models is 2.5: allowed is a whole number"),
        ({"models": True}, "option models is True: allowed is a whole number"),
        ({"models": 0}, "an ensemble of 0 models was asked for"),
        ({"samples": 0}, "0 samples of the ensemble were asked for"),
        ({"epsilon": -1}, "a KL budget is -1"),
        ({"kappa": "1:2:3:4"}, "option kappa is '1:2:3:4'"),
        ({"target": "best"}, "option target is 'best': allowed is tilted, soft, dual, hard-min, mean"),
        ({"num_envs": 0}, "option num_envs is 0"),
        ({"discount": 1.0}, "option discount is 1: allowed is 0 to below 1"),
        ({"minibatches": 4096}, "4096 minibatches were asked of 2048 steps"),
        ({"epochs": 0}, "option epochs is 0"),
        ({"learning_rate": -1}, "learning_rate -1"),
        ({"learning_rate": float("inf")}, "learning_rate inf"),
        ({"value_cost": float("nan")}, "option value_cost is nan: it must be finite"),
        ({"advnet_hidden": 0}, r"advnet_hidden \[0\]"),
        ({"penalty": float("nan")}, "penalty nan"),
        ({"num_envs": float("inf")}, "option num_envs is inf: allowed is a whole number"),
    ],
)
def test_impossible_options_are_refused_in_a_sentence(given, says):
    with pytest.raises(InputError, match=says):
        make_config("hopper", "rapo", options=given)


def test_impossible_runs_are_refused():
    with pytest.raises(InputError, match="0 steps were asked for"):
        make_config("hopper", steps=0)
    with pytest.raises(InputError, match="seed -1 was given"):
        make_config("hopper", seed=-1)
    with pytest.raises(InputError, match="unknown task 'hoper': did you mean 'hopper'"):
        make_config("hoper")
    with pytest.raises(InputError, match="steps '5' and seed 0 were given: both must be whole numbers"):
        make_config("hopper", steps="5")  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match="task None and algorithm"):
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


def test_updates_are_rounded_up_to_whole_ones():
    config = make_config("hopper", "ppo", steps=2049)
    assert (config.steps_per_update, config.updates) == (2048, 2)
    assert with_options(Settings(), "x", {"horizon": 10}).horizon == 10
