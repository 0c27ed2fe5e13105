"""Arranging records in k-d order, in blocks of 64, and the trees over these blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours._kernels.inner import inner, kernel
from whitecrow.neighbours._kernels.tables import BRANCHES, LANES, WideTree

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

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
def _swap(rows: Floats, ids: Ints, i: int, j: int) -> None:
    for c in range(rows.shape[1]):
        rows[i, c], rows[j, c] = rows[j, c], rows[i, c]
    ids[i], ids[j] = ids[j], ids[i]


@inner
def _select(rows: Floats, ids: Ints, start: int, stop: int, cut: int, column: int) -> None:
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


@kernel
def arrange(rows: Floats, ids: Ints, weights: Floats, first: int, blocks: int, whole: bool) -> None:
    """Put a run of blocks in k-d order, down to quarters of blocks; or halve it once.

    A run is divided at the end of its left half, along its widest column.
    """
    # What waits begins with some quarter of a block and is so many quarters long.
    waiting = np.empty((64, 2), np.int64)
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


# The tree is implicit. A node covers a run of blocks; its left child covers the first half of them
# (rounded up) and is numbered next, its right child follows the left one's whole subtree. A node
# of m blocks therefore has 2m - 1 nodes below and including itself, and no pointers are stored.


@kernel
def boxes_of(low: Floats, high: Floats) -> Floats:
    """Return the lowest and highest value of every column in every node, from those of blocks."""
    total, columns = low.shape
    boxes = np.empty((2 * total - 1, 2, columns))
    covered = np.empty((2 * total - 1, 2), np.int64)
    covered[0, 0], covered[0, 1] = 0, total
    for node in range(2 * total - 1):
        first, count = covered[node, 0], covered[node, 1]
        if count > 1:
            half = (count + 1) // 2
            right = node + 2 * half
            covered[node + 1, 0], covered[node + 1, 1] = first, half
            covered[right, 0], covered[right, 1] = first + half, count - half
    for node in range(2 * total - 2, -1, -1):
        first, count = covered[node, 0], covered[node, 1]
        right = node + 2 * ((count + 1) // 2)
        for c in range(columns):
            if count == 1:
                boxes[node, 0, c], boxes[node, 1, c] = low[first, c], high[first, c]
            else:
                boxes[node, 0, c] = min(boxes[node + 1, 0, c], boxes[right, 0, c])
                boxes[node, 1, c] = max(boxes[node + 1, 1, c], boxes[right, 1, c])
    return boxes


@kernel
def widen(size: int, boxes: Floats, tree: WideTree) -> None:
    """Fill in the wide tree of the records that the boxes are of.

    A wide node of more than 16^k blocks, and at most 16 times as many, has the nodes of at most
    16^k blocks below it as children: sixteen or fewer, since halving four times suffices.
    """
    blocks = (len(boxes) + 1) // 2
    nodes = np.empty((len(tree.present), 4), np.int64)
    waiting = np.empty((BRANCHES, 3), np.int64)
    most = 1
    while most * BRANCHES < blocks:
        most *= BRANCHES
    nodes[0, 0], nodes[0, 1], nodes[0, 2], nodes[0, 3] = 0, 0, blocks, most
    wide, count = 0, 1
    while wide < count:
        most, child, depth = nodes[wide, 3], 0, 1
        for k in range(3):
            waiting[0, k] = nodes[wide, k]
        while depth > 0:
            depth -= 1
            node, first, span = waiting[depth, 0], waiting[depth, 1], waiting[depth, 2]
            if span > most:
                half = (span + 1) // 2
                right = node + 2 * half
                waiting[depth, 0], waiting[depth, 1] = right, first + half
                waiting[depth, 2] = span - half
                depth += 1
                waiting[depth, 0], waiting[depth, 1], waiting[depth, 2] = node + 1, first, half
                depth += 1
                continue
            for c in range(boxes.shape[2]):
                for side in range(2):
                    tree.boxes[wide, c, side, child] = boxes[node, side, c]
            tree.children[wide, 1, child] = min(size, (first + span) * LANES) - first * LANES
            if most == 1:
                tree.children[wide, 0, child] = -1 - first
            else:
                tree.children[wide, 0, child] = count
                nodes[count, 0], nodes[count, 1], nodes[count, 2] = node, first, span
                nodes[count, 3] = most // BRANCHES
                count += 1
            child += 1
        for c in range(boxes.shape[2]):
            for k in range(child, BRANCHES):
                tree.boxes[wide, c, 0, k] = tree.boxes[wide, c, 1, k] = 0.0
        tree.present[wide] = np.uint64((1 << child) - 1)
        wide += 1
