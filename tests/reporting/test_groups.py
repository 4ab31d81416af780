"""Run folders into groups, with whatever they have."""

import json
import shutil

import polars as pl
import pytest

from rapo.errors import InputError
from rapo.evaluation.sweep import SCHEMA
from rapo.reporting.groups import find_runs, load
from rapo.tasks.quadrotor.flights import SCHEMA as TRACKING


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
        ("sweep.csv", f"{','.join(SCHEMA)}\nmass,inf,0,5.0,9,false,false,8,1000\n"),
        ("search.json", "[]"),
        ("search.json", "{"),
        ("search.json", '{"updates": 1' + "0" * 400 + "}"),
        ("tracking.csv", "nonsense"),
        ("tracking.csv", f"{','.join(TRACKING)}\nodd,0,5.0,9.0,false,false,9,0.5,1.0,8,1000\n"),
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


def test_evidence_of_an_earlier_policy_is_noted_and_left_out(runs, evidence):
    for run in ("ppo-0", "ppo-1"):
        evidence["flights"](runs / run)
    flights = runs / "ppo-0" / "tracking.csv"
    flights.write_text(flights.read_text().replace(",8,1000", ",5,1000"))
    table = (runs / "ppo-0" / "sweep.csv").read_text().replace(",8,1000", ",5,1000")
    (runs / "ppo-0" / "sweep.csv").write_text(table)
    found = (runs / "ppo-0" / "search.json").read_text().replace('"updates": 8', '"updates": 5')
    (runs / "ppo-0" / "search.json").write_text(found)
    loaded = load(find_runs([runs]))
    for word in ("swept", "searched", "flown"):
        assert any(f"{word} after 5 updates and has learned from 8" in note for note in loaded.notes)
    stale, fresh = loaded.tasks["hopper"][1].runs
    assert stale.settings is None
    assert not {"sweep", "search", "tracking"} & stale.results.keys()
    assert fresh.settings is not None
    assert {"sweep", "search", "tracking"} <= fresh.results.keys()


def test_a_run_swept_at_other_settings_is_not_scored_beside_the_rest(runs):
    path = runs / "ppo-0" / "sweep.csv"
    table = pl.read_csv(path)
    table.filter(pl.col("scale") >= 1).write_csv(path)
    loaded = load(find_runs([runs]))
    odd, usual = loaded.tasks["hopper"][1].runs
    assert odd.settings is not None
    assert odd.compared is None
    assert usual.compared is not None
    assert any("ppo-0' was not swept at all the 20 settings" in note for note in loaded.notes)
    extra = table.filter(pl.col("scale") == 1).with_columns(scale=pl.lit(2.0))
    pl.concat((table, extra)).write_csv(path)
    more = load(find_runs([runs])).tasks["hopper"][1].runs[0]
    assert more.compared is not None
    assert more.settings is not None
    assert (len(more.compared), len(more.settings)) == (20, 24)


def test_sweeps_from_other_initial_states_are_noted(runs):
    path = runs / "ppo-0" / "sweep.csv"
    path.write_text(path.read_text().replace(",8,1000", ",8,7"))
    assert any(
        "with different seeds or numbers of episodes" in note for note in load(find_runs([runs])).notes
    )


def test_flights_under_other_dynamics_are_noted(runs, evidence):
    for run in ("ppo-0", "rapo-0"):
        evidence["flights"](runs / run)
    said = "hopper were flown with different seeds or numbers of episodes"
    assert not any(said in note for note in load(find_runs([runs])).notes)
    path = runs / "ppo-0" / "tracking.csv"
    path.write_text(path.read_text().replace(",8,1000", ",8,7"))
    assert any(said in note for note in load(find_runs([runs])).notes)


def test_runs_that_differ_in_a_little_or_in_their_dynamics_are_no_group(runs):
    for run, rate in (("ppo-0", 1e-7), ("ppo-1", 2e-7)):
        rewrite(runs / run, options={"learning_rate": rate}, seed=0)
    assert groups(runs)["hopper"] == {
        "ppo learning_rate=1e-07": 1,
        "ppo learning_rate=2e-07": 1,
        "rapo models=3": 1,
    }
    said = json.loads((runs / "ppo-0" / "config.json").read_text())
    wider = {"mass": said["dynamics"]["mass"] | {"train": [0.5, 1.5]}}
    rewrite(runs / "ppo-1", options={"learning_rate": 1e-7}, seed=1, dynamics=wider)
    assert groups(runs)["hopper"] == {
        "ppo learning_rate=1e-07": 1,
        "ppo learning_rate=1e-07 (2)": 1,
        "rapo models=3": 1,
    }


def test_an_option_that_a_run_does_not_know_yet_has_its_default(runs):
    said = json.loads((runs / "ppo-0" / "config.json").read_text())
    del said["options"]["heatmap_every"]
    (runs / "ppo-0" / "config.json").write_text(json.dumps(said))
    assert groups(runs)["hopper"]["ppo"] == 2


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
