"""The bundles of arrays that kernels hand to each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["EXTRA", "LANES", "Index", "Relation", "Workspace"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

LANES = 64
"""Records in a block: the bits of a mask."""

EXTRA = 4
"""Numbers beside the centre in a block's frame: unit, and the reach in each of three norms."""


class Index(NamedTuple):
    """Records in k-d order and all that is computed from them once.

    Parameters
    ----------
    size : int
        The number of records; the last block is filled up with copies of the last one.
    blocks : float64, blocks x columns x 64
    boxes : float64, nodes x 2 x columns
        The lowest and highest values of each node of the tree.
    local : float32, blocks x (columns + 1) x 64
        The filter: each block in its own frame, and minus half the squared lengths.
    frames : float64, blocks x (columns + 4)
        Centre, unit and reaches of each block.
    weights : float64, columns
        The factor of each column in the filter.
    categories : uint8, columns
        1 for a column of categories.
    mismatches : int
        How many columns hold categories.
    """

    size: int
    blocks: Floats
    boxes: Floats
    local: Singles
    frames: Floats
    weights: Floats
    categories: Bytes
    mismatches: int


class Relation(NamedTuple):
    """The reference predicate, and how the filter may speak of it.

    Parameters
    ----------
    kind, threshold, scales
        Two records are close when ``measure(kind, a, b, scales) <= threshold``.
    radius : float
        The threshold as a distance; 0 where only the exact predicate may be used.
    """

    kind: int
    threshold: float
    scales: Floats
    radius: float


class Workspace(NamedTuple):
    """Room for one look at one leaf: at most 64 records in the leaf's frame.

    Parameters
    ----------
    rows : float32, columns x 64
    sizes : float64, 64
        How far each is from the leaf's centre.
    sure, possible : float32, 64
        The scores from which a pair is surely, or possibly, close.
    opened : int64, 64
        Which of them the leaf's reach leaves open.
    """

    rows: Singles
    sizes: Floats
    sure: Singles
    possible: Singles
    opened: Ints
