"""The bundles of arrays that kernels hand to each other, and room for them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from whitecrow._arrays import Array, Bytes, Floats, Ints, Singles, Words

LANES = 64
"""Records in a block: the bits of a mask."""

BRANCHES = 16
"""Children of a wide node: the boxes that are compared at once."""

ALONE = -1
"""The count of a record that is better counted otherwise: by itself, or in another group."""

LINES = 2
"""Lines of a block's filter beside its columns."""

EXTRA = 4
"""Numbers beside the centre in a block's frame: unit, and the reach in each of three norms."""


_LINE = 64  # bytes of a line of the processor's cache


def aligned(shape: tuple[int, ...], kind: type[np.generic]) -> Array:
    """Return room that begins with a line of the cache: vectors are read a sixth faster there."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    room = np.empty(size + _LINE, np.uint8)
    start = -room.ctypes.data % _LINE
    return room[start : start + size].view(kind).reshape(shape)


class WideTree(NamedTuple):
    """The tree over the blocks, with up to sixteen children a node; the first one is the root."""

    boxes: Floats  # nodes x columns x 2 x 16, the lowest and highest values of each child
    # nodes x 2 x 16, the node that a child is, or -1 - block for a leaf; and how many records it
    # has.
    children: Ints
    present: Words  # one bit for each child that a node has


class Index(NamedTuple):
    """Records in k-d order and all that is computed from them once."""

    size: int  # the number of records; the last block is filled up with copies of the last one
    blocks: Floats  # blocks x columns x 64
    # blocks x (columns + LINES) x 64, the filter: each block in its own frame, and minus half the
    # squared lengths and the sums.
    local: Singles
    frames: Floats  # blocks x (columns + 4), centre, unit and reaches of each block
    weights: Floats  # the factor of each column in the filter
    categories: Bytes  # 1 for a column of categories
    mismatches: int  # how many columns hold categories
    tree: WideTree


class Relation(NamedTuple):
    """The reference predicate, and how the filter may speak of it."""

    # kind, threshold, scales: Two records are close when ``measure(kind, a, b, scales) <=
    # threshold``.
    kind: int
    threshold: float
    scales: Floats
    radius: float  # the threshold as a distance; 0 where only the exact predicate may be used


class Workspace(NamedTuple):
    """Room for one look at one leaf: at most 64 records in the leaf's frame."""

    rows: Singles  # columns x records
    sizes: Floats  # how far each is from the leaf's centre
    halves: Floats  # what a score at the centre lacks: half the squared length, half the sum, or 0
    # sure, possible: The scores from which a pair is surely, or possibly, close.
    sure: Singles
    possible: Singles
    opened: Ints  # which of them the leaf's reach leaves open


def room_for(records: int, columns: int) -> Workspace:
    """Return room for so many records at a time."""
    return Workspace(
        np.empty((columns, records), np.float32),
        np.empty(records),
        np.empty(records),
        np.empty(records, np.float32),
        np.empty(records, np.float32),
        np.empty(records, np.int64),
    )
