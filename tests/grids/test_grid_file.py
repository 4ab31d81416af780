"""Grid files: what they expand to, and what is refused before anything runs."""

import re
from pathlib import Path

import pytest

from rapo.errors import InputError
from rapo.grids.runner import read_grid

GRIDS = Path(__file__).parents[2] / "grids"
SMALLEST = {"tasks": '["hopper"]', "algorithms": '["ppo"]', "seeds": "[0]", "steps": "100"}
BASELINES = {"ppo", "ppo-dr", "epopt", "rarl", "rapo"}
CURVES = {
    "hopper": BASELINES | {"rnac", "ewok"},
    "walker2d": BASELINES | {"rnac", "ewok"},
    "halfcheetah": BASELINES,
    "ant": BASELINES,
}


@pytest.fixture
def written(tmp_path):
    """Writes a grid file: the smallest one with some keys replaced, and more text after them."""

    def write(more="", **keys):
        path = tmp_path / "some.toml"
        lines = [f"{key} = {value}" for key, value in {**SMALLEST, **keys}.items() if value]
        path.write_text("\n".join([*lines, more]))
        return path

    return write


def test_a_grid_is_every_task_with_every_algorithm_and_every_seed(written):
    grid = read_grid(written(tasks='["hopper", "ant"]', algorithms='["ppo", "rapo"]', seeds="[0, 7]"))
    assert [str(run.folder.relative_to("runs/some")) for run in grid.runs] == [
        f"{task}/{algo}/seed-{seed}"
        for task in ("hopper", "ant")
        for algo in ("ppo", "rapo")
        for seed in (0, 7)
    ]
    assert grid.measurements == {"sweep": {}, "search": {}}
    config = grid.runs[-1].config()
    assert (config.task.name, config.algorithm.name, config.steps, config.seed) == ("ant", "rapo", 100, 7)


def test_a_list_makes_the_grid_wider_for_the_algorithms_that_have_the_option(written):
    more = "[options]\nmodels = [4, 8]\nnum_envs = 16\n"
    more += "[algorithm.rapo]\nepsilon = [0.1, '0:0.2:0.5']\nkappa = 0.3"
    grid = read_grid(written(more, algorithms='["ppo", "rapo-mean", "rapo"]', out="'there'"))
    assert [run.group for run in grid.runs] == [
        "ppo",
        "rapo-mean,models=4",
        "rapo-mean,models=8",
        "rapo,models=4,epsilon=0.1",
        "rapo,models=4,epsilon=0-0.2-0.5",
        "rapo,models=8,epsilon=0.1",
        "rapo,models=8,epsilon=0-0.2-0.5",
    ]
    assert grid.runs[-1].folder == Path("there/hopper/rapo,models=8,epsilon=0-0.2-0.5/seed-0")
    said = grid.runs[-1].config().describe()["options"]
    assert (said["models"], said["epsilon"], said["kappa"], said["num_envs"]) == (8, [0, 0.2, 0.5], 0.3, 16)
    assert "models" not in grid.runs[0].config().describe()["options"]


def test_what_is_said_of_one_algorithm_goes_before_what_is_said_of_all(written):
    more = "[options]\nmodels = [4, 8]\n[algorithm.rapo]\nmodels = 2"
    grid = read_grid(written(more, algorithms='["rapo", "rapo-mean"]'))
    assert [(run.group, run.options["models"]) for run in grid.runs] == [
        ("rapo", 2),
        ("rapo-mean,models=4", 4),
        ("rapo-mean,models=8", 8),
    ]


def test_values_that_are_lists_themselves_are_listed_in_a_list(written):
    grid = read_grid(written("[options]\nhidden = [[32, 32], '64,64', [64]]"))
    assert [run.config().settings.hidden for run in grid.runs] == [(32, 32), (64, 64), (64,)]
    assert [run.group for run in grid.runs] == ["ppo,hidden=32-32", "ppo,hidden=64-64", "ppo,hidden=64"]


def test_settings_of_sweep_and_search_are_read_and_the_search_can_be_left_out(written):
    grid = read_grid(
        written("[sweep]\nepisodes = 3\nscales = [1, 1.5]\nparameters = ['mass']", search="false")
    )
    assert grid.measurements == {"sweep": {"episodes": 3, "scales": [1, 1.5], "parameters": ["mass"]}}
    searched = read_grid(written("[search]\nseed = 5\npopulation = 4")).measurements
    assert searched == {"sweep": {}, "search": {"seed": 5, "population": 4}}


def test_flights_are_made_only_where_the_file_asks_for_them(written):
    quadrotor = '["quadrotor-payload"]'
    assert "tracking" not in read_grid(written(tasks=quadrotor)).measurements
    assert read_grid(written("[tracking]", tasks=quadrotor)).measurements["tracking"] == {}
    more = "[tracking]\nepisodes = 3\nseed = 5"
    found = read_grid(written(more, tasks=quadrotor)).measurements["tracking"]
    assert found == {"episodes": 3, "seed": 5}


@pytest.mark.parametrize(
    ("keys", "more", "sentence"),
    [
        ({"taks": "1"}, "", "unknown key 'taks': did you mean 'tasks'? allowed are tasks, algorithms"),
        ({"tasks": ""}, "", "key tasks is missing: needed are tasks, algorithms, seeds, steps"),
        ({"tasks": "[]"}, "", "key tasks is []: allowed is a list of names with at least one in it"),
        ({"tasks": "'hopper'"}, "", "key tasks is 'hopper': allowed is a list of names"),
        ({"tasks": "[1]"}, "", "key tasks has 1 in it: allowed are hopper, walker2d, halfcheetah, ant"),
        ({"tasks": "['hoper']"}, "", "unknown task 'hoper': did you mean 'hopper'?"),
        ({"tasks": "['ant', 'ant']"}, "", "key tasks has 'ant' twice: every value may be there once"),
        ({"algorithms": "['pppo']"}, "", "unknown name under algorithms 'pppo': did you mean 'ppo'?"),
        ({"algorithms": "[]"}, "", "key algorithms is []"),
        ({"seeds": "[]"}, "", "key seeds is []: allowed is a list of whole numbers"),
        ({"seeds": "3"}, "", "key seeds is 3: allowed is a list of whole numbers"),
        ({"seeds": "[0, 0]"}, "", "key seeds has 0 twice"),
        ({"seeds": "[-1]"}, "", "key seeds is -1: allowed are whole numbers from 0"),
        ({"seeds": "[true]"}, "", "key seeds is True: allowed are whole numbers"),
        ({"seeds": "[9223372036854775808]"}, "", "allowed are whole numbers from 0 to 2^63 - 1"),
        ({"steps": "0"}, "", "key steps is 0: allowed are whole numbers from 1"),
        ({"steps": "1e6"}, "", "key steps is 1000000.0: allowed are whole numbers from 1"),
        ({"out": "3"}, "", "key out is 3: allowed is the name of a folder"),
        ({"options": "3"}, "", "key options is 3: allowed is a table, [options]"),
        ({}, "[options]\nmodles = 3", "unknown option under [options] 'modles'"),
        ({}, "[options]\nmodels = 3", "unknown option under [options] 'models'"),
        ({}, "[options]\nnum_envs = []", "option num_envs is []: allowed is a list of values"),
        (
            {},
            "[options]\nnum_envs = [8, 8]",
            "option num_envs has 8 twice: every value may be there once; for",
        ),
        ({}, "[options]\nnum_envs = [8, '8']", "the runs 'ppo,num_envs=8' and 'ppo,num_envs=8' are the same"),
        ({}, "[options]\nhidden = ['64', [64]]", "the runs 'ppo,hidden=64' and 'ppo,hidden=64' are the same"),
        ({}, "[options]\nlearning_rate = [1, 1e0, 2]", "option learning_rate has 1.0 twice"),
        ({}, "[options]\nnum_envs = 0", "option num_envs is 0: allowed are whole numbers from 1"),
        ({}, "[options]\nnum_envs = [8, 'x']", "option num_envs is 'x': allowed are whole numbers from 1"),
        ({}, "[options]\nnum_envs = 2020-01-01", "allowed are whole numbers from 1"),
        ({}, "[options.num_envs]\nx = 1", "option num_envs is {'x': 1}: allowed are whole numbers from 1"),
        ({}, "[algorithm.rapo]\nmodels = 3", "under [algorithm] 'rapo': did you mean 'ppo'? allowed are ppo"),
        ({}, "[algorithm]\nppo = 3", "key algorithm.ppo is 3: allowed is a table, [algorithm.ppo]"),
        ({}, "[algorithm.ppo]\nmodels = 3", "unknown option under [algorithm.ppo] 'models'"),
        ({}, "[sweep]\nepisode = 3", "unknown key under [sweep] 'episode': did you mean 'episodes'?"),
        (
            {},
            "[sweep]\nepisodes = 0",
            "table [sweep]: option episodes is 0: allowed are whole numbers from 1",
        ),
        ({}, "[sweep]\nseed = -1", "table [sweep]: seed -1 was given: allowed"),
        ({}, "[sweep]\nparameters = []", "table [sweep]: option parameters is empty: give at least one"),
        ({}, "[sweep]\nparameters = ['mas']", "table [sweep]: unknown parameter 'mas': did you mean 'mass'?"),
        ({}, "[sweep]\nscales = []", "table [sweep]: option scales is empty: give at least one"),
        (
            {},
            "[sweep]\nscales = ['x']",
            "table [sweep]: scales 'x' were given: allowed are a number or FROM:TO",
        ),
        ({}, "[sweep]\nscales = [-1]", "table [sweep]: dynamics row 0 (mass -1"),
        ({"search": "true"}, "", "key search is True: allowed is a table, or false to leave it out"),
        (
            {},
            "[search]\ngeneration = 3",
            "unknown key under [search] 'generation': did you mean 'generations'?",
        ),
        (
            {},
            "[search]\npopulation = 3",
            "table [search]: option population is 3: allowed are whole numbers from 4",
        ),
        (
            {},
            "[search]\nepisodes = 1.5",
            "table [search]: option episodes is 1.5: allowed are whole numbers from 1",
        ),
        (
            {"tasks": "['quadrotor-payload', 'hopper']"},
            "[tracking]",
            "key tracking was given: task 'hopper' has no such measurement",
        ),
        ({"tracking": "true"}, "", "key tracking is True: allowed is a table, or false to leave it out"),
        ({}, "[tracking]\nepisode = 3", "unknown key under [tracking] 'episode': did you mean 'episodes'?"),
        (
            {},
            "[tracking]\nepisodes = 0",
            "table [tracking]: option episodes is 0: allowed are whole numbers from 1",
        ),
        (
            {},
            "[tracking]\nseed = -1",
            "table [tracking]: seed -1 was given: allowed are whole numbers from 0",
        ),
        ({"tasks": "["}, "", "is not a TOML file"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_in_a_sentence_that_names_it(written, keys, more, sentence):
    path = written(more, **keys)
    with pytest.raises(InputError) as refused:
        read_grid(path)
    assert str(refused.value).startswith(f"grid '{path}'")
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_or_is_not_text_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"none\.toml' can't be read: No such file"):
        read_grid(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not a TOML file"):
        read_grid(tmp_path / "bytes.toml")


def test_every_experiment_of_the_paper_has_a_file():
    grids = {path.stem: read_grid(path) for path in GRIDS.glob("*.toml")}
    assert {name: len(grid.runs) for name, grid in grids.items()} == {
        **{f"curves-{task}": 5 * len(algorithms) for task, algorithms in CURVES.items()},
        "ablations": 140,
        "paper-literal": 80,
        "ensemble-size": 80,
        "samples": 40,
        "baselines-tuning": 48,
        "baselines-tuning-more": 12,
        "demo-seeds": 20,
        "equal-time": 20,
        "small": 4,
        "quadrotor-payload": 15,
    }
    for name, grid in grids.items():
        assert grid.out == Path("runs") / name
        if name.startswith("baselines-tuning"):  # seeds that no result uses
            assert {run.seed for run in grid.runs} == {10, 11, 12}
        elif name not in ("small", "quadrotor-payload", "demo-seeds", "equal-time"):
            assert {run.seed for run in grid.runs} == set(range(5))
            assert {run.steps for run in grid.runs} == {3_000_000 if "curves" in name else 1_000_000}
            assert grid.measurements == {"sweep": {}, "search": {}}
    for task, algorithms in CURVES.items():
        assert {run.config().algorithm.name for run in grids[f"curves-{task}"].runs} == algorithms
    quadrotor = grids["quadrotor-payload"]
    assert {run.group for run in quadrotor.runs} == {"ppo", "ppo-dr", "epopt", "rarl", "rapo-paper"}
    assert quadrotor.measurements["tracking"] == {"episodes": 20}
    for name, varied in (("ensemble-size", "models"), ("samples", "samples")):
        said = [run.config().describe()["options"] for run in grids[name].runs]
        assert {options[varied] for options in said} == {4, 8, 16, 32}
        assert all(re.fullmatch(rf"rapo-(paper|mixture),{varied}=\d+", run.group) for run in grids[name].runs)
    assert {run.config().describe()["options"]["models"] for run in grids["samples"].runs} == {16}
