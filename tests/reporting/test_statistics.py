"""Statistics against sums worked out by hand and against SciPy."""

import subprocess
import sys
from math import isnan, nan, sqrt

import numpy as np
import pytest
from scipy import stats as scipy_stats

from rapo.errors import InputError
from rapo.reporting.statistics import Interval, improvement, iqm, mean, pooled_mean, share


def rng():
    return np.random.default_rng(7)


def test_the_mean_has_students_interval_over_seeds():
    found = mean([2.0, 4.0, 9.0])
    # mean 5, variance (9 + 1 + 16) / 2 = 13, t of 2 degrees of freedom 4.30265
    assert found.value == 5
    assert found.high - found.value == pytest.approx(4.30265 * sqrt(13 / 3), rel=1e-5)
    low, high = scipy_stats.t.interval(0.95, 2, loc=5, scale=scipy_stats.sem([2.0, 4.0, 9.0]))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.runs == 3


def test_a_pooled_mean_counts_every_value_once_and_draws_anew_within_strata():
    found = pooled_mean([[1.0, 3.0], [5.0, nan], []], rng(), resamples=20_000)
    # the mean of 1, 3 and 5; 5 is drawn always, and 1 and 3 twice each out of two: 7, 9 or 11 over 3
    assert (found.value, found.runs) == (3, 3)
    assert (found.low, found.high) == (pytest.approx(7 / 3), pytest.approx(11 / 3))
    assert pooled_mean([[2.0], [4.0]], rng()).value == 3
    assert not pooled_mean([[2.0], [4.0]], rng()).known
    assert isnan(pooled_mean([[], [nan]], rng()).value)


def test_a_share_has_wilsons_interval():
    # z^2 = 3.8415: centre (0.2 + 0.19207) / 1.38415, half 1.96 / 1.38415 sqrt(0.2 * 0.8 / 10 + 3.8415 / 400)
    found = share(2, 10)
    assert (found.value, found.runs) == (0.2, 10)
    assert (found.low, found.high) == pytest.approx((0.0567, 0.5098), abs=5e-5)
    assert share(0, 20).low == 0
    assert share(0, 20).high == pytest.approx(1.96**2 / (20 + 1.96**2), abs=1e-4)
    assert isnan(share(0, 0).value)


def test_one_run_has_a_mean_and_no_interval():
    assert mean([3.0]).value == 3
    assert not mean([3.0]).known
    assert iqm([3.0], rng()).value == 3
    assert not iqm([3.0], rng()).known
    assert not improvement([3.0], [2.0], rng()).known


def test_what_is_missing_is_left_out_and_nothing_at_all_is_not_a_number():
    assert mean([1.0, nan, 3.0]).value == 2
    assert mean([1.0, nan, 3.0]).runs == 2
    assert isnan(mean([]).value)
    assert isnan(iqm([nan], rng()).value)
    assert isnan(improvement([1.0], [nan], rng()).value)


def test_the_interquartile_mean_drops_a_quarter_at_each_end():
    # of 1 2 3 4 5 6 7 100, two at each end go: (3 + 4 + 5 + 6) / 4
    matrix = np.array([[1.0, 100.0], [7.0, 2.0], [3.0, 6.0], [5.0, 4.0]])
    assert iqm(matrix, rng()).value == 4.5
    # of five runs one at each end goes, as int(5 / 4) = 1
    assert iqm([0.0, 1.0, 2.0, 6.0, 50.0], rng()).value == 3


def test_the_interval_of_the_interquartile_mean_agrees_with_scipys_percentile_bootstrap():
    scores = np.random.default_rng(3).normal(10, 2, 30)
    found = iqm(scores, rng(), resamples=20_000)
    theirs = scipy_stats.bootstrap(
        (scores,),
        lambda x, axis: scipy_stats.trim_mean(x, 0.25, axis=axis),
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(1),
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.06)


def test_the_bootstrap_draws_runs_within_each_task():
    # within a task all runs are equal: drawing within tasks changes nothing, drawing across them would
    matrix = np.tile([1.0, 5.0, 9.0], (4, 1))
    found = iqm(matrix, rng())
    assert found.low == found.value == found.high == pytest.approx(5)


def test_tasks_may_have_different_numbers_of_runs():
    matrix = np.array([[1.0, 5.0], [3.0, nan], [5.0, nan], [7.0, nan]])
    # 1 3 5 5 7 without one at each end
    assert iqm(matrix, rng()).value == pytest.approx(13 / 3)


def test_one_seed_of_the_generator_gives_one_interval():
    scores = np.random.default_rng(0).normal(size=(5, 2))
    assert iqm(scores, rng()) == iqm(scores, rng())
    assert iqm(scores, rng()) != iqm(scores, np.random.default_rng(8))


def test_the_probability_of_improvement_counts_pairs_and_halves_ties():
    # pairs of 1 3 against 1 2: 1=1, 1<2, 3>1, 3>2
    assert improvement([1.0, 3.0], [1.0, 2.0], rng()).value == (0.5 + 0 + 1 + 1) / 4
    assert improvement([1.0, 2.0], [1.0, 3.0], rng()).value == 1 - 2.5 / 4


def test_the_probability_of_improvement_is_mann_whitneys_u_averaged_over_tasks():
    generator = np.random.default_rng(5)
    x, y = generator.normal(0.5, 1, (6, 3)).round(1), generator.normal(0, 1, (8, 3)).round(1)
    each = [scipy_stats.mannwhitneyu(x[:, i], y[:, i]).statistic / (6 * 8) for i in range(3)]
    found = improvement(x, y, rng())
    assert found.value == pytest.approx(np.mean(each))
    assert 0 <= found.low < found.value < found.high <= 1


def test_scores_of_other_tasks_are_refused():
    with pytest.raises(InputError, match="scores of 2 and of 3 tasks"):
        improvement(np.zeros((4, 2)), np.zeros((4, 3)), rng())
    with pytest.raises(InputError, match=r"shape \(1, 1, 1\)"):
        iqm(np.zeros((1, 1, 1)), rng())


def test_intervals_overlap_if_they_have_a_value_in_common():
    assert Interval(1, 0, 2).overlaps(Interval(3, 2, 4))
    assert not Interval(1, 0, 2).overlaps(Interval(3, 2.1, 4))
    assert not Interval(1).overlaps(Interval(1))


def test_statistics_import_no_plotting():
    code = (
        "import sys, rapo.reporting.comparison, rapo.reporting.summary; "
        "print({'matplotlib', 'plotly'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout == "set()\n"
