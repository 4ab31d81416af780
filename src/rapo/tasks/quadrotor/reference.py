"""Smooth paths to follow, with exact velocities and accelerations.

One formula covers them all: a row of `SIZE` numbers stands for

    p(t) = centre + S((t - move_start) / move_time) shift + W(t) amplitude sin(frequency (t - start) + phase)

with the step S(x) = 6 x^5 - 15 x^4 + 10 x^3 from 0 to 1 and the window W that rises by such a step for `rise`
seconds from `start` on and falls by one for `rise` seconds until `start + length`. A hover has neither shift
nor amplitude, a set-point only a shift, a Lissajous curve only amplitudes; a figure eight is one of those
with frequencies 1 : 2. Velocity and acceleration are continuous everywhere.
"""

import numpy as np

from rapo.arrays import Floats

CENTRE, SHIFT, AMPLITUDE, FREQUENCY, PHASE = range(0, 15, 3)
START, RISE, LENGTH, MOVE_START, MOVE_TIME = range(15, 20)
SIZE = 20
"""How many numbers describe a reference; metres, seconds, rad and rad/s."""


def hover(centre: Floats) -> Floats:
    """References `[n, SIZE]` that stay at `centre` `[n, 3]`."""
    rows = np.zeros((len(centre), SIZE))
    rows[:, CENTRE : CENTRE + 3] = centre
    rows[:, (RISE, LENGTH, MOVE_TIME)] = 1.0, 2.0, 1.0
    return rows


def set_point(centre: Floats, shift: Floats, start: Floats | float, time: Floats | float) -> Floats:
    """References `[n, SIZE]` that move by `shift` `[n, 3]` within `time` seconds from `start` on."""
    rows = hover(centre)
    rows[:, SHIFT : SHIFT + 3] = shift
    rows[:, MOVE_START], rows[:, MOVE_TIME] = start, time
    return rows


def lissajous(
    centre: Floats,
    amplitude: Floats,
    frequency: Floats,
    phase: Floats,
    start: Floats | float,
    rise: Floats | float,
    length: Floats | float,
) -> Floats:
    """References `[n, SIZE]` that leave a hover for a curve and come back; frequencies `[n, 3]` in Hz."""
    rows = hover(centre)
    rows[:, AMPLITUDE : AMPLITUDE + 3] = amplitude
    rows[:, FREQUENCY : FREQUENCY + 3] = 2 * np.pi * np.asarray(frequency)
    rows[:, PHASE : PHASE + 3] = phase
    rows[:, START], rows[:, RISE], rows[:, LENGTH] = start, rise, length
    return rows


def figure_eight(
    centre: Floats,
    size: Floats,
    frequency: Floats,
    start: Floats | float,
    rise: Floats | float,
    length: Floats | float,
) -> Floats:
    """References `[n, SIZE]` that fly eights of half-widths `size` `[n, 2]`, at `frequency` `[n]` in Hz."""
    n = len(centre)
    amplitude = np.column_stack((size, np.zeros(n)))
    frequencies = np.reshape(frequency, (-1, 1)) * np.array([1.0, 2.0, 0.0])
    return lissajous(centre, amplitude, frequencies, np.zeros((n, 3)), start, rise, length)
