"""Arranging records in k-d order, in blocks of 64."""

from __future__ import annotations

import numpy as np

from whitecrow._arrays import Floats, Int32s, Ints
from whitecrow.neighbours._kernels.inner import bare, inner
from whitecrow.neighbours._kernels.tables import LANES

_SAMPLE = 64
_QUARTER = LANES // 4


@inner
def _widest(rows: Floats, start: int, stop: int, weights: Floats) -> int:
    """Return the column with the widest spread in a sample of the rows."""
    stride = max(1, (stop - start) // _SAMPLE)
    best, widest = -1.0, 0
    for c in range(rows.shape[1]):
        low = high = rows[start, c]
        for i in range(start, stop, stride):
            low = min(low, rows[i, c])
            high = max(high, rows[i, c])
        # Halved, because the full range of doubles overflows.
        spread = (0.5 * high - 0.5 * low) * weights[c]
        if spread > best:
            best, widest = spread, c
    return widest


@inner
def _swap(rows: Floats, ids: Int32s, i: int, j: int) -> None:
    for c in range(rows.shape[1]):
        rows[i, c], rows[j, c] = rows[j, c], rows[i, c]
    ids[i], ids[j] = ids[j], ids[i]


@inner
def _select(rows: Floats, ids: Int32s, start: int, stop: int, cut: int, column: int) -> None:
    """Move rows so that none before ``cut`` is above any from ``cut`` on, in one column."""
    low, high = start, stop - 1
    while high > low:
        middle = (low + high) // 2
        a, b, c = rows[low, column], rows[middle, column], rows[high, column]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while rows[i, column] < pivot:
                i += 1
            while rows[j, column] > pivot:
                j -= 1
            if i <= j:
                _swap(rows, ids, i, j)
                i += 1
                j -= 1
        if cut <= j:
            high = j
        elif cut >= i:
            low = i
        else:
            return


def arrange(
    rows: Floats, ids: Int32s, weights: Floats, first: int, blocks: int, whole: bool
) -> None:
    """Put a run of blocks in k-d order, down to quarters of blocks; or halve it once.

    A run is divided at the end of its left half, along its widest column.
    """
    _arrange(rows, ids, weights, first, blocks, whole, np.empty((64, 2), np.int64))


@bare
def _arrange(
    rows: Floats, ids: Int32s, weights: Floats, first: int, blocks: int, whole: bool, waiting: Ints
) -> None:
    # What waits begins with some quarter of a block and is so many quarters long.
    waiting[0, 0], waiting[0, 1] = 4 * first, 4 * blocks
    depth = 1
    while depth > 0:
        depth -= 1
        begin, span = waiting[depth, 0], waiting[depth, 1]
        half = 4 * ((span + 4) // 8) if span > 4 else span // 2
        start, cut = begin * _QUARTER, (begin + half) * _QUARTER
        stop = min(len(rows), (begin + span) * _QUARTER)
        if start < cut < stop:
            _select(rows, ids, start, stop, cut, _widest(rows, start, stop, weights))
        if whole and half > 1:
            waiting[depth, 0], waiting[depth, 1] = begin, half
            waiting[depth + 1, 0], waiting[depth + 1, 1] = begin + half, span - half
            depth += 2
