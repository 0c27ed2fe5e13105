"""A uniform grid over few columns: cells whose surroundings already hold `cap` records.

Cells are numbered by a monotone function of each column. The outermost cells reach to infinity:
they vouch for nobody and nothing vouches for them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours._kernels.inner import inner, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Cells = NDArray[np.int32]
Bytes = NDArray[np.uint8]

SETTLED, NEAR, ASKING = range(3)
"""A cell's records have reached the cap; so they have, but others need them; they have not."""


@kernel
def assign(
    rows: Floats,
    origin: Floats,
    side: float,
    shape: Ints,
    numbers: Cells,
    total: int,
    cells: Cells,
    first: int,
    last: int,
) -> Cells:
    """Number the cell of some rows; return how many fell into each cell.

    ``numbers`` has a line for each column; a cell's number is the sum of its places' entries.
    """
    histogram = np.zeros(total, np.int32)
    _assign(rows, origin, 1.0 / side, shape, numbers, cells, first, last, histogram)
    return histogram


@inner
def _assign(
    rows: Floats,
    origin: Floats,
    inverse: float,
    shape: Ints,
    numbers: Cells,
    cells: Cells,
    first: int,
    last: int,
    histogram: Cells,
) -> None:
    for i in range(first, last):
        cell = 0
        for k in range(len(shape)):
            place = (rows[i, k] - origin[k]) * inverse
            place = min(max(place, 0.0), shape[k] - 1.0)
            cell += numbers[k, int(place)]
        cells[i] = cell
        histogram[cell] += 1


@kernel
def certify(sums: Ints, offsets: Ints, cap: int, certified: Bytes, first: int, last: int) -> None:
    """Mark the cells of some planes whose surroundings hold at least ``cap`` records.

    Parameters
    ----------
    sums : int64, planes x rows x (columns + 1)
        Running sums along the last axis, of the inner cells only.
    offsets : int64, any x 3
        Plane, row and half-length of each run of cells wholly within the radius, near ones first.
    """
    planes, rows, columns = sums.shape[0], sums.shape[1], sums.shape[2] - 1
    for a in range(first, last):
        for b in range(rows):
            for c in range(columns):
                if sums[a, b, c + 1] == sums[a, b, c]:
                    continue
                found = 0
                for k in range(len(offsets)):
                    x, y = a + offsets[k, 0], b + offsets[k, 1]
                    if 0 <= x < planes and 0 <= y < rows:
                        start, stop = c - offsets[k, 2], c + offsets[k, 2] + 1
                        found += sums[x, y, min(columns, stop)] - sums[x, y, max(0, start)]
                        if found >= cap:
                            certified[a, b, c] = 1
                            break


@kernel
def dilate(marks: Bytes, length: int, stride: int, reach: int) -> None:
    """Mark every cell within ``reach`` cells of a marked one along one axis."""
    line = np.empty(length, np.uint8)
    for start in range(len(marks)):
        if start // stride % length == 0:
            for i in range(length):
                line[i] = 0
            for i in range(length):
                if marks[start + i * stride]:
                    for j in range(max(0, i - reach), min(length, i + reach + 1)):
                        line[j] = 1
            for i in range(length):
                marks[start + i * stride] = line[i]


@kernel
def label(
    cells: Cells, status: Bytes, cap: int, counts: Ints, labels: Bytes, first: int, last: int
) -> None:
    """Give some rows the status of their cells, and the cap where that is not ASKING."""
    for i in range(first, last):
        labels[i] = status[cells[i]]
        counts[i] = 0 if labels[i] == ASKING else cap


@kernel
def line_up(cells: Cells, places: Ints, order: Ints) -> None:
    """List the rows cell by cell; ``places`` says where each cell begins, or is negative."""
    for i in range(len(cells)):
        place = places[cells[i]]
        if place >= 0:
            order[place] = i
            places[cells[i]] = place + 1
