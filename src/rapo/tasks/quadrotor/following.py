"""Where references are at given times, compiled: their positions, velocities and accelerations."""

from typing import NamedTuple

import numpy as np
from numba import njit

from rapo.arrays import Floats
from rapo.tasks.quadrotor.reference import (
    AMPLITUDE,
    CENTRE,
    FREQUENCY,
    LENGTH,
    MOVE_START,
    MOVE_TIME,
    PHASE,
    RISE,
    SHIFT,
    START,
)


class Points(NamedTuple):
    """Where references are at some times, `[n, times, 3]` each."""

    position: Floats
    velocity: Floats
    acceleration: Floats


def at(rows: Floats, times: Floats) -> Points:
    """Where references `[n, SIZE]` are at `times` `[n, m]`."""
    found = np.empty((len(rows), np.shape(times)[1], 3, 3))
    _fill(np.ascontiguousarray(rows, np.float64), np.ascontiguousarray(times, np.float64), found)
    return Points(found[:, :, 0], found[:, :, 1], found[:, :, 2])


@njit(cache=True, error_model="numpy")
def point(row: Floats, time: float, found: Floats) -> None:
    """Position, velocity and acceleration of one reference `[SIZE]` at one time, into `found` `[3, 3]`."""
    rise, length, move_time = row[RISE], row[LENGTH], row[MOVE_TIME]
    since = time - row[START]
    up, up1, up2 = _step(since / rise)
    down, down1, down2 = _step((length - since) / rise)
    w = up * down
    w1 = (up1 * down - up * down1) / rise
    w2 = (up2 * down - 2 * up1 * down1 + up * down2) / (rise * rise)
    s, s1, s2 = _step((time - row[MOVE_START]) / move_time)
    for axis in range(3):
        shift, amplitude, omega = row[SHIFT + axis], row[AMPLITUDE + axis], row[FREQUENCY + axis]
        found[0, axis] = row[CENTRE + axis] + shift * s
        found[1, axis] = shift * s1 / move_time
        found[2, axis] = shift * s2 / (move_time * move_time)
        if amplitude != 0.0:
            angle = omega * since + row[PHASE + axis]
            sine, cosine = np.sin(angle), np.cos(angle)
            found[0, axis] += amplitude * w * sine
            found[1, axis] += amplitude * (w1 * sine + w * omega * cosine)
            found[2, axis] += amplitude * ((w2 - w * omega * omega) * sine + 2 * w1 * omega * cosine)


@njit(cache=True, error_model="numpy")
def course(row: Floats, time: float, gap: float, found: Floats) -> None:
    """Position and velocity of one reference `[SIZE]` at m times, `gap` apart, into `found` `[m, 2, 3]`."""
    rise, length, move_time = row[RISE], row[LENGTH], row[MOVE_TIME]
    since, moved = time - row[START], time - row[MOVE_START]
    for k in range(len(found)):
        s, s1, _ = _step((moved + k * gap) / move_time)
        for axis in range(3):
            found[k, 0, axis] = row[CENTRE + axis] + row[SHIFT + axis] * s
            found[k, 1, axis] = row[SHIFT + axis] * s1 / move_time
    for axis in range(3):
        amplitude, omega = row[AMPLITUDE + axis], row[FREQUENCY + axis]
        if amplitude != 0.0:
            angle = omega * since + row[PHASE + axis]
            sine, cosine, sine_gap, cosine_gap = (
                np.sin(angle),
                np.cos(angle),
                np.sin(omega * gap),
                np.cos(omega * gap),
            )
            for k in range(len(found)):
                up, up1, _ = _step((since + k * gap) / rise)
                down, down1, _ = _step((length - since - k * gap) / rise)
                w, w1 = up * down, (up1 * down - up * down1) / rise
                found[k, 0, axis] += amplitude * w * sine
                found[k, 1, axis] += amplitude * (w1 * sine + w * omega * cosine)
                sine, cosine = sine * cosine_gap + cosine * sine_gap, cosine * cosine_gap - sine * sine_gap


@njit(cache=True, error_model="numpy")
def _step(x: float) -> tuple[float, float, float]:
    """S and its first two derivatives."""
    x = min(max(x, 0.0), 1.0)
    rest = x * (1 - x)
    return x * x * x * (10 - x * (15 - 6 * x)), 30 * rest * rest, 60 * rest * (1 - 2 * x)


@njit(cache=True, error_model="numpy")
def _fill(rows: Floats, times: Floats, found: Floats) -> None:
    for i in range(times.shape[0]):
        for j in range(times.shape[1]):
            point(rows[i], times[i, j], found[i, j])
