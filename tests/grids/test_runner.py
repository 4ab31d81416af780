"""Running a grid: what is done is skipped, what was interrupted goes on, what fails stops nothing else."""

import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from rapo.cli import main
from rapo.errors import InputError, Interrupted
from rapo.grids.runner import failures, read_grid, run_grid, status
from rapo.runs.checkpoint import read_checkpoint, read_facts
from rapo.runs.heatmap_recorder import read_heatmap
from rapo.runs.run import CHECKPOINT, CONFIG, Run, alone, create

UPDATES = 30
TINY = """
tasks = ["hopper"]
algorithms = ["ppo"]
seeds = [0, 1]
steps = {steps}
out = "{out}"
[options]
num_envs = 4
horizon = 8
epochs = 1
minibatches = 2
heatmap_every = 20
{options}
[sweep]
episodes = 2
parameters = ["mass", "torque"]
scales = [0.8, 1.0]
[search]
generations = 1
population = 4
episodes = 1
final_episodes = 2
"""
RESULTS = (CHECKPOINT, "sweep.csv", "search.json", "metrics.jsonl")


def written(folder, options="", updates=UPDATES):
    """The file of a grid in `folder`, whose runs go there too."""
    path = folder / "tiny.toml"
    path.write_text(TINY.format(steps=updates * 32, out=folder / "runs", options=options))
    return path


def changed(grid, **measurements):
    """The grid with other settings of some measurements, or without those that are None."""
    both = {**grid.measurements, **measurements}
    return replace(
        grid, measurements={name: settings for name, settings in both.items() if settings is not None}
    )


def shown(table):
    console = Console(width=120, file=StringIO())
    with console.capture() as captured:
        console.print(table)
    return captured.get()


def files(grid):
    return {
        run.folder / name: ((run.folder / name).stat().st_mtime_ns, (run.folder / name).read_bytes())
        for run in grid.runs
        for name in RESULTS
    }


def assert_same_results(one, other):
    for a, b in zip(one.runs, other.runs, strict=True):
        arrays, facts = read_checkpoint(a.folder / CHECKPOINT)
        others, other_facts = read_checkpoint(b.folder / CHECKPOINT)
        assert facts.pop("lines").keys() == other_facts.pop("lines").keys()  # they know how long it took
        assert facts == other_facts
        for name, array in arrays.items():
            np.testing.assert_array_equal(array, others[name], name)
        for name in ("sweep.csv", "search.json", CONFIG):
            assert (a.folder / name).read_bytes() == (b.folder / name).read_bytes()
        timeless = [
            [{k: v for k, v in row.items() if not k.startswith("seconds")} for row in Run(c.folder).metrics()]
            for c in (a, b)
        ]
        assert timeless[0] == timeless[1]
        assert len(timeless[0]) == facts["counters"]["updates"]
        assert read_heatmap(a.folder) == read_heatmap(b.folder) != []


def soon(happens):
    """Wait until something `happens`, asking again and again for a few minutes at most."""
    for _ in range(100_000):
        if happens():
            return
        time.sleep(0.002)
    raise AssertionError("it never happened")


def press_ctrl_c_when_training(cells):
    """Interrupt this process once all cells have learned from a few updates, from a thread."""

    def press():
        logs = [run.folder / "metrics.jsonl" for run in cells]
        soon(lambda: all(log.exists() and log.read_bytes().count(b"\n") > 2 for log in logs))
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()


def trainers(folder):
    """The processes that hold the lock of a run folder, which only those that train there do."""
    number = f":{folder.stat().st_ino}" if folder.exists() else None
    locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    return [int(lock[4]) for lock in locks if number and lock[1] == "FLOCK" and lock[5].endswith(number)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    grid = read_grid(written(tmp_path_factory.mktemp("finished")))
    outcomes = run_grid(grid)
    assert [(o.run, o.done, o.failure) for o in outcomes] == [
        (run, ("trained", "swept", "searched"), None) for run in grid.runs
    ]
    return grid


def test_every_run_is_trained_swept_and_searched(finished):
    for run in finished.runs:
        assert read_facts(run.folder / CHECKPOINT)["counters"]["updates"] == UPDATES
        table = pl.read_csv(run.folder / "sweep.csv")
        assert (len(table), set(table["updates"])) == (2 * 2 * 2, {UPDATES})
        assert not (run.folder / "failure.txt").exists()


def test_finished_runs_are_skipped_and_left_untouched(finished, capsys):
    before = files(finished)
    main(["grid", str(finished.path)])
    assert capsys.readouterr().out.count("was finished") == 2
    assert files(finished) == before


def test_ctrl_c_saves_and_running_again_goes_on_to_the_same_results(finished, tmp_path):
    grid = read_grid(written(tmp_path))
    never_saved = grid.runs[1]
    create(never_saved.config(), never_saved.folder)

    press_ctrl_c_when_training(grid.runs[:1])
    with pytest.raises(Interrupted, match=r"0 of 2 runs are done.* go on with rapo grid .*tiny\.toml"):
        run_grid(grid, save_every=1000)
    saved = read_facts(grid.runs[0].folder / CHECKPOINT)["counters"]["updates"]
    assert 0 < saved < UPDATES
    states = shown(status(grid))
    assert f"training {saved / UPDATES:.0%}" in states
    assert "training 0%" in states
    run_grid(grid)
    assert_same_results(finished, grid)


def test_a_run_that_fails_is_reported_and_tried_again_while_the_others_finish(finished, tmp_path, capsys):
    path = written(tmp_path)
    grid = read_grid(path)
    other, good = grid.runs
    create(replace(other.config(), steps=1), other.folder)
    with pytest.raises(SystemExit) as stopped:
        main(["grid", str(path)])
    assert stopped.value.code == 1
    printed = capsys.readouterr()
    assert re.search(r"1 of 2 runs failed: rapo grid .*tiny\.toml tries them again", printed.err)
    sentence = (other.folder / "failure.txt").read_text()
    assert sentence == (
        f"folder '{other.folder}' holds another run: its steps is 1, and now it is {other.steps}\n"
    )
    assert sentence.strip() in printed.out
    assert "ppo on hopper, seed 0" in printed.out
    assert not (good.folder / "failure.txt").exists()
    assert (good.folder / "search.json").exists()
    assert re.search(r"hopper +ppo +failed +searched", shown(status(grid)))

    (other.folder / CONFIG).unlink()
    main(["grid", str(path)])
    assert "ppo on hopper, seed 1: was finished" in capsys.readouterr().out
    assert_same_results(finished, grid)
    assert not (other.folder / "failure.txt").exists()
    assert re.search(r"hopper +ppo +searched +searched", shown(status(grid)))


def test_training_that_goes_wrong_is_a_failure_of_that_run_alone(tmp_path):
    grid = read_grid(written(tmp_path, "learning_rate = [1e9, 3e-4]", updates=3))
    outcomes = run_grid(grid)
    assert [outcome.failure is None for outcome in outcomes] == [False, False, True, True]
    for outcome in outcomes[:2]:
        said = (outcome.run.folder / "failure.txt").read_text()
        assert said == f"{outcome.failure}\n"
        assert "a lower learning_rate may help" in said
    table = failures(outcomes)
    assert table is not None
    assert table.row_count == 2
    assert failures(outcomes[2:]) is None


def test_what_belongs_to_another_policy_or_was_measured_otherwise_is_made_again(finished, tmp_path):
    grid = read_grid(written(tmp_path))
    run_grid(grid)
    run, other = grid.runs
    table = pl.read_csv(run.folder / "sweep.csv")
    table.with_columns(updates=pl.lit(3)).write_csv(run.folder / "sweep.csv")
    assert [outcome.done for outcome in run_grid(grid)] == [("swept", "searched"), ()]
    (other.folder / "search.json").unlink()
    assert re.search(r"hopper +ppo +searched +swept", shown(status(grid)))
    assert [outcome.done for outcome in run_grid(grid)] == [(), ("searched",)]
    assert_same_results(finished, grid)
    (run.folder / "sweep.csv").write_text("nonsense")
    (other.folder / "search.json").write_text("{}")
    assert [outcome.done for outcome in run_grid(grid)] == [("swept", "searched"), ("searched",)]
    assert_same_results(finished, grid)
    for asked in ({"generations": 2}, {"generations": 1, "population": 8}):  # as many points, otherwise
        more = changed(grid, search={**grid.measurements["search"], **asked})
        assert [outcome.done for outcome in run_grid(more)] == [("searched",), ("searched",)]
    more = changed(more, sweep={**grid.measurements["sweep"], "episodes": 3})
    assert re.search(r"hopper +ppo +trained +trained", shown(status(more)))
    none = changed(more, search=None)
    assert [outcome.done for outcome in run_grid(none)] == [("swept",), ("swept",)]
    assert re.search(r"hopper +ppo +swept +swept", shown(status(none)))


def test_flights_are_made_after_all_else_and_again_if_they_are_of_others(tmp_path):
    path = tmp_path / "flights.toml"
    tiny = TINY.format(steps=64, out=tmp_path / "runs", options="").replace("hopper", "quadrotor-payload")
    tiny = tiny.replace('"mass", "torque"', '"payload"').replace("0.8, 1.0", "0.1").replace("0, 1", "0")
    path.write_text(f"{tiny}\n[tracking]\nepisodes = 2")
    grid = read_grid(path)
    folder = grid.runs[0].folder

    def done(grid):
        return [outcome.done for outcome in run_grid(grid)]

    assert done(grid) == [("trained", "swept", "searched", "flown")]
    assert "flown" in shown(status(grid))
    before = [(folder / name).read_bytes() for name in ("tracking.csv", "paths.csv")]
    assert done(grid) == [()]
    (folder / "paths.csv").write_text("nonsense")
    assert "searched" in shown(status(grid))
    assert done(grid) == [("flown",)]
    table = pl.read_csv(folder / "tracking.csv")
    table.with_columns(updates=pl.lit(1)).write_csv(folder / "tracking.csv")
    assert done(grid) == [("flown",)]
    assert [(folder / name).read_bytes() for name in ("tracking.csv", "paths.csv")] == before
    assert done(changed(grid, tracking=None)) == [()]
    assert done(changed(grid, tracking={"episodes": 2, "seed": 5}, search=None)) == [("flown",)]
    assert set(pl.read_csv(folder / "tracking.csv")["seed"]) == {5}


def test_the_status_runs_nothing_and_counts_where_seeds_are_many(tmp_path, capsys):
    path = written(tmp_path)
    path.write_text(path.read_text().replace("[0, 1]", str(list(range(12)))))
    main(["grid", str(path), "--status"])
    assert re.search(r"task +runs +12 seeds\s+─+\s+hopper +ppo +12 waiting", capsys.readouterr().out)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_damaged_run_is_unusable_and_says_why(finished, tmp_path):
    grid = read_grid(written(tmp_path))
    create(grid.runs[0].config(), grid.runs[0].folder)
    (grid.runs[0].folder / CHECKPOINT).write_bytes(b"nothing")
    assert "unusable" in shown(status(grid))
    outcomes = run_grid(grid)
    assert re.search("checkpoint .* is damaged", outcomes[0].failure or "")
    assert outcomes[1].failure is None
    assert (grid.runs[0].folder / CHECKPOINT).read_bytes() == b"nothing"


def test_a_run_that_another_process_trains_is_reported_and_left_alone(finished, tmp_path):
    grid = read_grid(written(tmp_path))
    create(grid.runs[0].config(), grid.runs[0].folder)
    with alone(grid.runs[0].folder):
        outcomes = run_grid(grid)
    assert "is being trained by another process" in (outcomes[0].failure or "")
    assert outcomes[1].failure is None
    assert "training 0%" in shown(status(grid))
    run_grid(grid)
    assert_same_results(finished, grid)


def test_runs_that_can_go_nowhere_are_refused_at_once(tmp_path, capsys):
    path = written(tmp_path)
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(SystemExit) as stopped:
        main(["grid", str(path)])
    assert stopped.value.code == 2
    assert "runs' for the runs can't be made" in capsys.readouterr().err
    with pytest.raises(InputError, match="0 updates between checkpoints"):
        run_grid(read_grid(path), save_every=0)


def test_a_terminal_gets_bars_and_a_line_for_each_run(tmp_path):
    path = written(tmp_path, updates=2)
    console = Console(force_terminal=True, width=120, file=(text := StringIO()))
    run_grid(read_grid(path), console=console)
    for words in (
        "all runs",
        "2/2",
        "ppo on hopper, seed 1: training",
        "1: trained, swept, searched in 0 min",
    ):
        assert words in text.getvalue()


@pytest.fixture
def cluster():
    """A Ray of two cores, with a token of its own: its address, and what others need to join it."""
    code = """
import ray, sys
ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
print(ray.get_runtime_context().gcs_address, flush=True)
sys.stdin.read()
ray.shutdown()
"""
    shared = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
    }
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    with started("-c", code, **shared, **quiet) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), shared
        process.communicate()


@contextmanager
def started(*arguments, **environment):
    """A Python process that can be talked to, and that does not outlive its test."""
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def test_on_ray_ctrl_c_saves_and_a_killed_worker_is_replaced_with_the_same_results(tmp_path, cluster):
    address, shared = cluster
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    here, there = (read_grid(written(tmp_path / name, updates=150)) for name in ("here", "there"))
    first, second = (run.folder for run in there.runs)

    command = ("-m", "rapo", "grid", there.path)
    with started(*command, "--ray", "--save-every", 10**6, **shared) as interrupted:
        soon(lambda: len(Run(first).metrics()) > 2)
        interrupted.send_signal(signal.SIGINT)
        said, complaint = interrupted.communicate()
    assert (interrupted.returncode, said) == (130, "")
    assert re.fullmatch(r"rapo: interrupted, 0 of 2 runs are done.* go on with rapo grid .*\n", complaint)
    saved = read_facts(first / CHECKPOINT)["counters"]["updates"]
    assert 2 < saved < 150

    with started(*command, "--address", address, "--save-every", 10, **shared) as robbed:
        soon(lambda: trainers(second) and len(Run(second).metrics()) > 20)
        (worker,) = trainers(second)
        assert worker != robbed.pid
        os.kill(worker, signal.SIGKILL)
        said, complaint = robbed.communicate()
    assert (robbed.returncode, complaint) == (0, "")
    run_grid(here)
    assert said.count("trained, swept, searched") == 2
    assert_same_results(here, there)


@pytest.mark.parametrize("answer", [None, b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_an_address_where_no_ray_is_is_refused_at_once(finished, capsys, monkeypatch, answer):
    monkeypatch.setattr("rapo.grids.ray_pool.PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        if answer is None:
            server.close()

        def reply():
            with suppress(OSError), server.accept()[0] as connection:
                connection.recv(100)
                connection.sendall(answer or b"")
                connection.recv(100)

        if answer is not None:
            threading.Thread(target=reply, daemon=True).start()
        with pytest.raises(SystemExit) as stopped:
            main(["grid", str(finished.path), "--address", address])
    assert stopped.value.code == 2
    assert f"Ray address '{address}' can't be reached: " in capsys.readouterr().err


@pytest.mark.parametrize("address", ["nowhere", "host:", ":1", "127.0.0.1:99999", "host:http"])
def test_what_is_no_address_is_refused(finished, address):
    with pytest.raises(InputError, match=f"Ray address '{address}' was given: allowed are HOST:PORT"):
        run_grid(finished, ray=True, address=address)


def test_without_ray_a_sentence_says_how_to_install_it(finished, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"install it with pip install 'rapo\[cluster\]'"):
        run_grid(finished, ray=True)
