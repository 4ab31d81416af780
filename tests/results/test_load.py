"""Run folders into groups, with whatever they have."""

import json
import shutil

import pytest

from rapo.errors import InputError
from rapo.results.load import find_runs, load
from rapo.runs.sweep import SCHEMA


def groups(folder):
    return {
        task: {g.label: len(g.runs) for g in found} for task, found in load(find_runs([folder])).tasks.items()
    }


def rewrite(run, **changes):
    said = json.loads((run / "config.json").read_text())
    for name, value in changes.items():
        said[name] = said[name] | value if isinstance(value, dict) else value
    (run / "config.json").write_text(json.dumps(said))


def test_runs_are_found_in_the_folders_that_hold_them_each_once(runs):
    found = find_runs([runs, runs / "ppo-0", runs / "." / "rapo-0"])
    assert [run.name for run in found] == ["ppo-0", "ppo-1", "rapo-0"]


def test_groups_are_runs_that_differ_in_nothing_but_their_seed(bare):
    assert groups(bare) == {"hopper": {"rapo models=3": 1, "ppo": 2}, "walker2d": {"ppo": 1}}


def test_options_that_all_runs_share_are_said_once(bare):
    assert load(find_runs([bare])).shared == {"num_envs": 4, "horizon": 8, "epochs": 1, "minibatches": 2}


def test_runs_of_other_lengths_are_groups_of_their_own(runs):
    rewrite(runs / "ppo-1", steps=128)
    assert groups(runs)["hopper"] == {"rapo models=3": 1, "ppo steps=128": 1, "ppo steps=256": 1}


def test_runs_of_an_unknown_algorithm_and_task_are_welcome(runs):
    for name, caution in (("ppo-0", 1), ("ppo-1", 2)):
        rewrite(runs / name, algo="cautious", task="cart", options={"caution": caution})
    assert groups(runs)["cart"] == {"cautious": 1, "cautious caution=2": 1}


def test_a_second_run_of_the_same_seed_is_left_out_and_noted(runs):
    shutil.copytree(runs / "ppo-0", runs / "twin")
    loaded = load(find_runs([runs]))
    assert [len(g.runs) for g in loaded.tasks["hopper"]] == [1, 2]
    assert any("twin' was left out" in note for note in loaded.notes)


def test_an_unfinished_run_is_told_apart(runs):
    metrics = runs / "ppo-0" / "metrics.jsonl"
    lines = metrics.read_text().splitlines(keepends=True)
    metrics.write_text("".join(lines[:3]) + lines[3][:20])
    loaded = load(find_runs([runs]))
    ppo = loaded.tasks["hopper"][1]
    assert [(run.steps, run.finished) for run in ppo.runs] == [(96, False), (256, True)]
    assert [run.seed for run in ppo.finished] == [1]
    assert any("96 of 256" in note for note in loaded.notes)


def test_a_run_that_never_came_to_an_update_is_there_without_metrics(runs):
    (runs / "ppo-0" / "metrics.jsonl").unlink()
    (runs / "ppo-0" / "checkpoint.safetensors").unlink()
    ppo = load(find_runs([runs])).tasks["hopper"][1]
    assert [run.steps for run in ppo.runs] == [0, 256]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("metrics.jsonl", "{nonsense}\n"),
        ("metrics.jsonl", '{"update": 1}\n'),
        ("sweep.csv", "colour\nred\n"),
        ("sweep.csv", f"{','.join(SCHEMA)}\nlength,1.0,0,5.0,9,false,false,8,1000\n"),
        ("sweep.csv", f"{','.join(SCHEMA)}\nmass,,0,5.0,9,false,false,8,1000\n"),
        ("search.json", "[]"),
        ("search.json", "{"),
    ],
)
def test_a_damaged_piece_is_noted_and_the_rest_goes_on(runs, name, content):
    (runs / "ppo-0" / name).write_text(content)
    loaded = load(find_runs([runs]))
    assert any(name.split(".")[0] in note and "ppo-0" in note for note in loaded.notes)
    assert [len(g.runs) for g in loaded.tasks["hopper"]] == [1, 2]


def test_a_damaged_configuration_leaves_the_run_out(runs):
    (runs / "ppo-0" / "config.json").write_text("{}")
    loaded = load(find_runs([runs]))
    assert [len(g.runs) for g in loaded.tasks["hopper"]] == [1, 1]
    assert any("ppo-0' was left out" in note for note in loaded.notes)


def test_why_a_run_failed_is_noted(runs):
    (runs / "ppo-0" / "failure.txt").write_text("The disk was full.\n")
    assert any(note.endswith("ppo-0' failed: The disk was full.") for note in load(find_runs([runs])).notes)


def test_a_sweep_of_an_earlier_policy_is_noted(runs, evidence):
    table = (runs / "ppo-0" / "sweep.csv").read_text().replace(",8,1000", ",5,1000")
    (runs / "ppo-0" / "sweep.csv").write_text(table)
    assert any("swept after 5 updates" in note for note in load(find_runs([runs])).notes)


def test_folders_without_runs_are_refused(tmp_path):
    with pytest.raises(InputError, match="no runs were given"):
        find_runs([])
    with pytest.raises(InputError, match="holds no run"):
        find_runs([tmp_path])
    with pytest.raises(InputError, match="is not a folder"):
        find_runs([tmp_path / "nowhere"])
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="no run could be read"):
        load(find_runs([tmp_path]))
