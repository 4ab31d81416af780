"""The run folder, from the first step to a resumed end."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import rapo
from rapo.cli import main
from rapo.errors import InputError, TrainingError
from rapo.runs.checkpoint import read_checkpoint, write_checkpoint
from rapo.runs.run import CHECKPOINT, CONFIG, Run, check_finite

SMALL = {"num_envs": 8, "horizon": 16, "minibatches": 4, "epochs": 2}
SET = [f"{name}={value}" for name, value in SMALL.items()]
PER_UPDATE = 8 * 16


def timeless(rows):
    return [{k: v for k, v in row.items() if not k.startswith("seconds")} for row in rows]


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
    (tmp_path / CONFIG).write_text(json.dumps(said))
    with pytest.raises(InputError, match=r"checkpoint .* does not exist"):
        rapo.resume(tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"task": "walker2d"}, 'its task is "hopper", and that of config.json is "walker2d"'),
        ({"seed": 4}, "its seed is 3, and that of config.json is 4"),
        ({"steps": 10**6}, "its steps is 768"),
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
    updates = read_checkpoint(stopped / CHECKPOINT)[1]["counters"]["updates"]
    assert updates < 150
    if number == signal.SIGINT:
        assert f"saved after {updates * PER_UPDATE:,} steps: go on with rapo resume" in said
        assert len(Run(stopped).metrics()) == updates
    main(["resume", str(stopped)])
    first, second = (read_checkpoint(folder / CHECKPOINT) for folder in (stopped, never_stopped))
    assert first[1] == second[1]
    assert first[0].keys() == second[0].keys()
    for name, array in first[0].items():
        np.testing.assert_array_equal(array, second[0][name], err_msg=name)
    assert timeless(Run(stopped).metrics()) == timeless(Run(never_stopped).metrics())


def test_a_line_cut_short_by_a_kill_is_dropped(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"update": 1, "steps": 8}\n{"update": 2, "st')
    assert Run(tmp_path).metrics() == [{"update": 1, "steps": 8}]
    (tmp_path / "metrics.jsonl").write_text('{"update": 1, "st\n{"update": 2, "steps": 8}\n')
    with pytest.raises(InputError, match="are damaged"):
        Run(tmp_path).metrics()


def test_two_processes_do_not_train_one_run(tmp_path):
    folder = tmp_path / "run"
    process = subprocess.Popen(
        command("train", "hopper", "--algo", "ppo", "--steps", 10**7, "--set", *SET, "--out", folder),
        stdout=subprocess.DEVNULL,
    )
    try:
        while not (folder / CHECKPOINT).exists():
            time.sleep(0.05)
        with pytest.raises(InputError, match="is being trained by another process"):
            rapo.resume(folder, quiet=True)
    finally:
        process.kill()
        process.wait()


def test_numbers_that_go_wrong_stop_the_run_and_name_the_last_good_checkpoint(tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(TrainingError, match=r"the last good checkpoint is .*checkpoint\.safetensors"):
        rapo.train(
            "hopper",
            algo="ppo",
            steps=50 * PER_UPDATE,
            out=folder,
            quiet=True,
            learning_rate=1e30,
            save_every=1,
            **SMALL,
        )
    arrays, facts = read_checkpoint(folder / CHECKPOINT)
    assert all(np.isfinite(a).all() for a in arrays.values())
    assert facts["counters"]["updates"] == len(Run(folder).metrics())


def test_every_number_is_checked():
    for bad in ({"x": float("nan")}, {"x": float("inf")}, {"x": [0.0, float("nan")]}):
        with pytest.raises(TrainingError, match="x is"):
            check_finite({"update": 1, **bad}, Path("folder"))
    check_finite({"update": 1, "return": None, "x": [0.0], "y": 1.0}, Path("folder"))


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
