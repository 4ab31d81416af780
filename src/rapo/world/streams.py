"""Random streams without a history: a seed, a clock and a purpose give one stream.

A simulator that draws from the streams of its clock can be restored from seed and clock alone.
"""

import numpy as np

STATES, DYNAMICS, ENSEMBLE, ACTING, DRAWING, SHUFFLING, CORNERS, PROBING, STEERING = range(9)
"""What a stream is for. Each purpose has its own, so that drawing dynamics does not change initial states."""


def stream(seed: int, clock: int, purpose: int) -> np.random.Generator:
    """A generator at the beginning of the stream of this seed, clock and purpose."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(clock, purpose)))
