"""What a sweep says, on tables small enough to add up by hand."""

from math import isnan, nan

import numpy as np
import polars as pl
import pytest

from rapo.reporting.equal_cost import compare, returned, spent
from rapo.reporting.sweep_scores import Range, once, scores, settings
from rapo.reporting.yardstick import Yardstick, yardstick

RANGES = {"mass": Range(1.0, (0.8, 1.2)), "torque": Range(1.0, (0.9, 1.1))}


def table(*rows):
    return pl.DataFrame(rows, schema=["parameter", "scale", "return", "diverged"], orient="row")


SWEEP = table(
    ("mass", 0.5, 10.0, False),
    ("mass", 0.5, 30.0, False),
    ("mass", 1.0, 100.0, False),
    ("mass", 1.2, 70.0, False),
    ("mass", 1.2, 9e9, True),
    ("torque", 1.0, 100.0, False),
    ("torque", 1.2, 40.0, False),
    ("torque", 1.5, nan, True),
)


def test_episodes_that_diverged_are_counted_and_not_averaged_in():
    rows = settings(SWEEP, RANGES).rows(named=True)
    by_setting = {(r["parameter"], r["scale"]): r for r in rows}
    assert by_setting["mass", 1.2]["return"] == 70
    assert by_setting["mass", 1.2]["diverged"] == 1
    assert by_setting["torque", 1.5]["return"] is None
    assert by_setting["mass", 0.5]["return"] == 20
    assert scores(settings(SWEEP, RANGES)).diverged == 2


def test_a_return_that_is_no_number_counts_as_diverged():
    rows = settings(table(("mass", 1.0, nan, False), ("mass", 1.0, 4.0, False)), RANGES).rows(named=True)
    assert (rows[0]["return"], rows[0]["diverged"]) == (4, 1)


def test_inside_is_the_training_range_of_each_parameter_and_the_nominal_setting_counts_once():
    found = scores(settings(SWEEP, RANGES))
    assert found.nominal == 100
    assert found.inside == (100 + 70) / 2  # 1.2 is inside for mass
    assert found.outside == (20 + 40) / 2  # and outside for torque
    assert (found.worst, found.worst_at) == (20, ("mass", 0.5))
    assert found.episodes == 7
    assert len(once(settings(SWEEP, RANGES))) == 5


def test_scales_that_were_counted_up_in_floats_are_found_inside():
    sweep = table(*(("mass", float(s), 1.0, False) for s in np.arange(0.5, 1.51, 0.1)))
    assert settings(sweep, RANGES).filter("trained")["scale"].to_list() == [0.8, 0.9, 1.0, 1.1, 1.2]
    assert settings(sweep, RANGES)["nominal"].sum() == 1


def test_a_sweep_of_nothing_but_divergence_has_no_scores():
    found = scores(settings(table(("mass", 1.0, 5.0, True)), RANGES))
    assert isnan(found.nominal)
    assert isnan(found.worst)
    assert (found.worst_at, found.episodes, found.diverged) == (None, 1, 1)


def test_a_return_is_kept_from_the_nominal_scale_outward_without_a_gap():
    scales, kept = [0.6, 0.8, 1.0, 1.2, 1.4], Yardstick(0.0, 100.0).kept
    assert kept(scales, [90, 70, 100, 85, 80], 1.0) == (1.0, 1.4)
    assert kept(scales, [80, 80, 100, 79, 100], 1.0) == (0.6, 1.0)
    assert kept(scales[::-1], [100, 79, 100, 80, 80], 1.0) == (0.6, 1.0)
    assert kept(scales, [1, 1, -5, 1, 1], 1.0) is None
    assert kept([0.5], [3], 1.0) is None


def test_returns_below_zero_are_kept_as_a_share_of_the_lead_over_random_actions():
    scales, kept = [0.6, 0.8, 1.0, 1.2, 1.4], yardstick([-20.0], random=-120.0).kept
    assert kept(scales, [-60, -40, -20, -39, -41], 1.0) == (0.8, 1.2)  # 80% of 100 above -120 is -40
    assert kept(scales, [-90, -90, -120, -90, -90], 1.0) is None
    assert yardstick([-20.0]).kept(scales, [-20] * 5, 1.0) is None


def test_normalised_returns_are_shares_of_the_way_to_the_best_nominal_mean():
    assert yardstick([50.0, 200.0, nan], random=10.0).normalised(100.0) == 0.5
    assert yardstick([-30.0, -20.0], random=-120.0).normalised(-70.0) == 0.5
    assert yardstick([-3.0, 0.0]).normalised(-1.0) is None
    assert yardstick([-3.0], random=-1.0).normalised(-2.0) is None
    assert yardstick([]).normalised(100.0) is None
    assert yardstick([200.0]).normalised(nan) is None


def metrics(returns, seconds, steps=10):
    n = len(returns)
    return pl.DataFrame(
        {
            "steps": [steps * (i + 1) for i in range(n)],
            "return": returns,
            "seconds_physics": [seconds / 2] * n,
            "seconds_branch": [seconds / 4] * n,
            "seconds_learning": [seconds / 4] * n,
        }
    )


def test_seconds_add_up_over_physics_branches_and_learning():
    assert spent(metrics([1.0, 2.0, 3.0], 2.0), "seconds").tolist() == [2, 4, 6]
    assert spent(metrics([1.0, 2.0, 3.0], 2.0), "steps").tolist() == [10, 20, 30]


def test_the_return_at_a_cost_is_that_of_the_last_tenth_of_updates_before_it():
    run = metrics([float(i) for i in range(40)], 1.0)
    assert returned(run, "steps", 400) == (36 + 37 + 38 + 39) / 4
    assert returned(run, "steps", 205) == (18 + 19) / 2
    assert returned(run, "seconds", 5) == 4
    assert isnan(returned(run, "steps", 5))
    assert returned(metrics([1.0, None], 1.0), "steps", 10) == 1
    assert isnan(returned(metrics([1.0, None], 1.0), "steps", 20))


def test_algorithms_are_compared_at_the_smallest_total_among_them():
    slow, fast = metrics([1.0, 2.0, 3.0, 4.0], 5.0), metrics([10.0, 20.0, 30.0, 40.0, 50.0], 1.0)
    by_time = compare({"slow": [slow], "fast": [fast]}, "seconds")
    by_steps = compare({"slow": [slow], "fast": [fast]}, "steps")
    assert by_time is not None
    assert by_steps is not None
    assert by_time.at == 5
    assert {k: v.value for k, v in by_time.returned.items()} == {"slow": 1, "fast": 50}
    assert by_steps.at == 40
    assert {k: v.value for k, v in by_steps.returned.items()} == {"slow": 4, "fast": 40}
    assert compare({"slow": [slow], "none": [slow.head(0)]}, "steps") is None
    silent = metrics([None, None], 1.0)
    assert compare({"a": [silent], "b": [silent]}, "steps") is None


@pytest.mark.parametrize("cost", ["steps", "seconds"])
def test_seeds_of_a_group_are_averaged_with_an_interval(cost):
    runs = [metrics([x] * 10, 1.0) for x in (1.0, 2.0, 3.0)]
    found = compare({"a": runs, "b": runs[:1]}, cost)
    assert found is not None
    assert found.returned["a"].value == 2
    assert found.returned["a"].known
    assert not found.returned["b"].known
