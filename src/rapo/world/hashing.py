"""Random numbers without a generator, in compiled code: a key and a counter give one number."""

import numpy as np
from numba import njit

compiled = njit(cache=True, error_model="numpy", nogil=True)
"""Numba's decorator for functions over rows of episodes; they let other threads run meanwhile."""


@njit(cache=True)
def hashed(key: np.uint64, counter: np.uint64) -> float:
    """A uniform number from 0 to below 1 that needs no generator, for a key and a counter, both uint64.

    The same pair gives the same number wherever and whenever it is asked for, so that what is random in an
    episode can be part of its state: a key and a clock. The mixing is that of SplitMix64.
    """
    mixed = (key + counter) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return np.float64(mixed >> np.uint64(11)) * 2.0**-53
