"""Statistics over seeds: means, interquartile means, probability of improvement, each with a 95% interval;
and over the episodes of runs: pooled means and shares.

Scores are matrices `[runs, tasks]`, higher is better, NaN where a task had fewer runs than others. Bootstraps
are stratified: runs are drawn anew within each task, as the tasks themselves are given. The definitions are
those that rliable made common; the random numbers come from the generator that is passed in.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binomtest, t, trim_mean

from rapo.arrays import Floats
from rapo.errors import InputError

LEVEL = 0.95
RESAMPLES = 2000


@dataclass(frozen=True)
class Interval:
    """An estimate and the ends of its 95% interval; NaN where the runs are too few to say."""

    value: float
    low: float = nan
    high: float = nan
    runs: int = 0
    """How many values the estimate is made from."""

    @property
    def known(self) -> bool:
        """Whether the interval is known."""
        return isfinite(self.low) and isfinite(self.high)

    def overlaps(self, other: "Interval") -> bool:
        """Whether two intervals have a value in common."""
        return self.low <= other.high and other.low <= self.high


def mean(values: ArrayLike) -> Interval:
    """The mean of `values` `[n]`, one for each run, with Student's t interval; NaN values are left out."""
    found = _present(values)
    n = len(found)
    if not n:
        return Interval(nan)
    centre = float(found.mean())
    if n == 1:
        return Interval(centre, runs=1)
    half = float(t.ppf((1 + LEVEL) / 2, n - 1) * found.std(ddof=1) / np.sqrt(n))
    return Interval(centre, centre - half, centre + half, n)


def pooled_mean(
    strata: Iterable[ArrayLike], rng: np.random.Generator, resamples: int = RESAMPLES
) -> Interval:
    """The mean of all values of several strata `[n]`, such as the episodes of each run.

    The bootstrap draws values anew within each stratum: it tells how sure the mean of these runs is, not how
    others would do. NaN values are left out, and strata without any value.
    """
    present = [found for values in strata if len(found := _present(values))]
    return _bootstrap([present], lambda drawn: np.concatenate(drawn[0], axis=1).mean(axis=1), rng, resamples)


def share(count: int, of: int) -> Interval:
    """The share that `count` is `of` several, with Wilson's score interval; NaN of none."""
    if not of:
        return Interval(nan)
    ends = binomtest(count, of).proportion_ci(LEVEL, method="wilson")
    return Interval(count / of, float(ends.low), float(ends.high), of)


def iqm(scores: ArrayLike, rng: np.random.Generator, resamples: int = RESAMPLES) -> Interval:
    """The interquartile mean of scores `[runs, tasks]`: without the lowest and the highest quarter."""
    columns = _columns(scores)
    return _bootstrap([columns], lambda drawn: _interquartile(drawn[0]), rng, resamples)


def improvement(
    better: ArrayLike, worse: ArrayLike, rng: np.random.Generator, resamples: int = RESAMPLES
) -> Interval:
    """The probability that a run of `better` `[runs, tasks]` beats one of `worse`, averaged over tasks.

    In each task it is P(X > Y) + P(X = Y) / 2 over all pairs of runs: Mann and Whitney's U over their number.
    """
    both = [_columns(better), _columns(worse)]
    if len(both[0]) != len(both[1]):
        raise InputError(
            f"scores of {len(both[0])} and of {len(both[1])} tasks were given: both must be of the same tasks"
        )
    return _bootstrap(both, lambda drawn: _superiority(*drawn), rng, resamples)


def _interquartile(columns: list[Floats]) -> Floats:
    """`[R]` for columns of shape `[R, runs]`."""
    return np.atleast_1d(trim_mean(np.concatenate(columns, axis=1), 0.25, axis=1))


def _superiority(better: list[Floats], worse: list[Floats]) -> Floats:
    """`[R]` for columns of shape `[R, runs]`."""
    each = []
    for x, y in zip(better, worse, strict=True):
        x, y = x[:, :, None], y[:, None, :]
        each.append(((x > y) + 0.5 * (x == y)).mean(axis=(1, 2)))
    return np.mean(each, axis=0)


def _bootstrap(
    samples: list[list[Floats]],
    statistic: Callable[[list[Any]], Floats],
    rng: np.random.Generator,
    resamples: int,
) -> Interval:
    """The statistic of samples, lists of strata `[runs]`, and percentiles of it over resampled runs."""
    sizes = [len(stratum) for sample in samples for stratum in sample]
    if not sizes or min(sizes) == 0:
        return Interval(nan)
    value = float(statistic([[stratum[None] for stratum in sample] for sample in samples])[0])
    runs = min(sum(len(stratum) for stratum in sample) for sample in samples)
    if max(sizes) == 1:
        return Interval(value, runs=runs)
    drawn = [
        [stratum[rng.integers(len(stratum), size=(resamples, len(stratum)))] for stratum in sample]
        for sample in samples
    ]
    low, high = np.percentile(statistic(drawn), [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
    return Interval(value, float(low), float(high), runs)


def _columns(scores: ArrayLike) -> list[Floats]:
    """The scores of each task, without the gaps; a plain list of scores is one task."""
    matrix = np.asarray(scores, np.float64)
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2:
        raise InputError(f"scores of shape {matrix.shape} were given: allowed is (runs, tasks)")
    return [_present(column) for column in matrix.T]


def _present(values: ArrayLike) -> Floats:
    array = np.asarray(values, np.float64)
    return array[~np.isnan(array)]
