"""The command line as a user meets it."""

import json
import subprocess
import sys

import pytest

from rapo.algorithms import ALGORITHMS
from rapo.cli import main
from rapo.world.find_task import TASKS

SMALL = ("num_envs=8", "horizon=16", "minibatches=4", "epochs=2")


def run(*arguments, folder=None):
    command = [sys.executable, "-m", "rapo", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def test_tasks_lists_every_task_with_its_parameters_and_ranges(capsys):
    main(["tasks"])
    printed = capsys.readouterr().out
    for word in (*TASKS, "mass", "body_inertia", "geom_friction", "torque", "0.8 to 1.2", "0.5 to 1.5"):
        assert word in printed


def test_options_lists_the_algorithms_and_the_options_of_each(capsys):
    main(["options"])
    printed = capsys.readouterr().out
    assert all(name in printed for name in ALGORITHMS)
    main(["options", "rapo"])
    printed = capsys.readouterr().out
    for word in ("epsilon", "kappa", "models", "KL budget of a step", "learning_rate", "advnet_steps"):
        assert word in printed
    for allowed in ("whole numbers from 1", "tilted, soft", "start:end"):
        assert allowed in printed


def test_the_demo_trains_both_measures_both_and_goes_on_where_it_was(capsys, tmp_path):
    table = tmp_path / "demo.json"
    arguments = ["demo", "--steps", "4096", "--out", str(tmp_path / "runs")]
    main([*arguments, "--json", str(table)])
    printed = capsys.readouterr().out
    for word in ("rapo on hopper", "ppo on hopper", "nominal", "heavier", "perturbed", "worst"):
        assert word in printed
    strip = tmp_path / "runs" / "heavier.png"
    assert strip.name in printed
    assert strip.read_bytes().startswith(b"\x89PNG")
    report = tmp_path / "runs" / "report"
    assert (report / "figures" / "hopper-robustness.png").read_bytes().startswith(b"\x89PNG")
    assert "Which policy should I trust" in (report / "index.html").read_text()
    curves = json.loads(table.read_text())
    assert [(c["algo"], c["parameter"]) for c in curves] == [
        (algo, name) for algo in ("rapo", "ppo") for name in ("mass", "inertia", "friction", "torque")
    ]
    main([*arguments, "--json", str(table)])
    assert json.loads(table.read_text()) == curves
    assert "on hopper" not in capsys.readouterr().out


def test_runs_are_evaluated_under_nominal_dynamics(capsys, tmp_path):
    folder, table = tmp_path / "run", tmp_path / "table.csv"
    main(["train", "hopper", "--algo", "ppo", "--steps", "256", "--set", *SMALL, "--out", str(folder)])
    main(["eval", "nominal", str(folder), "--episodes", "3", "--csv", str(table)])
    header, row = table.read_text().splitlines()
    assert header == "task,algo,seed,steps,options,episodes,return_mean,return_std,length_mean"
    assert row.startswith("hopper,ppo,0,256,num_envs=8 horizon=16 epochs=2 minibatches=4,3,")
    assert "hopper" in capsys.readouterr().out


def test_bench_train_writes_rows_that_add_up(tmp_path):
    file = tmp_path / "rows.json"
    main(["bench", "train", "--tasks", "halfcheetah", "--seconds", "0.1", "--json", str(file)])
    rows = json.loads(file.read_text())
    assert [(r["task"], r["algo"]) for r in rows] == [("halfcheetah", "rapo"), ("halfcheetah", "ppo")]
    for row in rows:
        assert row["ratio"] == pytest.approx(row["seconds"] / row["raw_seconds"])
        assert row["ratio"] > 0.5
    assert 0 < rows[0]["share_dual"] < 1
    assert 0 < rows[0]["share_advnet"] < 1
    assert rows[0]["solver_rows_per_second"] > 0
    assert rows[1]["share_dual"] == rows[1]["share_advnet"] == 0


def test_bench_evidence_writes_rows_that_add_up(tmp_path):
    file = tmp_path / "rows.json"
    arguments = ("--episodes", "1", "--seconds", "0.1", "--algos", "ppo", "--json", str(file))
    main(["bench", "evidence", *arguments])
    sweep, heatmap = json.loads(file.read_text())
    assert (sweep["task"], sweep["what"], heatmap["what"]) == ("hopper", "sweep", "heatmap of ppo")
    for row in (sweep, heatmap):
        assert row["ratio"] == pytest.approx(row["seconds"] / row["beside_seconds"])
    assert sweep["steps"] >= 41
    assert heatmap["steps"] == 4 * 41 * 16


def test_bench_wrapped_writes_a_row_for_each_way(tmp_path):
    file = tmp_path / "rows.json"
    main(["bench", "wrapped", "--tasks", "Swimmer-v5", "--seconds", "0.1", "--json", str(file)])
    rows = json.loads(file.read_text())
    assert [(r["task"], r["what"]) for r in rows] == [
        ("Swimmer-v5", "batched"),
        ("Swimmer-v5", "own functions"),
    ]
    for row in rows:
        assert row["ratio"] == pytest.approx(row["rate"] / row["raw_rate"])
        assert row["gymnasium_rate"] > 0


def test_bench_world_writes_rows_that_add_up(tmp_path):
    file = tmp_path / "rows.json"
    done = run(
        *("bench", "world", "--tasks", "halfcheetah", "--seconds", "0.1"),
        *("--step", "64", "--branch", "64", "--json", str(file)),
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(file.read_text())
    assert [(r["task"], r["simulations"], r["what"]) for r in rows] == [
        ("halfcheetah", 64, "step"),
        ("halfcheetah", 64, "branch"),
    ]
    for row in rows:
        assert row["ratio"] == pytest.approx(row["rate"] / row["raw_rate"])
        assert row["rate"] > 0
    assert rows[0]["gymnasium_rate"] > 0
    assert "ratio" in done.stdout
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("bench", "world", "--tasks", "hoper"), "unknown task 'hoper': did you mean 'hopper'?"),
        (("bench", "wrapped", "--tasks", "Hopper-v5"), "unknown environment that is known in batches"),
        (("bench", "world", "--seconds", "0"), "0 seconds were asked for"),
        (("bench", "world", "--branch", "65"), "65 simulations were asked for"),
        (
            ("bench", "world", "--json", "no/such/folder/x.json"),
            "file 'no/such/folder/x.json' can't be written",
        ),
        (("bench", "world", "--json", "/dev/null"), "file '/dev/null' can't be written"),
        (("demo", "--seed", "-1"), "seed -1 was given"),
        (("demo", "--steps", "0"), "0 steps were asked for"),
        (("bench", "train", "--algos", "pppo"), "unknown algorithm 'pppo': did you mean 'ppo'?"),
        (("train", "hopper", "--algo", "rap"), "unknown algorithm 'rap': did you mean 'rapo'?"),
        (("train", "hoper"), "unknown task 'hoper': did you mean 'hopper'?"),
        (("train", "hopper", "--set", "epsilon=-1"), "option epsilon is '-1': allowed are numbers from 0"),
        (("train", "hopper", "--set", "models=0"), "option models is 0: allowed are whole numbers from 1"),
        (
            ("train", "hopper", "--algo", "rapo-paper", "--set", "samples=0"),
            "option samples is 0: allowed are whole numbers from 1",
        ),
        (("tasks", "--check"), "--check needs a task: give one, as in rapo tasks hopper --check"),
        (("tasks", "hoper", "--check"), "unknown task 'hoper': did you mean 'hopper'?"),
        (
            ("bench", "train", "--algos", "rapo,models"),
            "algorithm 'rapo,models' was given: allowed is NAME or NAME,OPTION=VALUE,...",
        ),
        (("train", "hopper", "--set", "epsilon"), "option 'epsilon' has no value"),
        (
            ("train", "hopper", "--algo", "ppo", "--set", "epsilon=1"),
            "option 'epsilon' is not one of algorithm 'ppo': it is one of rapo",
        ),
        (("train", "hopper", "--save-every", "0"), "0 updates between checkpoints were asked for"),
        (("resume", "no/such/run"), "folder 'no/such/run' is not a run"),
        (("eval", "nominal", "no/such/run"), "folder 'no/such/run' is not a run"),
        (
            ("eval", "nominal", "x", "--csv", "y"),
            "folder 'x' is not a run",
        ),
        (("eval", "tracking", "no/such/run"), "folder 'no/such/run' is not a run"),
        (("sweep", "no/such/run"), "folder 'no/such/run' is not a run"),
        (("search", "no/such/run"), "folder 'no/such/run' is not a run"),
        (("options", "pp"), "unknown algorithm 'pp': did you mean 'ppo'?"),
        (("demo", "--steps", "3", "--json", "no/such/x.json"), "file 'no/such/x.json' can't be written"),
    ],
)
def test_bad_input_gets_one_sentence_and_a_status(arguments, says, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(f"rapo: {says}")
    assert error.count("\n") == 1


def test_a_run_folder_in_use_or_damaged_gets_one_sentence_and_a_status(tmp_path, capsys):
    folder = tmp_path / "run"
    train = ["train", "hopper", "--algo", "ppo", "--steps", "256", "--set", *SMALL, "--out", str(folder)]
    main(train)
    checkpoint = folder / "checkpoint.safetensors"
    content = checkpoint.read_bytes()
    checkpoint.write_bytes(content[: len(content) // 2])
    for arguments, says in (
        (train, f"run folder '{folder}' exists and is not empty: "),
        (["resume", str(folder)], f"checkpoint '{checkpoint}' is damaged and can't be read: "),
    ):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 2
        error = capsys.readouterr().err
        assert error.startswith(f"rapo: {says}")
        assert error.count("\n") == 1
    assert checkpoint.read_bytes() == content[: len(content) // 2]


def test_a_run_whose_numbers_go_wrong_ends_with_a_sentence_and_status_1(tmp_path, capsys):
    options = ("--set", *SMALL, "learning_rate=1e9")  # the first step leads beyond all numbers
    with pytest.raises(SystemExit) as stopped:
        main(["train", "hopper", "--algo", "ppo", "--steps", "256", "--out", str(tmp_path / "run"), *options])
    assert stopped.value.code == 1
    error = capsys.readouterr().err
    assert "at update 1: there is no checkpoint yet; a lower learning_rate may help" in error
    assert error.count("\n") == 1


def test_a_user_sees_the_sentence_and_no_traceback(tmp_path):
    done = run("train", "hoper", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("rapo: unknown task 'hoper'")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        "",
        "bench",
        "demo",
        "train",
        "resume",
        "options",
        "eval",
        "sweep",
        "search",
        "grid",
        "report",
        "theory",
    ],
)
def test_help_teaches(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        main([*command.split(), "--help"])
    assert stopped.value.code == 0
    assert len(capsys.readouterr().out) > 200
