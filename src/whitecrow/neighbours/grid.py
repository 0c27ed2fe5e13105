"""Counting for every record of a table with few columns: most are settled cell by cell.

A cell is certified when the cells that lie wholly within the radius of all its points hold `cap`
records; its own records have then reached the cap, and no distance was computed. What remains are
the records in thin places, and they need only the records of the cells within their reach.
`proof.md` ("Cells") accounts for rounding.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours import parallel
from whitecrow.neighbours.closeness import Form
from whitecrow.neighbours.predicates import MIXED, SQUARES, measure

__all__ = ["MOST_COLUMNS", "Settled", "settle"]

Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]

MOST_COLUMNS = 3

_MOST_CELLS = 1 << 17
_SAMPLE = 4096
_APART = 4
_FINEST = 24
"""Cells along one radius, at most."""
_MARGIN = 1.0 + 2.0**-20
"""A cell is at most this many times as wide as its side: see `proof.md`."""


@dataclass(frozen=True, repr=False)
class Settled:
    """What the grid found out.

    Parameters
    ----------
    counts : int64 array
        The cap for settled records, 0 for the others.
    nearby : int64 array
        The rows that are not settled and all rows that may be close to them.
    asking : uint8 array
        1 for those of ``nearby`` that are not settled.
    """

    counts: Counts
    nearby: Counts
    asking: NDArray[np.uint8]


def settle(values: Matrix, form: Form, cap: int) -> Settled | None:
    """Settle what a grid can, or return None where no grid of reasonable size fits."""
    from whitecrow.neighbours._kernels import grid as kernels

    layout = _laid_out(values, form)
    if layout is None:
        return None
    origin, side, shape, fineness = layout
    cells = np.empty(len(values), np.int32)
    histograms: list[Counts] = []

    def assign(first: int, last: int) -> None:
        histograms.append(kernels.assign(values, origin, side, shape, cells, first, last))

    spans = list(parallel.chunks(len(values), 1 << 16))
    parallel.run([partial(assign, *span) for span in spans])

    # Planes, rows, columns: the kernels see three axes, of which some have length 1.
    axes = {1: (2,), 2: (0, 2), 3: (0, 1, 2)}[len(shape)]
    solid = np.ones(3, np.int64)
    solid[list(axes)] = shape
    inhabited = np.sum(histograms, axis=0).reshape(solid)
    inner = inhabited.copy()
    for axis in axes:
        np.moveaxis(inner, axis, 0)[[0, -1]] = 0
    sums = np.zeros((solid[0], solid[1], solid[2] + 1), np.int64)
    np.cumsum(inner, axis=2, out=sums[:, :, 1:])
    certified = np.zeros(solid, np.uint8)
    around = (sums, _runs(form, side, fineness, axes), cap, certified)
    planes = parallel.chunks(int(solid[0]), 4)
    parallel.run([partial(kernels.certify, *around, *span) for span in planes])

    asking = ((inhabited > 0) & (certified == 0)).ravel()
    near = asking.astype(np.uint8)
    for axis in axes:
        stride = int(np.prod(solid[axis + 1 :]))
        kernels.dilate(near, int(solid[axis]), stride, fineness + 1)
    status = np.where(asking, np.uint8(2), near)
    counts = np.empty(len(values), np.int64)
    labels = np.empty(len(values), np.uint8)
    parallel.run(
        [partial(kernels.label, cells, status, cap, counts, labels, *span) for span in spans]
    )
    nearby = np.flatnonzero(labels)
    return Settled(counts, nearby, (labels[nearby] == 2).astype(np.uint8))


def _laid_out(values: Matrix, form: Form) -> tuple[Matrix, float, NDArray[np.int64], int] | None:
    """Choose origin, side, shape and fineness (cells along a radius) from a sample of rows.

    The sample decides only how well the grid works. Its outermost values are left out, so that a
    few far records do not make the grid coarse; they fall into the outermost cells.
    """
    radius = math.sqrt(form.threshold) if form.kind == SQUARES else form.threshold
    if form.kind == MIXED or not 1e-140 < radius < 1e140:
        return None
    sample = np.sort(values[:: max(1, len(values) // _SAMPLE)], axis=0)
    out = min(_APART, (len(sample) - 1) // 2)
    low, high = sample[out], sample[-1 - out]
    most = min(_MOST_CELLS, max(256, len(values) // 8))
    for fineness in range(_FINEST, 1, -1):
        side = radius / fineness
        # An infinite number of cells is merely too many.
        with np.errstate(over="ignore"):
            spans = (high - low) / side
            cells = np.prod(spans + 4.0)
        if cells <= most:
            return low - side, side, np.ceil(spans).astype(np.int64) + 3, fineness
    return None


def _runs(form: Form, side: float, fineness: int, axes: tuple[int, ...]) -> Counts:
    """Return the runs of cells wholly within the radius of a cell: plane, row, half-length.

    Two records k cells apart differ by at most k + 1 sides, with a margin for rounding; the
    reference predicate's own steps say whether such differences are close.
    """
    wide = side * _MARGIN
    zeros = [0.0] * len(axes)

    def within(*offset: int) -> bool:
        apart = [(abs(offset[axis]) + 1) * wide for axis in axes]
        return bool(measure(form.kind, apart, zeros, form.scales) <= form.threshold)

    reaches = [range(-fineness, fineness + 1) if axis in axes else range(1) for axis in range(3)]
    runs = []
    for plane, row in itertools.product(reaches[0], reaches[1]):
        length = -1
        while length < fineness and within(plane, row, length + 1):
            length += 1
        if length >= 0:
            runs.append((plane * plane + row * row, plane, row, length))
    return np.array([run[1:] for run in sorted(runs)], dtype=np.int64).reshape(-1, 3)
