"""Random streams that need no history: one seed and a number give one stream.

A simulator that draws from stream number t at its t-th tick can be snapshotted and restored with that
number alone.
"""

import numpy as np


class Streams:
    """Independent random streams of one seed, numbered from 0."""

    def __init__(self, seed: int) -> None:
        self._philox = np.random.Philox(np.random.SeedSequence(seed))
        self._generator = np.random.Generator(self._philox)
        self._start = self._philox.state

    def at(self, number: int) -> np.random.Generator:
        """Stream `number` from its beginning; it is valid until the next call."""
        self._start["state"]["counter"] = np.array([0, 0, 0, number], np.uint64)
        self._philox.state = self._start
        return self._generator
