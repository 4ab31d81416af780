"""What random actions return, as a measurement and beside a sweep."""

import numpy as np
import pytest

import rapo
from rapo.cli import main
from rapo.errors import InputError
from rapo.evaluation.measurement import measure
from rapo.evaluation.random_actions import RANDOM, RandomSettings, read_random
from rapo.world.streams import ACTING, stream


def test_a_row_is_an_episode_of_uniform_actions_under_the_nominal_dynamics(run):
    table = measure(RANDOM, run, RandomSettings(episodes=2, seed=5))
    task, rng = rapo.make_task("hopper"), stream(5, 0, ACTING)
    low, high = task.action_range

    def act(observations):
        return rng.uniform(low, high, (len(observations), task.action_size))

    alone = rapo.evaluate(task, act, task.dynamics.nominal(), episodes=2, seed=5)
    np.testing.assert_array_equal(table["return"].to_numpy(), alone.returned[0])
    before = (run.folder / "random.csv").read_bytes()
    measure(RANDOM, run, RandomSettings(episodes=2, seed=5), threads=2)
    assert (run.folder / "random.csv").read_bytes() == before


def test_a_sweep_measures_it_too_and_only_once(run):
    rapo.sweep(run, parameters=("mass",), scales=(1.0,), episodes=1)
    table = read_random(run.folder)
    assert table is not None
    assert (len(table), table["seed"][0]) == (1, 1000)
    (run.folder / "random.csv").write_text(table.with_columns(length=7).write_csv())
    rapo.sweep(run, parameters=("mass",), scales=(1.1,), episodes=1)
    kept = read_random(run.folder)
    assert kept is not None
    assert kept["length"].to_list() == [7]


def test_a_damaged_table_is_named_and_a_sweep_makes_it_again(run):
    (run.folder / "random.csv").write_text("episode,return\n0,nan\n")
    with pytest.raises(InputError, match=f"play them again with rapo eval random {run.folder}"):
        read_random(run.folder)
    rapo.sweep(run, parameters=("mass",), scales=(1.0,), episodes=1)
    assert read_random(run.folder) is not None


def test_the_command_prints_what_random_actions_return(run, capsys):
    main(["eval", "random", str(run.folder), "--episodes", "2"])
    printed = capsys.readouterr().out
    for word in ("Random actions", "hopper", "return", "deviation"):
        assert word in printed
