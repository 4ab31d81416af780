"""The sweep: which settings, from which states, and what the table says."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import rapo
from rapo.cli import main
from rapo.errors import InputError
from rapo.evaluation.evaluate import evaluate
from rapo.evaluation.sweep import FILE, SweepSettings, read_sweep, settings, sweep
from rapo.runs.run import CHECKPOINT
from rapo.tasks.hopper import Hopper

SWEPT = ["task", "algorithm", "seed", "steps", "options", "parameter", "scale", "return", "episodes"]
TINY: dict[str, Any] = {"num_envs": 4, "horizon": 8, "minibatches": 2, "epochs": 1}


def known(run):
    """The table of a run that was swept."""
    table = read_sweep(run.folder)
    assert table is not None
    return table


def test_every_parameter_goes_through_its_test_range_and_the_nominal_value(run):
    task = rapo.make_task("hopper")
    pairs = settings(task.dynamics)
    assert [name for name, _ in pairs[::11]] == ["mass", "inertia", "friction", "torque"]
    np.testing.assert_allclose([x for _, x in pairs[:11]], np.arange(5, 16) / 10, atol=1e-12)
    odd = task.dynamics.with_ranges("mass", test=(0.55, 1.5))
    assert 1.0 in [x for name, x in settings(odd, SweepSettings(parameters=("mass",))) if name == "mass"]


def test_a_sweep_is_a_tidy_table_of_every_episode(run):
    table = sweep(run, episodes=3)
    assert len(table) == 4 * 11 * 3
    assert table.equals(known(run))
    assert table["updates"].unique().to_list() == [4]
    assert set(table["episode"]) == {0, 1, 2}
    assert (table["length"] >= 1).all()
    assert not table["diverged"].any()
    nominal = table.filter(pl.col("scale") == 1).sort("parameter", maintain_order=True)["return"].to_numpy()
    np.testing.assert_array_equal(nominal.reshape(4, 3), np.tile(nominal[:3], (4, 1)))


def test_sweeping_twice_gives_the_same_bytes_whatever_the_number_of_threads(run):
    sweep(run, episodes=2, threads=1)
    first = (run.folder / FILE).read_bytes()
    sweep(run, episodes=2, threads=2)
    assert (run.folder / FILE).read_bytes() == first


def test_a_row_is_the_episode_that_evaluation_plays_alone(run):
    table = sweep(run, parameters=["torque"], scales=[0.7, 1.3], episodes=3)
    task = rapo.make_task("hopper")
    alone = evaluate(task, run.policy(), task.dynamics.sweep("torque", [1.3]), episodes=3, seed=1000)
    rows = table.filter(pl.col("scale") == 1.3)
    np.testing.assert_array_equal(rows["return"], alone.returned[0])
    np.testing.assert_array_equal(rows["length"], alone.length[0])
    np.testing.assert_array_equal(rows["terminated"], alone.terminated[0])


def test_every_setting_starts_from_the_same_states_each_time():
    task = rapo.make_task("hopper")
    first = []
    for mass in (0.5, 1.5):
        seen = []

        def watching(observation, seen=seen):
            seen.append(observation.copy())
            return np.zeros((len(observation), task.action_size))

        evaluate(task, watching, task.dynamics.sweep("mass", [1.0, mass]), episodes=4, seed=7)
        np.testing.assert_array_equal(seen[0][:4], seen[0][4:])
        first.append(seen[0])
    np.testing.assert_array_equal(first[0], first[1])
    assert len(np.unique(first[0][:4], axis=0)) == 4


def test_an_episode_that_ended_is_no_longer_stepped():
    task = rapo.make_task("hopper")
    steps = []

    def policy(observation):
        steps.append(len(observation))
        return np.ones((len(observation), task.action_size))

    outcome = evaluate(task, policy, task.dynamics.sweep("mass", [0.5, 1.0, 1.5]), episodes=2, seed=0)
    assert len(steps) == outcome.length.max()
    assert sum(steps) == outcome.length.sum()
    assert outcome.length.min() < outcome.length.max()


def test_one_parameter_alone_leaves_what_is_known_of_the_others(run):
    whole = sweep(run, episodes=2)
    part = sweep(run, episodes=2, parameters=["friction"], scales=[0.55, 1.0])
    assert part["parameter"].unique(maintain_order=True).to_list() == [
        "mass",
        "inertia",
        "friction",
        "torque",
    ]
    others = pl.col("parameter") != "friction"
    assert part.filter(others).equals(whole.filter(others))
    known = whole.filter(~others)["scale"].unique().to_list()
    assert part.filter(~others)["scale"].unique().sort().to_list() == sorted([*known, 0.55])
    with pytest.raises(InputError, match="would replace"):
        sweep(run, episodes=2, seed=5, parameters=["mass"], scales=[1.0])
    alone = sweep(run, episodes=2, seed=5, parameters=["mass"], scales=[1.0], replace=True)
    assert alone["parameter"].unique().to_list() == ["mass"]


class SometimesBroken(Hopper):
    """A Hopper whose reward is no number where it began a little higher than the model says."""

    name = "sometimes-broken"

    def score(self, before, after, data, actions):
        reward, terminated = super().score(before, after, data, actions)
        return np.where(data.qpos[:, 1] > 1.2505, np.nan, reward), terminated


def test_diverged_episodes_are_in_the_table_and_in_no_mean(tmp_path):
    task = SometimesBroken()
    run = rapo.train(task, "ppo", steps=32, out=tmp_path / "run", quiet=True, **TINY)
    table = sweep(run, parameters=["mass"], scales=[1.0], episodes=12)
    diverged = table["diverged"]
    assert 0 < diverged.sum() < 12
    outcome = evaluate(task, run.policy(), task.dynamics.nominal(), episodes=12, seed=1000)
    assert outcome.means[0] == pytest.approx(table.filter(~diverged)["return"].mean())


def test_a_run_without_checkpoint_is_refused(run):
    (run.folder / CHECKPOINT).unlink()
    with pytest.raises(InputError, match="has no checkpoint yet: go on with rapo resume"):
        sweep(run)
    assert not (run.folder / FILE).exists()


@pytest.mark.parametrize("damage", ["nonsense", "parameter,scale\nmass,1\n", ""])
def test_a_damaged_table_is_named_and_swept_anew(run, damage):
    (run.folder / FILE).write_text(damage)
    with pytest.raises(InputError, match=r"sweep\.csv' is damaged: sweep the run again"):
        read_sweep(run.folder)
    assert sweep(run, parameters=["mass"], scales=[1.0], episodes=1).equals(known(run))


def test_the_command_prints_and_writes(run, capsys):
    main(
        [
            "sweep",
            str(run.folder),
            "--episodes",
            "2",
            "--parameters",
            "mass",
            "--scales",
            "0.8:1.2:0.2",
            "0.5",
        ]
    )
    assert known(run)["scale"].unique().sort().to_list() == [0.5, 0.8, 1.0, 1.2]
    printed = capsys.readouterr().out
    for word in ("nominal", "OOD", "worst", "mass"):
        assert word in printed


def test_missing_measures_only_what_is_not_there_yet(run, tmp_path):
    asked = ["sweep", str(run.folder), "--episodes", "2", "--parameters", "mass", "--missing"]
    main([*asked, "--csv", str(tmp_path / "first.csv")])
    table = known(run)
    doctored = table.with_columns(pl.col("return") + 1.0)  # what is read shows it, what is made anew does not
    (run.folder / FILE).write_text(doctored.write_csv())
    main([*asked, "--csv", str(tmp_path / "read.csv")])
    first, read = (pl.read_csv(tmp_path / name) for name in ("first.csv", "read.csv"))
    assert np.allclose(read["return"], first["return"] + 1.0)
    main([*asked, "--scales", "0.5", "0.75"])
    assert known(run).filter(pl.col("scale") == 0.75).height == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--parameters", "masss"], "unknown parameter 'masss': did you mean 'mass'?"),
        (["--scales", "0.5:1.5"], "scales '0.5:1.5' were given: allowed are a number or FROM:TO:STEP"),
        (["--scales", "1:0:0.1"], "FROM must not be above TO"),
        (["--scales", "nan"], "allowed are a number"),
        (["--scales", "-1"], "it must stay above 0"),
        (["--episodes", "0"], "option episodes is 0: allowed are whole numbers from 1"),
        (["--seed", "-1"], "seed -1 was given"),
    ],
)
def test_bad_input_gets_one_sentence_and_touches_nothing(run, capsys, arguments, says):
    with pytest.raises(SystemExit) as exit_:
        main(["sweep", str(run.folder), *arguments])
    assert exit_.value.code == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not (run.folder / FILE).exists()
