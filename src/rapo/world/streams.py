"""Random streams that need no history: one seed and a few numbers give one stream.

A simulator that draws from the streams of its clock can be restored from seed and clock alone.
"""

from operator import index

import numpy as np
from numba import njit

from rapo.errors import InputError

STATES, DYNAMICS, ENSEMBLE, ACTING, DRAWING, SHUFFLING = range(6)
"""What a stream is for: initial states do not depend on whether dynamics are drawn too."""


def check_seed(seed: int) -> int:
    """`seed`, refused unless it is a whole number from 0 that fits in 63 bits."""
    try:
        if 0 <= index(seed) < 2**63:
            return index(seed)
    except TypeError:
        pass
    raise InputError(f"seed {seed!r} was given: allowed are whole numbers from 0 to 2^63 - 1")


def stream(seed: int, clock: int, purpose: int) -> np.random.Generator:
    """The beginning of one stream."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(clock, purpose)))


@njit(cache=True)
def hashed(key, counter):
    """A uniform number from 0 to below 1 that needs no generator, for a key and a counter, both uint64.

    The same pair gives the same number wherever and whenever it is asked for, so that what is random in an
    episode can be part of its state: a key and a clock. The mixing is that of SplitMix64.
    """
    mixed = (key + counter) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return np.float64(mixed >> np.uint64(11)) * 2.0**-53
