"""Training that begins where another run ended."""

import json
from typing import Any

import jax
import numpy as np
import pytest

import rapo
from rapo.cli import main
from rapo.errors import InputError
from rapo.reporting.run_record import read_run
from rapo.runs.start import start
from rapo.training.config import make_config

SMALL: dict[str, Any] = {"num_envs": 4, "horizon": 16, "minibatches": 2, "epochs": 1, "heatmap_every": 0}
SET = [f"{name}={value}" for name, value in SMALL.items()]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    out = tmp_path_factory.mktemp("first") / "run"
    return rapo.train("hopper", "ppo", steps=256, out=out, quiet=True, **SMALL)


def same(one, other):
    return all(
        np.array_equal(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


def further(first, out, **more):
    chosen = {"steps": 128, "quiet": True, "start_from": first, **SMALL, **more}
    return rapo.train("hopper", "rapo", out=out, **chosen)


def test_a_run_begins_with_the_networks_and_normalisers_of_another(first, tmp_path):
    run = further(first, tmp_path / "run", steps=64, learning_rate=1e-30, num_envs=8, horizon=8)
    old, new = first.training().learner, run.training().learner
    assert same(old.players[0].parameters, new.players[0].parameters)  # at such a rate nothing is learned
    assert new.observations.seen == pytest.approx(float(old.observations.seen) + 64)
    assert new.rewards.running.seen == pytest.approx(float(old.rewards.running.seen) + 64)
    assert run.training().config.algorithm.name == "rapo"


def test_where_a_run_began_is_part_of_its_configuration(first, tmp_path):
    config = further(first, tmp_path / "run").config()
    said = config.started_from or {}
    assert {key: said[key] for key in ("task", "algo", "seed", "steps")} == {
        "task": "hopper",
        "algo": "ppo",
        "seed": 0,
        "steps": 256,
    }
    assert "from=hopper-ppo" in config.changes


def test_it_is_interrupted_and_goes_on_to_the_same_numbers_without_the_other_run(first, tmp_path):
    whole = further(first, tmp_path / "whole", steps=192)

    def stop(metrics, /):
        if metrics["update"] == 2:
            raise KeyboardInterrupt

    config = make_config("hopper", "rapo", steps=192, options=SMALL)
    with pytest.raises(KeyboardInterrupt):
        start(config, tmp_path / "half", display=stop, origin=first, save_every=1)
    resumed = rapo.resume(tmp_path / "half", quiet=True)
    assert same(whole.training().learner, resumed.training().learner)


def test_repetitions_from_other_seeds_are_one_group(first, tmp_path):
    second = rapo.train("hopper", "ppo", steps=256, seed=1, out=tmp_path / "ppo-1", quiet=True, **SMALL)
    further(first, tmp_path / "a", seed=0)
    further(second, tmp_path / "b", seed=1)
    rapo.train("hopper", "rapo", steps=128, out=tmp_path / "c", quiet=True, **SMALL)
    notes = []
    a, b, c = (read_run(tmp_path / name, {}, notes) for name in "abc")
    assert a.kind == b.kind != c.kind
    assert a.changed["from"] == "hopper-ppo"
    assert "from" not in c.changed


def test_the_command_line_takes_a_run_to_begin_from(first, tmp_path, capsys):
    out = tmp_path / "run"
    main(["train", "hopper", "--from", str(first.folder), "--steps", "64", "--out", str(out), "--set", *SET])
    assert json.loads((out / "config.json").read_text())["started_from"]["algo"] == "ppo"


@pytest.mark.parametrize(
    ("task", "more", "says"),
    [
        (
            "hopper",
            {"hidden": (8, 8)},
            r"its option hidden is \(64, 64\), and that of the new run is \(8, 8\)",
        ),
        ("walker2d", {}, "its observation size is 11, and that of the new run is 17"),
    ],
)
def test_networks_of_other_sizes_are_refused(first, tmp_path, task, more, says):
    with pytest.raises(InputError, match=says):
        rapo.train(task, "ppo", steps=64, out=tmp_path / "run", start_from=first, **{**SMALL, **more})
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"is not a run: it has no config\.json"):
        rapo.train("hopper", "ppo", steps=64, out=tmp_path / "run", start_from=tmp_path, **SMALL)


def test_a_run_killed_before_it_kept_its_networks_is_not_trained_from_nothing(first, tmp_path):
    run = further(first, tmp_path / "run")
    (run.folder / "checkpoint.safetensors").unlink()
    with pytest.raises(InputError, match="was stopped before it saved the networks it began with"):
        rapo.resume(run.folder, quiet=True)


def test_a_run_of_a_task_of_ones_own_is_begun_from_by_its_name(first, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["new", "my_robot"])
    main(["train", "my_robot.py:MyRobot", "--algo", "ppo", "--steps", "64", "--out", "own", "--set", *SET])
    other = (tmp_path / "my_robot.py").read_text().replace('name = "my_robot"', 'name = "another"')
    (tmp_path / "another.py").write_text(other)
    words = ["--from", "own", "--steps", "64", "--set", *SET]
    main(["train", "my_robot.py:MyRobot", "--out", "same", *words])
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["train", "another.py:MyRobot", "--out", "other", *words])
    assert "name it with --from-task my_robot.py:MyRobot" in capsys.readouterr().err
    named = ["--from-task", "my_robot.py:MyRobot"]
    main(["train", "another.py:MyRobot", "--out", "other", *named, *words])
    assert json.loads((tmp_path / "other" / "config.json").read_text())["started_from"]["task"] == "my_robot"
