"""The command line as a user meets it."""

import json
import subprocess
import sys

import pytest

from rapo.cli import main
from rapo.world.tasks import TASKS


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "rapo", *arguments], capture_output=True, text=True)


def test_tasks_lists_every_task_with_its_parameters_and_ranges(capsys):
    main(["tasks"])
    printed = capsys.readouterr().out
    for word in (*TASKS, "mass", "body_inertia", "geom_friction", "torque", "0.8 to 1.2", "0.5 to 1.5"):
        assert word in printed


def test_demo_prints_its_table_and_draws(capsys, tmp_path):
    figure = tmp_path / "demo.png"
    main(["demo", "--steps", "120", "--envs", "9", "--figure", str(figure)])
    printed = capsys.readouterr().out
    for word in ("mass", "inertia", "friction", "torque", "1,080 steps", "0 diverged"):
        assert word in printed
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_a_demo_too_short_for_a_fall_says_so(capsys):
    main(["demo", "--steps", "2", "--envs", "3"])
    assert "-" in capsys.readouterr().out


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
        (("bench", "world", "--seconds", "0"), "0 seconds were asked for"),
        (("bench", "world", "--branch", "65"), "65 simulations were asked for"),
        (
            ("bench", "world", "--json", "no/such/folder/x.json"),
            "file 'no/such/folder/x.json' can't be written",
        ),
        (("bench", "world", "--json", "/dev/null"), "file '/dev/null' can't be written"),
        (("demo", "--seed", "-1"), "seed -1 was given"),
        (("demo", "--steps", "3", "--figure", "x.xyz"), "figure 'x.xyz' was asked for"),
        (("demo", "--envs", "2"), "2 Hoppers and 1000 steps were asked for"),
        (("demo", "--steps", "3", "--figure", "no/such/x.png"), "file 'no/such/x.png' can't be written"),
    ],
)
def test_bad_input_gets_one_sentence_and_a_status(arguments, says):
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(f"rapo: {says}")
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_help_teaches():
    for arguments in (("--help",), ("bench", "--help"), ("demo", "--help")):
        done = run(*arguments)
        assert done.returncode == 0
        assert len(done.stdout) > 200
