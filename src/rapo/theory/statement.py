"""A statement of the paper, what checking it found, and the pieces that checks share.

A check computes: it draws instances from the generator it is given, measures, and lets the measurements
decide the verdict. What we expect stands beside it, so that a change that breaks a statement is noticed,
and so is a counterexample that stops being one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike


class Verdict(StrEnum):
    """What became of a statement."""

    HOLDS = "holds"
    CORRECTED = "holds with correction"
    FAILS = "does not hold as written"

    @classmethod
    def of(cls, as_written: bool, corrected: bool = False) -> "Verdict":
        """From whether a statement held as it is written, and whether a corrected one did."""
        return cls.HOLDS if as_written else cls.CORRECTED if corrected else cls.FAILS


@dataclass(frozen=True)
class Curve:
    """Points of a figure with two logarithmic axes."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    reference: bool = False
    """Whether it is a prediction, drawn as a line without points."""


@dataclass(frozen=True)
class Rate:
    """How fast something shrinks or grows: a straight line where both axes are logarithmic."""

    title: str
    x: str
    """Name of the x axis."""
    y: str
    """Name of the y axis."""
    curves: tuple[Curve, ...]
    slope: float
    """As measured on the first curve."""
    predicted: float
    """The slope that the statement claims."""


@dataclass(frozen=True)
class Finding:
    """What checking a statement found."""

    measured: str
    """What was measured, with figures."""
    predicted: str
    """The bound or the prediction it is held against, with figures."""
    verdict: Verdict
    instances: int
    """How many rows, MDPs or draws were looked at."""
    correction: str = ""
    """What is true instead; of a statement that holds, a note on it."""
    counterexample: str = ""
    """The smallest case in which the statement as written is wrong, with its numbers."""
    rates: tuple[Rate, ...] = ()


@dataclass(frozen=True)
class Statement:
    """Something that the paper says, and how to check it."""

    name: str
    """Short, with hyphens: for the command line and for file names."""
    title: str
    where: str
    """The part of the paper it stands in."""
    claim: str
    """The statement in a sentence of ours."""
    expected: Verdict
    check: Callable[[np.random.Generator], Finding]


@dataclass(frozen=True)
class Part:
    """Statements that belong together."""

    name: str
    """Of the module that they are in, or the first of several."""
    short: str
    """A word or two, for a row of links."""
    title: str
    statements: tuple[Statement, ...]


def slope(x: ArrayLike, y: ArrayLike) -> float:
    """Of the line through points `[n]` on two logarithmic axes, by least squares."""
    return float(np.polyfit(np.log(np.asarray(x, float)), np.log(np.asarray(y, float)), 1)[0])


def curve(label: str, x: ArrayLike, y: ArrayLike, *, reference: bool = False) -> Curve:
    """A curve from arrays `[n]`."""
    return Curve(label, tuple(np.asarray(x, float).tolist()), tuple(np.asarray(y, float).tolist()), reference)
