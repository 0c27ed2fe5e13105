"""Types of arrays, by what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Int32s = NDArray[np.int32]
Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]

Matrix = Floats  # a record, or a place, in each row
Counts = Ints
