"""Speed as a ratio to raw physics, measured by turns in one process."""

from collections.abc import Sequence


def typical(turns: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """The interquartile mean of every column: what a turn takes when nothing else gets in its way."""
    from scipy.stats import trim_mean  # imported here: it is slow to import and seldom needed

    return tuple(float(x) for x in trim_mean(turns, 0.25))
