"""What a statement of the paper is, what a check of it finds, and the figures of rates in a finding.

A check draws instances from the generator that it is given, measures them and decides the verdict by what it
measured. Each statement also carries the verdict that is expected, so that a change of the code that breaks
a statement, or a counterexample to one, is noticed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike


class Verdict(StrEnum):
    """Whether a statement holds."""

    HOLDS = "holds"
    CORRECTED = "holds with correction"
    FAILS = "does not hold as written"

    @classmethod
    def of(cls, as_written: bool, corrected: bool = False) -> "Verdict":
        """The verdict if a statement held as it is written, or else if the corrected one did."""
        return cls.HOLDS if as_written else cls.CORRECTED if corrected else cls.FAILS


@dataclass(frozen=True)
class Curve:
    """Points of a figure with two logarithmic axes."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    reference: bool = False
    """Whether the curve is a prediction, drawn as a line without points."""


@dataclass(frozen=True)
class Rate:
    """A figure of how fast a quantity shrinks or grows: on logarithmic axes a power law is a line."""

    title: str
    x: str
    """Name of the x axis."""
    y: str
    """Name of the y axis."""
    curves: tuple[Curve, ...]
    slope: float
    """Measured on the first curve."""
    predicted: float
    """The slope that the statement claims."""


@dataclass(frozen=True)
class Finding:
    """What a check of a statement found."""

    measured: str
    """What was measured, with figures."""
    predicted: str
    """The bound or the prediction that the measurement is compared with, with figures."""
    verdict: Verdict
    instances: int
    """How many rows, MDPs or draws were looked at."""
    correction: str = ""
    """What is true instead; for a statement that holds, a note on it."""
    counterexample: str = ""
    """The smallest case in which the statement as written is wrong, with its numbers."""
    rates: tuple[Rate, ...] = ()


@dataclass(frozen=True)
class Statement:
    """A claim of the paper, and the function that checks it."""

    name: str
    """Short, with hyphens: for the command line and for file names."""
    title: str
    where: str
    """The section of the paper that has the statement."""
    claim: str
    """The statement in one sentence."""
    expected: Verdict
    check: Callable[[np.random.Generator], Finding]


@dataclass(frozen=True)
class Part:
    """Statements that belong together."""

    name: str
    """The name of the statements' module, or of the first if there are several."""
    short: str
    """The title in a word or two, for the page's row of links."""
    title: str
    statements: tuple[Statement, ...]


def slope(x: ArrayLike, y: ArrayLike) -> float:
    """The slope of the least-squares line through points `[n]` on two logarithmic axes."""
    return float(np.polyfit(np.log(np.asarray(x, float)), np.log(np.asarray(y, float)), 1)[0])


def curve(label: str, x: ArrayLike, y: ArrayLike, *, reference: bool = False) -> Curve:
    """A curve from arrays `[n]`."""
    return Curve(label, tuple(np.asarray(x, float).tolist()), tuple(np.asarray(y, float).tolist()), reference)
