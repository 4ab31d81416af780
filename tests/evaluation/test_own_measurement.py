"""A user's own measurement, one file: `rapo eval`, `rapo grid`, its status and `rapo report` know it."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from rapo.cli import main
from rapo.errors import InputError
from rapo.evaluation.measurement import Measurement, all_measurements, built_in, measurements_of
from rapo.evaluation.sweep import SWEEP
from rapo.grids.grid_file import read_grid
from rapo.grids.runner import run_grid, status
from rapo.tasks.hopper import Hopper
from rapo.world.find_task import find_task

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "endurance.py"
GRID = """
tasks = ["{task}"]
algorithms = ["ppo"]
seeds = [0]
steps = 64
out = "{out}"
search = false
[options]
num_envs = 4
horizon = 8
epochs = 1
minibatches = 2
[sweep]
episodes = 1
parameters = ["mass"]
scales = [1.0, 1.4]
{more}
"""


def own_grid(folder, more):
    path = folder / "own.toml"
    path.write_text(GRID.format(task=f"{folder / 'robot.py'}:LoadedHopper", out=folder / "runs", more=more))
    return path


def test_a_measurement_of_ones_own_is_made_by_a_grid_shown_by_its_status_and_reported(tmp_path, capsys):
    shutil.copy(EXAMPLE, tmp_path / "robot.py")
    grid = read_grid(own_grid(tmp_path, "[endurance]\nepisodes = 3"))
    (outcome,) = run_grid(grid)
    assert outcome.failure is None
    assert outcome.done == ("trained", "swept", "loaded")
    folder = outcome.run.folder
    assert folder == tmp_path / "runs" / "loaded-hopper" / "ppo" / "seed-0"
    table = pl.read_csv(folder / "endurance.csv")
    assert (len(table), set(table["load"]), set(table["updates"])) == (3, {1.4}, {2})
    assert [outcome.done for outcome in run_grid(grid)] == [()]
    assert "loaded" in list(status(grid).columns[2].cells)

    other = read_grid(own_grid(tmp_path, "[endurance]\nepisodes = 3\nload = 1.1"))
    assert [outcome.done for outcome in run_grid(other)] == [("loaded",)]
    without = read_grid(own_grid(tmp_path, "").with_name("own.toml"))
    assert without.measurements == {"sweep": grid.measurements["sweep"], "endurance": {}}

    task = f"{tmp_path / 'robot.py'}:LoadedHopper"
    main(["eval", "endurance", str(folder), "--task", task, "--episodes", "2"])
    assert pl.read_csv(folder / "endurance.csv")["load"].to_list() == [1.4, 1.4]
    main(["report", str(tmp_path / "runs"), "--task", task, "--out", str(tmp_path / "report")])
    page = (tmp_path / "report" / "index.html").read_text()
    assert "How often the loaded robot fell." in page
    shown = pl.read_csv(tmp_path / "report" / "tables" / "loaded-hopper-endurance.csv")
    fell = pl.read_csv(folder / "endurance.csv")["fell"].mean()
    assert shown.select("algorithm", "seed", "fell").rows() == [("ppo", 0, fell)]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            "[endurance]\nload = 0",
            "table [endurance]: option load is 0: allowed are numbers above 0, up to 1e+09",
        ),
        ("[endurance]\nlode = 2", "unknown key under [endurance] 'lode': did you mean 'load'?"),
        ("[endurence]", "unknown key 'endurence': did you mean 'endurance'?"),
        ("[heatmap]", "key heatmap was given: it is recorded while a run learns, and can't be made"),
    ],
)
def test_settings_of_ones_own_measurement_are_checked_before_anything_runs(tmp_path, more, says):
    shutil.copy(EXAMPLE, tmp_path / "robot.py")
    with pytest.raises(InputError) as refused:
        read_grid(own_grid(tmp_path, more))
    assert says in str(refused.value)


def test_without_its_task_a_measurement_is_unknown(capsys):
    assert "endurance" not in all_measurements()
    with pytest.raises(SystemExit):
        main(["eval", "endurance", "some-run"])
    assert capsys.readouterr().err.startswith("rapo: unknown measurement 'endurance'")


def test_every_task_has_the_built_in_measurements_first_and_no_name_twice():
    class Twice(Hopper):
        name = "twice"
        measurements = (SWEEP,)

    assert [m.name for m in built_in()] == ["sweep", "search", "nominal", "random", "heatmap", "stills"]
    assert list(measurements_of(find_task("quadrotor-payload"))) == [
        "sweep",
        "search",
        "nominal",
        "random",
        "heatmap",
        "stills",
        "tracking",
    ]
    with pytest.raises(InputError, match="measurement 'sweep' of task 'twice' is there twice"):
        measurements_of(Twice)


def test_a_measurement_whose_settings_have_no_defaults_is_refused():
    @dataclass(frozen=True)
    class Needy:
        episodes: int

    with pytest.raises(InputError, match="every field must have a default"):
        Measurement(
            name="needy",
            done="done",
            summary="",
            settings=Needy,
            files={},
            measure=None,
            read=lambda folder: None,
        )


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nowhere.py:Arm", "file 'nowhere.py' does not exist"),
        ("no_such_module:Arm", "module 'no_such_module' can't be imported"),
        ("rapo.tasks.hopper:Hoper", "'rapo.tasks.hopper' has no task 'Hoper'"),
        ("rapo.tasks.hopper:ASSETS", "'rapo.tasks.hopper' has no task 'ASSETS'"),
    ],
)
def test_a_task_that_cant_be_found_is_refused_in_a_sentence(name, says):
    with pytest.raises(InputError) as refused:
        find_task(name)
    assert says in str(refused.value)


def test_a_file_that_cant_be_loaded_is_named_with_the_reason(tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0")
    with pytest.raises(InputError, match=r"broken.py' can't be loaded: ZeroDivisionError: division by zero"):
        find_task(f"{tmp_path / 'broken.py'}:Arm")


def test_a_run_of_ones_own_task_says_how_to_name_it_and_resumes_with_it(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLE, tmp_path / "robot.py")
    small = ["--set", "num_envs=4", "horizon=8", "epochs=1", "minibatches=2"]
    main(["train", "robot.py:LoadedHopper", "--algo", "ppo", "--steps", "64", "--out", "run", *small])
    capsys.readouterr()
    for command in (["resume", "run"], ["sweep", "run"]):
        with pytest.raises(SystemExit):
            main(command)
        said = capsys.readouterr().err
        assert "task 'loaded-hopper' is not built in: name it with --task robot.py:LoadedHopper" in said
        assert said.count("\n") == 1
    main(["resume", "run", "--task", "robot.py:LoadedHopper"])
    main(["eval", "nominal", "run", "--task", "robot.py:LoadedHopper", "--episodes", "1"])
    assert len(pl.read_csv("run/nominal.csv")) == 1
