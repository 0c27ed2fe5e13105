"""A group of records against the records of one leaf: the filter, then the reference predicate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours._kernels.filter import approach, limits, margins
from whitecrow.neighbours._kernels.inner import inner
from whitecrow.neighbours._kernels.lanes import lowest_bit, ones, real_lanes, tile
from whitecrow.neighbours._kernels.metric import close
from whitecrow.neighbours._kernels.tables import LANES, Index, Relation, Workspace

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Group(NamedTuple):
    """The records that are being counted for."""

    records: Floats  # columns x 64
    # Of each record: where its count goes, and how many neighbours it has so far beside those
    # that everyone has.
    rows: Ints
    found: Ints


def room_for_groups(columns: int) -> tuple[Group, Workspace]:
    """Return room for a group of up to 64 records, and for its looks at leaves."""
    group = Group(np.empty((columns, LANES)), np.empty(LANES, np.int64), np.empty(LANES, np.int64))
    space = Workspace(
        np.empty((columns, LANES), np.float32),
        np.empty(LANES),
        np.empty(LANES),
        np.empty(LANES, np.float32),
        np.empty(LANES, np.float32),
        np.empty(LANES, np.int64),
    )
    return group, space


@inner
def look(
    index: Index, relation: Relation, group: Group, space: Workspace, active: int, leaf: int
) -> tuple[int, int]:
    """Count a leaf's records close to each record of the group.

    Return the most that anyone has, and how many had to be compared with the leaf's records.
    """
    counts, sizes, opened = group.found, space.sizes, space.opened
    here = min(LANES, index.size - leaf * LANES)
    rho, reach, slack, error = margins(index, relation, leaf)
    count = active
    if rho == 0.0:
        for i in range(active):
            for lane in range(here):
                counts[i] += close(relation, group.records[:, i], index.blocks[leaf, :, lane])
    else:
        inner_size, outer_size, sure, possible = limits(index, relation, rho, reach, slack, error)
        approach(index, relation, group.records, active, leaf, space)
        count = 0
        for i in range(active):
            opened[count] = i
            count += (sizes[i] > inner_size) & (sizes[i] <= outer_size)
            counts[i] += here * (sizes[i] <= inner_size)
        if count & 1:
            opened[count] = opened[count - 1]
        for i in range(active):
            space.sure[i] = np.float32(space.halves[i] + sure)
            space.possible[i] = np.float32(space.halves[i] + possible)
        real = real_lanes(here)
        for t in range(0, count, 2):
            i, j = opened[t], opened[t + 1]
            masks = tile(relation.kind, space, i, j, index, leaf)
            _add(index, relation, group, i, leaf, masks[0] & real, masks[1] & real)
            if i != j:
                _add(index, relation, group, j, leaf, masks[2] & real, masks[3] & real)
    most = 0
    for i in range(active):
        most = max(most, counts[i])
    return most, count


@inner
def _add(
    index: Index,
    relation: Relation,
    group: Group,
    i: int,
    leaf: int,
    sure: np.uint64,
    possible: np.uint64,
) -> None:
    """Add what is sure, and what the reference predicate says about the rest."""
    count = ones(sure)
    doubt = possible & ~sure
    while doubt:
        record = index.blocks[leaf, :, lowest_bit(doubt)]
        count += close(relation, group.records[:, i], record)
        doubt &= doubt - np.uint64(1)
    group.found[i] += count
