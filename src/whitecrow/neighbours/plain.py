"""Counting with numpy alone.

Importing the compiler takes a second. A single question on a saved index, or on a table of
moderate size, is answered sooner without it. The sums are the reference predicate's own steps on
arrays, so the counts are the same.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours._kernels.tables import LANES, Index
from whitecrow.neighbours.predicates import step
from whitecrow.neighbours.relation import Form

__all__ = ["count_index_plain", "count_plain"]

Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]
Ints = NDArray[np.int64]

_ROWS = 1 << 15
_LEAVES = 512


def count_plain(data: Matrix, form: Form, records: Matrix, cap: int) -> Counts:
    """Return min(number of close data records, cap) for each record, by looking at all of them."""
    counts = np.zeros(len(records), np.int64)
    with np.errstate(all="ignore"):
        for i, record in enumerate(records):
            for first in range(0, len(data), _ROWS):
                near = _measure(form, data[first : first + _ROWS].T, record) <= form.threshold
                counts[i] += np.count_nonzero(near)
                if counts[i] >= cap:
                    break
    return np.minimum(counts, cap)


def count_index_plain(index: Index, form: Form, records: Matrix, cap: int) -> Counts:
    """Return min(number of close data records, cap) for each record, through an index."""
    with np.errstate(all="ignore"):
        found = [min(cap, _count_one(index, form, record, cap)) for record in records]
    return np.array(found, dtype=np.int64)


def _count_one(index: Index, form: Form, record: Matrix, cap: int) -> int:
    node, first, span = (np.array([value]) for value in (0, 0, len(index.blocks)))
    total, open_leaves = 0, []
    while len(node):
        inside, outside = _verdicts(index, form, record, node)
        records = np.minimum(index.size, (first + span) * LANES) - first * LANES
        total += int(records[inside].sum())
        rest = ~(inside | outside)
        open_leaves.append(first[rest & (span == 1)])
        rest &= span > 1
        node, first, span = node[rest], first[rest], span[rest]
        half = (span + 1) // 2
        node = np.concatenate([node + 1, node + 2 * half])
        first, span = np.concatenate([first, first + half]), np.concatenate([half, span - half])
    leaves: Ints = np.concatenate(open_leaves)
    for start in range(0, len(leaves), _LEAVES):
        if total >= cap:
            break
        some = leaves[start : start + _LEAVES]
        near = _measure(form, np.moveaxis(index.blocks[some], 1, 0), record) <= form.threshold
        real = np.minimum(LANES, index.size - some * LANES)
        total += int((near & (np.arange(LANES) < real[:, None])).sum())
    return total


def _verdicts(
    index: Index, form: Form, record: Matrix, node: Ints
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Say which boxes lie wholly within the threshold and which wholly beyond (`proof.md`)."""
    low, high = index.boxes[node, 0], index.boxes[node, 1]
    least = np.zeros(len(node))
    most = np.zeros(len(node))
    for c, scale in enumerate(form.scales):
        above, below = high[:, c] - record[c], record[c] - low[:, c]
        gap = np.maximum(np.maximum(-above, -below), 0.0)
        least = step(form.kind, least, gap, scale)
        most = step(form.kind, most, np.maximum(above, below), scale)
    return most <= form.threshold, least > form.threshold


def _measure(form: Form, columns: Matrix, record: Matrix) -> Matrix:
    total = np.zeros(columns.shape[1:])
    for c, scale in enumerate(form.scales):
        total = step(form.kind, total, np.abs(columns[c] - record[c]), scale)
    return total
