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
from whitecrow.neighbours.relation import MIXED, SQUARES, Form, step

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
class Layout:
    """Where the cells are: origin, side, how many along each column, how many along a radius."""

    origin: Matrix
    side: float
    shape: NDArray[np.int64]
    fineness: int


@dataclass(frozen=True, repr=False)
class Settled:
    """What the grid found out.

    Parameters
    ----------
    counts : int64 array
        The cap for settled records, 0 for the others.
    asking : int64 array
        The rows that are not settled.
    nearby : int64 array
        These and all rows that may be close to them, cell by cell so that near ones are together,
        and at the end those beyond the grid.
    within : int
        How many of ``nearby`` lie within the grid.
    """

    counts: Counts
    asking: Counts
    nearby: Counts
    within: int


def settle(values: Matrix, form: Form, cap: int, most: int) -> Settled | None:
    """Settle what a grid can, or return None where it would leave more than ``most`` open."""
    from whitecrow.neighbours._kernels import grid as kernels

    layout = _laid_out(values, form)
    if layout is None:
        return None
    numbers, total = _numbers(layout.shape)
    cells = np.empty(len(values), np.int32)
    placed = (values, layout.origin, layout.side, layout.shape, numbers, total, cells)
    spans = list(parallel.chunks(len(values), 1 << 18))
    histogram = np.zeros(total, np.int64)
    for part in parallel.results([partial(kernels.assign, *placed, *span) for span in spans]):
        histogram += part

    # Planes, rows, columns: the kernels see three axes, of which some have length 1.
    axes = {1: (2,), 2: (0, 2), 3: (0, 1, 2)}[len(layout.shape)]
    solid = np.ones(3, np.int64)
    solid[list(axes)] = layout.shape
    number = np.zeros(solid, np.int64)
    border = np.zeros(solid, bool)
    for line, axis in enumerate(axes):
        along = np.moveaxis(number, axis, -1)
        along += numbers[line, : layout.shape[line]]
        np.moveaxis(border, axis, 0)[[0, -1]] = True
    inhabited = histogram[number]
    certified = _certified(np.where(border, 0, inhabited), _runs(form, layout, axes), cap)
    asking = (inhabited > 0) & ~certified
    if inhabited[asking].sum() > most:
        return None

    near = asking.astype(np.uint8).ravel()
    for axis in axes:
        stride = int(np.prod(solid[axis + 1 :]))
        kernels.dilate(near, int(solid[axis]), stride, layout.fineness + 1)
    status = np.full(total, kernels.SETTLED, np.uint8)
    status[number] = np.where(asking, kernels.ASKING, near.reshape(solid) * kernels.NEAR)
    counts = np.empty(len(values), np.int64)
    labels = np.empty(len(values), np.uint8)
    labelled = (cells, status, cap, counts, labels)
    parallel.run([partial(kernels.label, *labelled, *span) for span in spans])

    beyond = np.zeros(total, bool)
    beyond[number] = border
    inner = np.where((status != kernels.SETTLED) & ~beyond, histogram, 0)
    outer = np.where((status != kernels.SETTLED) & beyond, histogram, 0)
    within = int(inner.sum())
    places = np.where(beyond, within + np.cumsum(outer) - outer, np.cumsum(inner) - inner)
    places[status == kernels.SETTLED] = -1
    nearby = np.empty(within + int(outer.sum()), np.int64)
    kernels.line_up(cells, places, nearby)
    return Settled(counts, np.flatnonzero(labels == kernels.ASKING), nearby, within)


def _certified(inner: Counts, runs: Counts, cap: int) -> NDArray[np.bool_]:
    """Say which cells have ``cap`` records in the cells wholly within the radius of them."""
    from whitecrow.neighbours._kernels import grid as kernels

    planes, rows, columns = inner.shape
    sums = np.zeros((planes, rows, columns + 1), np.int64)
    np.cumsum(inner, axis=2, out=sums[:, :, 1:])
    certified = np.zeros(inner.shape, np.uint8)
    spans = parallel.chunks(planes, 4)
    parallel.run([partial(kernels.certify, sums, runs, cap, certified, *span) for span in spans])
    return certified.astype(bool)


def _numbers(shape: NDArray[np.int64]) -> tuple[NDArray[np.int32], int]:
    """Return the share of each place on each axis in a cell's number, and how many numbers exist.

    The bits of the places are interleaved (Morton order), so that cells with near numbers are
    near each other.
    """
    bits = [max(1, int(length - 1).bit_length()) for length in shape]
    numbers = np.zeros((len(shape), int(shape.max())), np.int32)
    shift = 0
    for bit in range(max(bits)):
        for axis in reversed(range(len(shape))):
            if bit < bits[axis]:
                places = np.arange(shape[axis]) >> bit & 1
                numbers[axis, : shape[axis]] += (places << shift).astype(np.int32)
                shift += 1
    return numbers, 1 << shift


def _laid_out(values: Matrix, form: Form) -> Layout | None:
    """Lay a grid over a sample of rows, as fine as a reasonable number of cells allows.

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
            return Layout(low - side, side, np.ceil(spans).astype(np.int64) + 3, fineness)
    return None


def _runs(form: Form, layout: Layout, axes: tuple[int, ...]) -> Counts:
    """Return the runs of cells wholly within the radius of a cell: plane, row, half-length.

    Two records k cells apart differ by at most k + 1 sides, with a margin for rounding; the
    reference predicate's own steps say whether such differences are close.
    """
    fineness = layout.fineness
    reach = np.arange(fineness + 1)
    total = np.zeros((fineness + 1,) * 3)
    for scale, axis in zip(form.scales, axes, strict=True):
        apart = (reach + 1) * (layout.side * _MARGIN)
        total = step(form.kind, total, np.moveaxis(apart[:, None, None], 0, axis), scale)
    lengths = (total <= form.threshold).sum(axis=2) - 1
    runs = [
        (plane * plane + row * row, plane, row, lengths[abs(plane), abs(row)])
        for plane, row in itertools.product(
            *(_both_ways(fineness, axis in axes) for axis in (0, 1))
        )
        if lengths[abs(plane), abs(row)] >= 0
    ]
    return np.array([run[1:] for run in sorted(runs)], dtype=np.int64).reshape(-1, 3)


def _both_ways(fineness: int, wide: bool) -> range:
    return range(-fineness, fineness + 1) if wide else range(1)
