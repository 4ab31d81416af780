"""Rates: numbers measured at growing sizes, their slope on logarithmic axes, and the predicted line."""

import numpy as np
from numpy.typing import ArrayLike

from rapo.theory.statement import Curve, Rate, curve, slope


def rate(
    title: str, axes: tuple[str, str], x: ArrayLike, y: ArrayLike, predicted: float, *more: Curve
) -> Rate:
    """Points `[n]` whose slope is measured, and a line of the predicted slope through the last of them."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    line = curve(f"slope {power(predicted)}", x, y[-1] * (x / x[-1]) ** predicted, reference=True)
    return Rate(title, *axes, (curve("measured", x, y), line, *more), slope(x, y), predicted)


def agree(rates: tuple[Rate, ...], tolerance: float) -> bool:
    """Whether all slopes are as predicted."""
    return all(abs(rate.slope - rate.predicted) <= tolerance for rate in rates)


def power(exponent: float) -> str:
    """An exponent as it is written: -1/2, 1, -1/4."""
    sign, size = "-" if exponent < 0 else "", abs(exponent)
    return sign + next((f"1/{n}" for n in (2, 4) if size == 1 / n), f"{size:g}")
