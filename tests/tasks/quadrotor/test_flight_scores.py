"""Errors, crashes and typical paths of flights, with the arithmetic in the open."""

from math import isnan, sqrt

import numpy as np
import polars as pl
import pytest

from rapo.errors import InputError
from rapo.reporting.groups import find_runs, load
from rapo.reporting.statistics import Interval
from rapo.tasks.quadrotor.flight_scores import (
    PATHS_SCHEMA,
    SCHEMA,
    beside,
    conditions,
    drawn,
    flights,
    measure,
    paths_file,
    read_flight_paths,
    read_flights,
    summaries,
    typical,
    typical_paths,
    words,
    write_flights,
)
from rapo.tasks.quadrotor.flights import AXES

WILSON = 1.959963984540054**2  # the square of the normal quantile of 97.5%


@pytest.fixture
def flown(episodes):
    """Makes the table of several runs, by algorithm and seed."""

    def make(**runs):
        rows = [
            table.select(pl.lit(algo).alias("algo"), pl.lit(seed, pl.Int64).alias("run_seed"), "*")
            for algo, tables in runs.items()
            for seed, table in enumerate(tables)
        ]
        return pl.concat(rows).with_columns(steps=pl.lit(100, pl.Int64)).select(list(SCHEMA))

    return make


def path(algo, seed, points, episode=0, setting="ood"):
    """Points of a flight `[n, 3]`, one for every fifth step, along a reference at (0, 0, 1)."""
    rows = [
        (algo, seed, setting, episode, 5 * i, *map(float, p), 0.0, 0.0, 1.0) for i, p in enumerate(points)
    ]
    return pl.DataFrame(rows, schema=PATHS_SCHEMA, orient="row")


def rng():
    return np.random.default_rng(3)


def test_errors_are_of_the_first_ten_trials_that_succeeded_of_each_run(flown, episodes):
    first = episodes([4, 99, 6, *[8] * 7, *[50] * 10], crashed=[1])
    second = episodes([10, 77, 88, *[10] * 7, *[50] * 10], crashed=[2], diverged=[1])
    found = measure("rapo", flown(rapo=[first, second]), rng())
    # (4 + 6 + 7 * 8) + 8 * 10 over 9 + 8 flights
    assert found.rmse["ood"].value == pytest.approx(146 / 17)
    assert found.rmse["ood"].runs == 17
    assert found.rmse["ood"].low < 146 / 17 < found.rmse["ood"].high
    assert found.runs == 2
    assert isnan(found.rmse["id"].value)


def test_flights_are_drawn_anew_within_each_run(flown, episodes):
    table = flown(rapo=[episodes([5] * 20), episodes([9] * 20)])
    found = measure("rapo", table, rng()).rmse["ood"]
    assert (found.value, found.low, found.high) == (7, 7, 7)


def test_crashes_are_counted_in_all_flights_but_those_that_diverged(flown, episodes):
    first = episodes([5] * 20, crashed=[0, 15, 19])
    second = episodes([5] * 20, diverged=[1, 2])
    found = measure("rapo", flown(rapo=[first, second]), rng())
    n, share = 38, 3 / 38
    centre = (share + WILSON / (2 * n)) / (1 + WILSON / n)
    half = sqrt(WILSON) / (1 + WILSON / n) * sqrt(share * (1 - share) / n + WILSON / (4 * n * n))
    ends = found.crashes["ood"]
    assert (ends.value, ends.low, ends.high) == pytest.approx(
        (100 * share, 100 * (centre - half), 100 * (centre + half))
    )
    assert found.diverged == 2


def test_both_settings_stand_beside_each_other(flown, episodes):
    both = pl.concat((episodes([3] * 10, setting="id"), episodes([6] * 10, crashed=[0])))
    found = measure("rapo", flown(rapo=[both]), rng())
    assert (found.rmse["id"].value, found.rmse["ood"].value) == (3, 6)
    assert (found.crashes["id"].value, found.crashes["ood"].value) == pytest.approx((0, 10))


def test_where_no_flight_succeeded_there_is_no_error_and_none_is_shown(flown, episodes):
    found = measure("ppo", flown(ppo=[episodes([40] * 5, crashed=range(5))]), rng())
    assert isnan(found.rmse["ood"].value)
    assert words(found.rmse["ood"], 1) == ("-", "")
    assert words(found.crashes["ood"], 0, "%") == ("100%", "57% to 100%")
    nothing = measure("ppo", flown(ppo=[episodes([40] * 2, diverged=range(2))]), rng())
    assert words(nothing.crashes["ood"], 0, "%") == ("-", "")


def test_an_estimate_without_an_interval_is_written_alone():
    assert words(Interval(7.649, 7.21, 8.08, 9), 1) == ("7.6", "7.2 to 8.1")
    assert words(Interval(7.6), 1) == ("7.6", "")


def test_a_row_does_not_depend_on_the_others(flown, episodes):
    noisy = [episodes(np.random.default_rng(i).uniform(3, 9, 20)) for i in range(3)]
    alone, (*_, last) = summaries(flown(rapo=noisy)), summaries(flown(ppo=noisy[:2], rapo=noisy))
    assert alone[0].rmse["ood"] == last.rmse["ood"]
    assert last.rmse["ood"].known
    assert [one.label for one in summaries(flown(ppo=noisy, epopt=noisy, rapo=noisy))] == [
        "ppo",
        "epopt",
        "rapo",
    ]


def test_the_typical_run_has_the_median_error_and_runs_that_crashed_throughout_are_last(flown, episodes):
    fallen = episodes([1] * 5, crashed=range(5))
    by_error = [episodes([error] * 5) for error in (9, 3, 6, 4)]
    assert typical(flown(rapo=by_error[:3], ppo=by_error, epopt=[fallen, *by_error[:2]], rarl=[fallen])) == {
        "rapo": 2,
        "ppo": 3,
        "epopt": 1,
        "rarl": 0,
    }


def test_a_flight_is_drawn_from_its_path_and_marked_where_it_crashed(flown, episodes):
    table = flown(rapo=[episodes([5] * 3), episodes([7] * 3)], ppo=[episodes([20] * 3, crashed=[0])])
    points = np.array([[0, 0, 1], [0.1, 0, 1], [0.2, 0.1, 0.9]])
    paths = pl.concat((path("rapo", 0, points), path("rapo", 1, 2 * points), path("ppo", 0, points[:2])))
    others = (path("rapo", 0, 3 * points, episode=1), path("rapo", 0, 3 * points, setting="id"))
    rapo, ppo = drawn(table, pl.concat((*others, paths)))
    assert (rapo.label, rapo.crashed, ppo.label, ppo.crashed) == ("rapo", False, "ppo", True)
    np.testing.assert_allclose(rapo.time, [0, 0.05, 0.1])
    np.testing.assert_array_equal(rapo.payload, points)
    np.testing.assert_array_equal(rapo.reference, np.tile([0, 0, 1], (3, 1)))
    assert len(ppo.time) == 2
    assert drawn(table, paths.clear()) == []


def test_rapo_stands_beside_ppo_dr_where_both_are_there(flown, episodes):
    def shown(*labels):
        table = flown(**{label: [episodes([5])] for label in labels})
        paths = pl.concat([path(label, 0, np.zeros((2, 3))) for label in labels])
        return [flight.label for flight in beside(drawn(table, paths))]

    assert shown("ppo", "ppo-dr", "rapo models=3", "rapo") == ["rapo models=3", "ppo-dr"]
    assert shown("ppo", "rapo", "rapo-mean") == ["ppo", "rapo", "rapo-mean"]


def test_run_folders_become_a_table_and_paths_and_both_survive_writing(runs, evidence, tmp_path):
    evidence["flights"](runs / "rapo-0", 5.0)
    evidence["flights"](runs / "ppo-0", 8.0, crashed=[0])
    loaded = load(find_runs([runs]))
    named = [(group.label, group.runs) for group in loaded.tasks["hopper"]]
    table, notes = flights(named), []
    paths = typical_paths(named, table, notes)
    assert table.select("algo", "run_seed", "steps").unique(maintain_order=True).rows() == [
        ("rapo models=3", 0, 256),
        ("ppo", 0, 256),
    ]
    assert (len(table), notes) == (2 * 2 * 20, [])
    assert conditions([table]) == {(1000, 20)}
    assert set(paths["algo"]) == {"rapo models=3", "ppo"}
    write_flights(tmp_path / "table.csv", table, paths)
    assert read_flights(tmp_path / "table.csv").equals(table)
    assert read_flight_paths(tmp_path / "table.csv").equals(paths)
    assert paths_file(tmp_path / "table.csv").name == "table-paths.csv"
    again = drawn(read_flights(tmp_path / "table.csv"), read_flight_paths(tmp_path / "table.csv"))
    for one, other in zip(drawn(table, paths), again, strict=True):
        np.testing.assert_array_equal(one.payload, other.payload)
        assert one.payload.shape[1] == len(AXES)


def test_runs_without_flights_are_an_empty_table(runs):
    (groups,) = load(find_runs([runs])).tasks.values()
    table = flights([(group.label, group.runs) for group in groups])
    assert (len(table), table.columns) == (0, list(SCHEMA))
    assert summaries(table) == []


@pytest.mark.parametrize("content", ["", "nonsense\n", "algo,run_seed\nrapo,0\n"])
def test_a_damaged_table_is_named_with_what_writes_it(tmp_path, content):
    (tmp_path / "table.csv").write_text(content)
    with pytest.raises(
        InputError, match=r"table\.csv' is damaged: write it again with rapo eval tracking RUN"
    ):
        read_flights(tmp_path / "table.csv")
    with pytest.raises(InputError, match=r"table-paths\.csv' is not there or empty: write it again"):
        read_flight_paths(tmp_path / "table.csv")
