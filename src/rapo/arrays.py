"""The kinds of NumPy arrays that the package passes around, by one name each."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Bools = NDArray[np.bool_]
Ids = NDArray[np.intp]
"""Row numbers."""
