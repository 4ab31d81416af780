"""A robot of a user's own: written by `rapo new`, named by its file, and watched for changes under a run."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import rapo
from rapo.cli import main
from rapo.errors import InputError
from rapo.evaluation.nominal import read_nominal

SMALL = ("num_envs=4", "horizon=16", "minibatches=2", "epochs=1", "heatmap_every=0")
TASK = "my_robot.py:MyRobot"
RULES = """
from dataclasses import replace
from rapo.algorithms import find_algorithm

cautious = replace(find_algorithm("ppo-dr"), name="cautious", summary="PPO-DR under another name")
"""


@pytest.fixture
def robot(tmp_path, monkeypatch, capsys):
    """A folder that `rapo new` has just filled, and that is worked in."""
    monkeypatch.chdir(tmp_path)
    main(["new", "my_robot"])
    capsys.readouterr()
    return tmp_path


def train(*more):
    main(["train", TASK, "--steps", "128", "--out", "run", *more, "--set", *SMALL])


def change(path, before, after):
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def test_what_rapo_new_writes_passes_its_own_test(robot):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_robot.py"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=robot)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def test_rapo_new_names_commands_that_work(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    main(["new", "two_words"])
    said = capsys.readouterr().out.splitlines()
    check, training = (line.split()[1:] for line in said[-2:])
    assert check == ["tasks", "two_words.py:TwoWords", "--check"]
    main(check)
    steps = training.index("--steps") + 1
    main([*training[:steps], "64", *training[steps + 1 :], "--set", *SMALL])
    main(["sweep", "runs/two_words", "--task", "two_words.py:TwoWords", "--episodes", "1"])
    assert (tmp_path / "runs" / "two_words" / "sweep.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["new", "My-Robot"], "robot 'My-Robot' can't be made: allowed are small letters, digits and _"),
        (["new", "my_robot"], "file 'my_robot.py' exists: give the robot another name, or another folder"),
        (["new", "other", "--folder", "nowhere"], "folder 'nowhere' does not exist"),
    ],
)
def test_a_robot_that_can_not_be_written_is_refused_and_nothing_is(robot, refused, arguments, says):
    before = sorted(path.name for path in robot.iterdir())
    assert says in refused(*arguments)
    assert sorted(path.name for path in robot.iterdir()) == before


def test_a_model_is_found_beside_the_file_that_names_it(robot, tmp_path_factory, monkeypatch):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    main(["train", f"{robot / 'my_robot.py'}:MyRobot", "--steps", "64", "--out", "run", "--set", *SMALL])
    assert (elsewhere / "run" / "checkpoint.safetensors").exists()


@pytest.mark.parametrize(
    ("file", "before", "after", "what"),
    [
        ("my_robot.xml", 'mass="0.5"', 'mass="5"', "the bodies of its model"),
        ("my_robot.xml", 'gear="25"', 'gear="20"', "the actuators of its model"),
        ("my_robot.xml", 'timestep="0.005"', 'timestep="0.004"', "the options of its model"),
        ("my_robot.py", "-4 * distance", "-2 * distance", "its reward"),
        ("my_robot.py", "np.cos(data.qpos)", "2 * np.cos(data.qpos)", "what it observes"),
        ("my_robot.py", "np.zeros(len(data), bool)", "np.ones(len(data), bool)", "when its episodes end"),
    ],
)
def test_a_task_that_changed_under_its_run_is_refused_by_what_changed(
    robot, refused, file, before, after, what
):
    train("--algo", "ppo")
    change(robot / file, before, after)
    for command in (["sweep", "run"], ["eval", "nominal", "run"], ["resume", "run"]):
        said = refused(*command, "--task", TASK)
        assert f"task 'my_robot' of run 'run' has changed since the run was trained, in {what}" in said
    assert not (robot / "run" / "sweep.csv").exists()


def test_a_range_that_changed_under_a_run_is_refused(robot, refused):
    train("--algo", "ppo")
    change(robot / "my_robot.py", "train=(0.7, 1.5)", "train=(0.9, 1.1)")
    assert "dynamics" in refused("sweep", "run", "--task", TASK)


@pytest.mark.filterwarnings("default")
def test_a_file_that_changed_and_does_the_same_is_only_named(robot, capsys):
    train("--algo", "ppo")
    change(robot / "my_robot.py", "# beside this file", "# it lies beside this file")
    main(["eval", "nominal", "run", "--task", TASK, "--episodes", "1"])
    said = capsys.readouterr().err
    assert "note: file of task 'my_robot' of run 'run' has changed since the run was trained" in said


def test_a_run_folder_never_executes_code_on_its_own(robot, refused):
    train("--algo", "ppo")
    (robot / "my_robot.py").write_text("open('executed', 'w')")
    for command in (["sweep"], ["search"], ["eval", "nominal"], ["resume"]):
        assert f"name it with --task {TASK}" in refused(*command, "run")
    main(["report", "run", "--out", "report"])
    assert not (robot / "executed").exists()


@pytest.mark.parametrize(
    ("written", "name", "says"),
    [
        (None, "missing.py:MyRobot", "file 'missing.py' does not exist: give a Python file and a name in it"),
        ("1 / 0", "bad.py:MyRobot", "file 'bad.py' can't be loaded: ZeroDivisionError: division by zero"),
        ("def f(:", "bad.py:MyRobot", "file 'bad.py' can't be loaded: SyntaxError"),
        ("x = 1", "bad.py:MyRobot", "'bad.py' has no task 'MyRobot': allowed is the name of a subclass"),
        ("MyRobot = 3", "bad.py:MyRobot", "'bad.py' has no task 'MyRobot'"),
        (None, "no.such.module:MyRobot", "module 'no.such.module' can't be imported"),
    ],
)
def test_a_name_that_stands_for_no_task_is_refused(robot, refused, written, name, says):
    if written is not None:
        (robot / "bad.py").write_text(written)
    assert says in refused("train", name, "--out", "run")
    assert not (robot / "run").exists()


def test_an_algorithm_of_ones_own_is_trained_measured_and_put_into_a_grid(robot, capsys, refused):
    (robot / "rules.py").write_text(RULES)
    named = ("--task", TASK, "--algo", "rules.py:cautious")
    train("--algo", "rules.py:cautious")
    assert "name it with --algo rules.py:cautious" in refused("sweep", "run", "--task", TASK)
    main(["sweep", "run", *named, "--episodes", "1"])
    main(["resume", "run", *named])
    capsys.readouterr()
    assert "'rules.py' has no algorithm 'bold'" in refused(
        "train", TASK, "--algo", "rules.py:bold", "--out", "other"
    )
    options = "\n".join(option if "=" in option else "" for option in SMALL)
    (robot / "grid.toml").write_text(
        f'tasks = ["{TASK}"]\nalgorithms = ["ppo", "rules.py:cautious"]\nseeds = [0]\nsteps = 64\n'
        f"search = false\n[options]\n{options}\n[sweep]\nepisodes = 1\n"
    )
    main(["grid", "grid.toml"])
    assert {path.parts[-3] for path in robot.glob("runs/**/sweep.csv")} == {"ppo", "cautious"}


def test_models_given_by_hand_are_an_ensemble_like_any_other(robot, capsys):
    (robot / "models.csv").write_text("strength,load,damping\n1,0.8,1\n0.9,1.2,1.5\n1.1,1,0.7\n")
    main(["train", TASK, "--algo", "rapo-no-both", "--steps", "64", "--out", "by-file",
          "--set", *SMALL, "models=models.csv"])  # fmt: skip
    task = rapo.Run(robot / "by-file", rapo.make_task(TASK))
    rows = np.array([[0.8, 1.0, 1.0], [1.2, 1.5, 0.9], [1.0, 0.7, 1.1]])
    assert np.array_equal(task.training().models, rows)
    task = rapo.make_task(TASK)
    small: dict[str, Any] = {"num_envs": 4, "horizon": 16, "minibatches": 2, "epochs": 1}
    run = rapo.train(task, "rapo-no-both", steps=64, out="by-array", quiet=True, models=rows, **small)
    assert np.array_equal(run.training().models, rows)


@pytest.mark.parametrize(
    ("models", "says"),
    [
        ("strength,load\n1,1\n", "needed are the columns load, damping, strength"),
        ("load,damping,strength\n", "and 0 rows"),
        ("load,damping,strength\n1,1\n", "have a row that is not 3 numbers"),
        ("load,damping,strength\n1,1,much\n", "have a row that is not 3 numbers"),
        ("load,damping,strength\n-1,1,1\n", "dynamics row 0 (load -1"),
    ],
)
def test_models_that_are_none_are_refused(robot, refused, models, says):
    (robot / "models.csv").write_text(models)
    said = refused("train", TASK, "--algo", "rapo-no-both", "--out", "run", "--set", "models=models.csv")
    assert says in said
    assert not (robot / "run").exists()


def test_models_of_the_wrong_shape_are_refused():
    with pytest.raises(InputError, match=r"allowed is \[rows, 4\] for mass, inertia, friction, torque"):
        rapo.train("hopper", "rapo-no-both", steps=64, models=np.ones((3, 2)))


def test_hints_name_commands_that_work_for_a_run_and_for_its_policy_file(robot, refused, capsys):
    train("--algo", "ppo")
    main(["export", "run", "--task", TASK, "--numpy"])
    main(["eval", "nominal", "policy.safetensors", "--task", TASK, "--episodes", "1"])
    (measured,) = robot.glob("policy.safetensors-*")
    for folder in ("run", measured.name):
        said = refused("video", folder, "--task", TASK, "--worst", "--out", "worst.png")
        hint = said.partition(" with rapo ")[2].split()
        assert hint == ["search", folder, "--task", TASK]
        quick = ("--generations", "1", "--population", "4", "--episodes", "1", "--final-episodes", "2")
        main([*hint, *quick])
        assert (robot / folder / "search.json").exists()
    (measured / "nominal.csv").write_text("episode\n")
    with pytest.raises(InputError, match=f"again with rapo eval nominal {measured.name} --task {TASK}"):
        read_nominal(measured.relative_to(robot))
    said = refused("eval", "nominal", "policy.safetensors")
    assert "configuration of policy 'policy.safetensors' can't be used: task 'my_robot'" in said
    assert f"name it with --task {TASK}" in said
