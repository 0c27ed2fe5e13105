"""The tree of an index with sixteen children a node instead of two.

A record that is asked about alone compares the boxes of sixteen children in the time of one or two.
A wide node takes the place of a node of the tree and of several generations below it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours._kernels.tables import BRANCHES, LANES, WideTree, aligned

__all__ = ["wide_tree"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def wide_tree(size: int, boxes: Floats) -> WideTree:
    """Return the wide tree of some records, given the boxes of their tree (`_kernels/tree.py`)."""
    widest = 1
    while widest * BRANCHES < (len(boxes) + 1) // 2:
        widest *= BRANCHES
    nodes = np.array([[0, 0, (len(boxes) + 1) // 2]])
    levels, before = [], 0
    while True:
        owners, below = _below(nodes, widest)
        before += len(nodes)
        levels.append(_level(size, boxes, len(nodes), owners, below, before, widest == 1))
        if widest == 1:
            packed, children, present = zip(*levels, strict=True)
            room = aligned((before, *packed[0].shape[1:]), np.float64)
            return WideTree(
                np.concatenate(packed, out=room), np.concatenate(children), np.concatenate(present)
            )
        nodes, widest = below, widest // BRANCHES


def _below(nodes: Ints, widest: int) -> tuple[Ints, Ints]:
    """Halve nodes (number, first block, blocks) until none has more than so many blocks.

    Returns
    -------
    owners, below
        The nodes that are left, in order, and the place of the node that each came from.
    """
    owners = np.arange(len(nodes))
    while (wide := nodes[:, 2] > widest).any():
        node, first, span = nodes[wide].T
        half = (span + 1) // 2
        owners, nodes = np.repeat(owners, 1 + wide), np.repeat(nodes, 1 + wide, axis=0)
        right = np.cumsum(1 + wide)[wide] - 1
        nodes[right - 1] = np.column_stack([node + 1, first, half])
        nodes[right] = np.column_stack([node + 2 * half, first + half, span - half])
    return owners, nodes


def _level(
    size: int, boxes: Floats, count: int, owners: Ints, below: Ints, before: int, leaves: bool
) -> tuple[Floats, Ints, NDArray[np.uint64]]:
    """Return the parts of the wide tree for one level of it."""
    node, first, span = below.T
    members = np.bincount(owners, minlength=count)
    places = np.arange(len(below)) - (np.cumsum(members) - members)[owners]
    packed = np.zeros((count, boxes.shape[2], 2, BRANCHES))
    packed[owners, :, :, places] = boxes[node].transpose(0, 2, 1)
    children = np.zeros((count, 2, BRANCHES), np.int64)
    children[owners, 0, places] = -1 - first if leaves else before + np.arange(len(below))
    children[owners, 1, places] = np.minimum(size, (first + span) * LANES) - first * LANES
    present = (np.uint64(1) << members.astype(np.uint64)) - np.uint64(1)
    return packed, children, present
