"""Options have ends that a machine can hold, and what was given is cut in errors."""

from typing import Any

import pytest

import rapo
from rapo.algorithms import ALGORITHMS
from rapo.errors import BEGINNING, ENDING, InputError, TrainingError
from rapo.grids.grid_file import read_grid
from rapo.training.config import Settings, make_config
from rapo.training.memory import GIB, check_memory, estimate, machine_memory
from rapo.training.options import options

HUGE = (10**12, 10**400, 10**5000, "1" * 5000, 1e300)
COUNTED = (
    "num_envs",
    "horizon",
    "hidden",
    "epochs",
    "minibatches",
    "models",
    "samples",
    "advnet_steps",
    "advnet_hidden",
    "iterations",
    "scored_rows",
)


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_every_number_has_an_upper_end(algo):
    for record in (Settings(), ALGORITHMS[algo]):
        for name, option in options(record).items():
            if type(option.value) in (int, float):
                assert "to " in option.allowed or "below" in option.allowed, (name, option.allowed)


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("value", HUGE, ids=["1e12", "1e400", "1e5000", "digits", "1e300"])
def test_numbers_that_no_machine_holds_are_refused_before_a_folder_is_made(tmp_path, name, value):
    with pytest.raises(
        InputError, match=f"option {name} is .*: allowed are whole numbers from 1 to"
    ) as refused:
        rapo.train("hopper", "rapo-paper", out=tmp_path / "run", **{name: value})
    assert len(str(refused.value)) <= BEGINNING + ENDING + 5
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"hidden": [4] * 400}, "whole numbers from 1 to 16,384, at most 16 of them"),
        (
            {"iterations": 10**9},
            "option iterations is 1000000000: allowed are whole numbers from 1 to 10,000",
        ),
        ({"hidden": "[" * 100_000}, r"option hidden is '\[+ \.\.\. .*allowed are whole numbers"),
        ({"models": [[10**5000] * 4]}, "models were given that are no array"),
        ({3: 1}, "unknown option of algorithm 'rapo-paper' '3'"),
        ({None: 1}, "unknown option of algorithm 'rapo-paper' 'None'"),
        ([], r"options \[\] were given: allowed is a mapping"),
    ],
)
def test_what_is_no_option_is_said_in_a_sentence(given, says):
    chosen: Any = given or []
    with pytest.raises(InputError, match=says):
        make_config("hopper", "rapo-paper", options=chosen)


def test_steps_and_seeds_of_thousands_of_digits_are_refused():
    for name in ("steps", "seed"):
        with pytest.raises(InputError, match=r"a number of too many digits .*allowed are whole numbers from"):
            make_config("hopper", "ppo", **{name: 10**5000})
    with pytest.raises(InputError, match="allowed are whole numbers from 1 to 1,000,000,000,000,000"):
        make_config("hopper", "ppo", steps=10**16)


def test_a_run_that_needs_more_memory_than_there_is_is_refused_with_the_estimate(tmp_path):
    with pytest.raises(
        InputError,
        match=r"would need about [\d,.]+ GiB of memory, most of it for the steps of an update \(num_envs x "
        r"horizon\), and this machine has [\d.]+ GiB",
    ):
        rapo.train("hopper", "ppo", out=tmp_path / "run", num_envs=10**6, horizon=10**6)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"hidden": [16_384] * 16}, "networks"),
        ({"models": 10**6, "rollout": "mixture"}, "branches"),
        ({"num_envs": 64, "models": 100, "samples": 10**6}, "draws"),
        ({"num_envs": 10**6, "horizon": 1}, "environments"),
        ({"epochs": 10_000, "horizon": 10**5}, "the orders"),
    ],
)
def test_the_estimate_says_what_the_memory_is_for(options, most):
    parts = estimate(make_config("hopper", "rapo-paper", options=options))
    assert max(parts, key=lambda name: parts[name]).startswith(most)
    assert sum(parts.values()) > 8 * GIB


def test_a_policy_without_hidden_layers_is_estimated_and_trained(tmp_path):
    small: dict[str, Any] = {"num_envs": 4, "horizon": 8, "minibatches": 2, "epochs": 1}
    run = rapo.train("hopper", "ppo", steps=32, out=tmp_path / "run", quiet=True, hidden=[], **small)
    assert run.config().settings.hidden == ()
    assert 0 < sum(estimate(run.config()).values()) < GIB // 2


def test_what_is_trained_every_day_is_far_below_a_gibibyte():
    for algo in ALGORITHMS:
        for task in ("hopper", "ant"):
            config = make_config(task, algo)
            assert 0 < sum(estimate(config).values()) < GIB // 2
            check_memory(config)
    assert machine_memory() > GIB


class TestGrids:
    def grid(self, folder, more):
        text = 'tasks = ["hopper"]\nalgorithms = ["ppo"]\nsteps = 64\n' + more
        (folder / "big.toml").write_text(text)
        return folder / "big.toml"

    def test_a_grid_of_millions_is_refused_with_the_count_and_without_making_it(self, tmp_path, refused):
        axes = "\n".join(
            f"{name} = {list(range(1, 71))}" for name in ("epochs", "num_envs", "horizon", "minibatches")
        )
        path = self.grid(tmp_path, f"seeds = [0]\n[options]\n{axes}\n")
        said = refused("grid", path, "--status")
        assert "the file describes 24,010,000 runs: allowed are at most 2,000, so split it" in said

    @pytest.mark.parametrize(
        ("more", "says"),
        [
            (f"seeds = {list(range(100_000))}", "key seeds has 100,000 values: allowed are at most 2,000"),
            ("seeds = " + "[" * 100_000, "is not a TOML file: it is nested too deeply"),
            ("seeds = [" + "1" * 5000 + "]", "is not a TOML file"),
            ('seeds = [0]\nout = "a\\u0000b"', "key out is .*: allowed is the name of a folder"),
            (f'seeds = "{"x" * 100_000}"', r"key seeds is 'x+ \.\.\. x*': allowed is a list"),
        ],
    )
    def test_files_without_end_are_refused_in_a_sentence(self, tmp_path, more, says):
        with pytest.raises(InputError, match=says) as refused:
            read_grid(self.grid(tmp_path, more))
        assert len(str(refused.value)) <= 2 * (BEGINNING + ENDING)


def test_errors_stay_on_one_line_and_short_whatever_was_given():
    for kind in (InputError, TrainingError):
        said = str(kind(f"thing 'a\nb\t\udcff' is {'x' * 10**6}: allowed are y"))
        assert said.startswith("thing 'a b  ' is xxx")
        assert said.endswith("x: allowed are y")
        assert len(said) == BEGINNING + ENDING + 5
        assert said.encode()
