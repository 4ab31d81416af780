"""The run folder, from the first step to a resumed end."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rapo
from rapo.algorithms.draws import Uniform
from rapo.algorithms.ppo import PPO
from rapo.cli import main
from rapo.errors import InputError, TrainingError
from rapo.evaluation.nominal import nominal
from rapo.reporting.nominal_returns import nominal_rows
from rapo.runs.checkpoint import read_checkpoint, write_checkpoint
from rapo.runs.heatmap_recorder import read_heatmap
from rapo.runs.run import CHECKPOINT, CONFIG, Run, check_finite, create, drive, save
from rapo.training.config import make_config
from rapo.training.loop import Training

SMALL: dict[str, Any] = {"num_envs": 8, "horizon": 16, "minibatches": 4, "epochs": 2}
SET = [f"{name}={value}" for name, value in SMALL.items()]
PER_UPDATE = 8 * 16


def timeless(rows):
    return [{k: v for k, v in row.items() if not k.startswith("seconds")} for row in rows]


def without_lines(facts):
    """What a checkpoint says, but for the digests of tables, which say how many seconds an update took."""
    return {name: fact for name, fact in facts.items() if name != "lines"}


def command(*arguments):
    return [sys.executable, "-m", "rapo", *map(str, arguments)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "whole"
    return rapo.train(
        "hopper", algo="rapo", steps=6 * PER_UPDATE, seed=3, out=folder, quiet=True, models=3, **SMALL
    )


def test_train_returns_a_run_with_everything_in_its_folder(finished):
    assert {p.name for p in finished.folder.iterdir()} == {
        CONFIG,
        CHECKPOINT,
        "metrics.jsonl",
        "heatmap.jsonl",
        "tensorboard",
    }
    said = json.loads((finished.folder / CONFIG).read_text())
    assert (said["task"], said["algo"], said["steps"], said["seed"]) == ("hopper", "rapo", 768, 3)
    assert said["options"]["models"] == 3
    assert said["options"]["discount"] == 0.99
    rows = finished.metrics()
    assert [row["steps"] for row in rows] == [PER_UPDATE * (i + 1) for i in range(6)]
    assert list((finished.folder / "tensorboard").iterdir())


def test_the_policy_of_a_run_acts_within_range_and_can_be_evaluated(finished):
    task = rapo.make_task("hopper")
    policy = finished.policy()
    actions = policy(np.random.default_rng(0).normal(size=(5, task.observation_size)) * 100)
    assert actions.shape == (5, task.action_size)
    assert np.abs(actions).max() <= 1
    twice = [rapo.evaluate(task, policy, task.dynamics.nominal(4), seed=0) for _ in range(2)]
    np.testing.assert_array_equal(twice[0].returned, twice[1].returned)
    assert (twice[0].length > 1).all()
    assert not twice[0].diverged.any()


def test_a_folder_that_is_not_empty_is_refused_and_left_alone(tmp_path):
    (tmp_path / "precious").write_text("data")
    with pytest.raises(
        InputError, match="exists and is not empty: give another one, or go on with rapo resume"
    ):
        rapo.train("hopper", out=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["precious"]
    with pytest.raises(InputError, match="exists and is not empty"):
        rapo.train("hopper", out=tmp_path / "precious")


def test_what_is_no_run_is_refused(tmp_path, finished):
    with pytest.raises(InputError, match=r"is not a run: it has no config\.json"):
        rapo.resume(tmp_path)
    (tmp_path / CONFIG).write_text("{")
    with pytest.raises(InputError, match="is damaged"):
        rapo.resume(tmp_path)
    said = json.loads((finished.folder / CONFIG).read_text())
    (tmp_path / CONFIG).write_text(json.dumps({**said, "algo": "pporapo"}))
    with pytest.raises(InputError, match="can't be used: unknown algorithm 'pporapo'"):
        rapo.resume(tmp_path)


def test_a_run_of_other_parts_or_other_ranges_is_not_gone_on_with(tmp_path):
    composed = replace(PPO, dynamics=Uniform())
    rapo.train("hopper", algo=composed, steps=PER_UPDATE, out=tmp_path / "parts", quiet=True, **SMALL)
    with pytest.raises(InputError, match=r'its parts dynamics is "Uniform", and now it is "Nominal"'):
        rapo.resume(tmp_path / "parts")
    light = rapo.make_task("hopper")
    light.dynamics = light.dynamics.with_ranges("mass", train=(0.3, 0.4), test=(0.3, 1.5))
    rapo.train(light, algo="ppo-dr", steps=PER_UPDATE, out=tmp_path / "ranges", quiet=True, **SMALL)
    with pytest.raises(InputError, match=r"its dynamics mass train is \[0\.3, 0\.4\]"):
        rapo.resume(tmp_path / "ranges")


def test_a_run_stopped_before_it_ever_saved_begins_anew(tmp_path, finished):
    (tmp_path / CONFIG).write_bytes((finished.folder / CONFIG).read_bytes())
    (tmp_path / "metrics.jsonl").write_bytes((finished.folder / "metrics.jsonl").read_bytes())
    rapo.resume(tmp_path, quiet=True)
    assert timeless(Run(tmp_path).metrics()) == timeless(finished.metrics())
    (arrays, facts), (others, same) = (read_checkpoint(x / CHECKPOINT) for x in (tmp_path, finished.folder))
    assert without_lines(facts) == without_lines(same)
    assert all(np.array_equal(array, others[name]) for name, array in arrays.items())


@pytest.mark.parametrize("limit", [8_000, 20_000, 60_000])
def test_a_disk_that_fills_up_stops_the_run_in_a_sentence_with_its_last_checkpoint_intact(tmp_path, limit):
    # A limit on the size of files stands in for a full disk; it hits events, metrics or checkpoint first.
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}));"
        "from rapo.cli import main; main()"
    )
    arguments = ["train", "hopper", "--algo", "ppo", "--steps", str(10**6), "--save-every", "1"]
    arguments += ["--out", str(tmp_path / "x"), "--set", *SET, "hidden=4"]
    alone = {name: value for name, value in os.environ.items() if "CACHE" not in name}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=200, env=alone
    )
    assert done.returncode == 2
    assert "can't be written: File too large" in done.stderr
    assert done.stderr.count("\n") == 1
    if (tmp_path / "x" / CHECKPOINT).exists():
        updates = read_checkpoint(tmp_path / "x" / CHECKPOINT)[1]["counters"]["updates"]
        assert len(Run(tmp_path / "x").metrics()) - updates in (0, 1)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"task": "walker2d"}, 'its task is "hopper", and now it is "walker2d"'),
        ({"seed": 4}, "its seed is 3, and now it is 4"),
        ({"steps": 10**6}, "its steps is 768, and now it is 1000000"),
        (
            {"options": {"models": 3, **SMALL, "entropy_bonus": 0.5}},
            r"its options entropy_bonus is 0\.0, and now",
        ),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(tmp_path, finished, change, says):
    said = json.loads((finished.folder / CONFIG).read_text())
    (tmp_path / CONFIG).write_text(json.dumps({**said, **change}))
    (tmp_path / CHECKPOINT).write_bytes((finished.folder / CHECKPOINT).read_bytes())
    with pytest.raises(InputError, match=says):
        rapo.resume(tmp_path)


def test_arrays_that_do_not_fit_are_named(tmp_path, finished):
    (tmp_path / CONFIG).write_bytes((finished.folder / CONFIG).read_bytes())
    arrays, facts = read_checkpoint(finished.folder / CHECKPOINT)
    arrays["episodes.length"] = np.zeros(3)
    write_checkpoint(tmp_path / CHECKPOINT, arrays, facts)
    with pytest.raises(InputError, match=r"'episodes.length' of the checkpoint does not fit this run"):
        rapo.resume(tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"config": None}, "lacks its configuration or its counters"),
        ({"config": []}, "lacks its configuration or its counters"),
        ({"counters": None}, "lacks its configuration or its counters"),
        ({"counters": {}}, "lacks its counter of updates"),
        ({"counters": {"updates": "6"}}, "counter 'updates' of the checkpoint of run '.*' is '6'"),
        ({"counters": {"updates": -1}}, "counter 'updates' of the checkpoint of run '.*' is -1"),
        ({"counters": {"updates": 6}}, "counter 'branch_steps' of the checkpoint is missing"),
    ],
)
def test_a_checkpoint_that_says_too_little_of_itself_is_refused(tmp_path, finished, change, says):
    (tmp_path / CONFIG).write_bytes((finished.folder / CONFIG).read_bytes())
    arrays, facts = read_checkpoint(finished.folder / CHECKPOINT)
    write_checkpoint(tmp_path / CHECKPOINT, arrays, {**facts, **change})
    with pytest.raises(InputError, match=says):
        rapo.resume(tmp_path)


def test_resuming_a_finished_run_changes_nothing(finished):
    before = (finished.folder / CHECKPOINT).read_bytes(), finished.metrics()
    rapo.resume(finished.folder, quiet=True)
    assert ((finished.folder / CHECKPOINT).read_bytes(), finished.metrics()) == before


def stop(folder, number, arguments):
    """Start a run and send it a signal at some moment once it is under way: exit status and last words."""
    process = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    metrics = folder / "metrics.jsonl"
    while process.poll() is None and not (metrics.exists() and metrics.stat().st_size):
        time.sleep(0.02)
    time.sleep(random.Random(time.time_ns()).uniform(0, 1.0))
    assert process.poll() is None, process.communicate()
    process.send_signal(number)
    _, said = process.communicate()
    return process.returncode, said


STOPPABLE = ["--algo", "rapo", "--steps", 150 * PER_UPDATE, "--save-every", 7, "--set", *SET, "models=3"]


@pytest.fixture(scope="module")
def never_stopped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "never-stopped"
    main(["train", "hopper", *map(str, STOPPABLE), "--out", str(folder)])
    return folder


@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_run_stopped_at_a_random_moment_resumes_to_the_numbers_of_one_that_was_not(
    tmp_path, never_stopped, number, status
):
    stopped = tmp_path / "stopped"
    code, said = stop(stopped, number, ["train", "hopper", *STOPPABLE, "--out", stopped])
    assert code == status
    saved = (stopped / CHECKPOINT).exists()
    updates = read_checkpoint(stopped / CHECKPOINT)[1]["counters"]["updates"] if saved else 0
    assert updates < 150
    if number == signal.SIGINT:
        assert f"saved after {updates * PER_UPDATE:,} steps: go on with rapo resume" in said
        assert len(Run(stopped).metrics()) == updates
    main(["resume", str(stopped)])
    first, second = (read_checkpoint(folder / CHECKPOINT) for folder in (stopped, never_stopped))
    assert without_lines(first[1]) == without_lines(second[1])
    assert first[0].keys() == second[0].keys()
    for name, array in first[0].items():
        np.testing.assert_array_equal(array, second[0][name], err_msg=name)
    assert timeless(Run(stopped).metrics()) == timeless(Run(never_stopped).metrics())
    assert len(read_heatmap(stopped)) == 3
    assert read_heatmap(stopped) == read_heatmap(never_stopped)


def test_a_line_cut_short_by_a_kill_is_dropped(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"update": 1, "steps": 8}\n{"update": 2, "st')
    assert Run(tmp_path).metrics() == [{"update": 1, "steps": 8}]
    for damaged in (
        b'{"update": 1, "st\n{"update": 2, "steps": 8}\n',
        b"null\n",
        b'{"update": "\xff"}\n',
        b"{}\n",
    ):
        (tmp_path / "metrics.jsonl").write_bytes(damaged)
        with pytest.raises(InputError, match="is damaged"):
            Run(tmp_path).metrics()


def test_two_processes_do_not_train_one_run(tmp_path):
    folder = tmp_path / "run"
    process = subprocess.Popen(
        command("train", "hopper", "--algo", "ppo", "--steps", 10**7, "--set", *SET, "--out", folder),
        stdout=subprocess.DEVNULL,
    )
    try:
        while not (folder / "metrics.jsonl").exists():
            time.sleep(0.05)
        with pytest.raises(InputError, match="is being trained by another process"):
            rapo.resume(folder, quiet=True)
    finally:
        process.kill()
        process.wait()


def test_numbers_that_go_wrong_stop_the_run_and_name_the_last_good_checkpoint(tmp_path):
    training = Training(make_config("hopper", "ppo", steps=50 * PER_UPDATE, options=SMALL))
    folder = create(training.config, tmp_path / "run").folder

    def spoil(metrics):  # after the third update: a critic so far off that its error squared is infinite
        if metrics["update"] == 3:
            (player,) = training.learner.players
            critic = jax.tree.map(lambda x: x + 1e30, player.parameters.critic)
            spoilt = player._replace(parameters=player.parameters._replace(critic=critic))
            training.learner = training.learner._replace(players=(spoilt,))

    with pytest.raises(
        TrainingError, match=r"at update 4: the last good checkpoint is .*checkpoint\.safetensors"
    ):
        drive(training, folder, spoil, save_every=2)
    arrays, facts = read_checkpoint(folder / CHECKPOINT)
    assert all(np.isfinite(a).all() for a in arrays.values())
    assert facts["counters"]["updates"] == 2
    assert len(Run(folder).metrics()) == 3


def test_a_state_that_went_wrong_is_never_saved(tmp_path):
    training = Training(make_config("hopper", "ppo", steps=PER_UPDATE, options=SMALL))
    save(training, tmp_path)
    before = (tmp_path / CHECKPOINT).read_bytes()
    training.learner = training.learner._replace(
        observations=training.learner.observations._replace(seen=jnp.asarray(jnp.nan))
    )
    with pytest.raises(TrainingError, match=r"learner\.observations\.seen is not finite"):
        save(training, tmp_path)
    assert (tmp_path / CHECKPOINT).read_bytes() == before


def test_an_unfinished_run_is_evaluated_as_what_it_is(tmp_path):
    training = Training(make_config("hopper", "ppo", steps=10**6, options=SMALL))
    run = create(training.config, tmp_path / "run")
    training.update()
    save(training, run.folder)
    table = nominal(run, episodes=2, seed=0)
    assert nominal_rows(run, table)["steps"].to_list() == [PER_UPDATE]


def test_every_number_is_checked():
    for bad in ({"x": float("nan")}, {"x": float("inf")}, {"x": [0.0, float("nan")]}):
        with pytest.raises(TrainingError, match="x is"):
            check_finite({"update": 1, **bad}, Path("folder"))
    check_finite({"update": 1, "return": None, "x": [0.0], "y": 1.0}, Path("folder"))


def test_a_run_of_two_players_shows_both_turns(tmp_path, capsys):
    main(["train", "hopper", "--algo", "rarl", "--steps", "256", "--set", *SET, "--out", str(tmp_path / "x")])
    assert capsys.readouterr().out.count("rarl on hopper") == 2
    assert [row["learns"] for row in Run(tmp_path / "x").metrics()] == [0, 1]


def test_a_run_shows_plain_lines_where_there_is_no_terminal(tmp_path, capsys):
    main(
        [
            "train",
            "hopper",
            "--algo",
            "rapo",
            "--steps",
            "256",
            "--set",
            *SET,
            "models=3",
            "--out",
            str(tmp_path / "x"),
        ]
    )
    printed = capsys.readouterr().out
    for word in (
        "rapo on hopper, seed 0",
        "256 of 256",
        "return",
        "robust gap",
        "mixture",
        "steps/s",
        "left",
    ):
        assert word in printed
    assert "\x1b" not in printed
