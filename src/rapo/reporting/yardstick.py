"""What share of its worth a policy keeps: the one place where returns become shares.

A share counts from `zero` to the nominal return. Zero is a return of 0 where any group of the task returns
more than that under the nominal dynamics. Where all returns are below, as in tasks of reaching and tracking
that pay for errors, it is what random actions return.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np

CLOSE = 1e-9
"""Scales that differ by less are the same."""
KEPT = 0.8
"""The share of its worth that a policy has to keep to be called trustworthy at a setting."""


@dataclass(frozen=True)
class Yardstick:
    """What returns of one task are measured by."""

    zero: float | None
    """The return that a share of 0 stands for; None if it is not known."""
    one: float | None
    """The best group's mean nominal return, which is 1 in normalised returns; None if that is no worth."""
    from_random: bool = False
    """Whether zero is what random actions return, or would be if it were known."""

    def normalised(self, returned: float) -> float | None:
        """A return as a share of the way from zero to one; None where there is no such way."""
        if self.zero is None or self.one is None or not isfinite(returned):
            return None
        return (returned - self.zero) / (self.one - self.zero)

    def kept(
        self, scales: Sequence[float], returns: Sequence[float], nominal: float
    ) -> tuple[float, float] | None:
        """How far from the nominal scale a curve keeps `KEPT` of its own worth, without a gap.

        None where the nominal setting was not swept or is worth nothing.
        """
        order = np.argsort(scales)
        xs, ys = np.asarray(scales, float)[order], np.asarray(returns, float)[order]
        at = np.flatnonzero(np.abs(xs - nominal) <= CLOSE)
        if self.zero is None or not len(at) or not ys[at[0]] > self.zero:
            return None
        enough = ys - self.zero >= KEPT * (ys[at[0]] - self.zero)
        low = high = int(at[0])
        while low > 0 and enough[low - 1]:
            low -= 1
        while high < len(xs) - 1 and enough[high + 1]:
            high += 1
        return float(xs[low]), float(xs[high])


def yardstick(nominal_means: Iterable[float], random: float = nan) -> Yardstick:
    """What the groups of a task with these mean nominal returns are measured by.

    random: what random actions return, NaN if that was not measured.
    """
    best = max((x for x in nominal_means if isfinite(x)), default=nan)
    if best > 0:
        return Yardstick(0.0, best)
    if not isfinite(random):
        return Yardstick(None, None, True)
    return Yardstick(random, best if best > random else None, True)
