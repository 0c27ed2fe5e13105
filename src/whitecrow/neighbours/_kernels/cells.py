"""Sums over neighbouring cells of a lattice of which only the inhabited cells are listed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours._kernels.inner import kernel

__all__ = ["around"]

Ints = NDArray[np.int64]


@kernel
def around(keys: Ints, sums: Ints, shifts: Ints, reaches: Ints, found: Ints) -> None:
    """Add up, for each cell, what lies in the runs of cells around it.

    The run of a shift s and a reach l around the cell k are the keys ``k + s - l .. k + s + l``.
    ``keys`` ascend, ``sums[i]`` is the total of the first i cells. As k ascends, both ends of a
    run ascend: two fingers walk along the list once for each run.
    """
    size = len(keys)
    for run in range(len(shifts)):
        first = shifts[run] - reaches[run]
        last = shifts[run] + reaches[run]
        low = 0
        high = 0
        for i in range(size):
            while low < size and keys[low] < keys[i] + first:
                low += 1
            while high < size and keys[high] <= keys[i] + last:
                high += 1
            found[i] += sums[high] - sums[low]
