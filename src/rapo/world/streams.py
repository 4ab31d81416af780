"""Random streams without a history: a seed, a clock and a purpose give one stream.

A simulator that draws from the streams of its clock can be restored from seed and clock alone.
"""

from operator import index

import numpy as np

from rapo.errors import InputError

STATES, DYNAMICS, ENSEMBLE, ACTING, DRAWING, SHUFFLING = range(6)
"""What a stream is for. Each purpose has its own, so that drawing dynamics does not change initial states."""


def check_seed(seed: int) -> int:
    """`seed`, refused unless it is a whole number from 0 that fits in 63 bits."""
    try:
        if 0 <= index(seed) < 2**63:
            return index(seed)
    except TypeError:
        pass
    raise InputError(f"seed {seed!r} was given: allowed are whole numbers from 0 to 2^63 - 1")


def stream(seed: int, clock: int, purpose: int) -> np.random.Generator:
    """A generator at the beginning of the stream of this seed, clock and purpose."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(clock, purpose)))
