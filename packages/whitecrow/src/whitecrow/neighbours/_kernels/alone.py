"""Counting the neighbours of records that have little in common, each by itself.

A record goes down the wide tree, nearest nodes first; children whose boxes settle all pairs are
counted or dropped whole. The leaves that are left are compared through the float32 filter, and the
pairs that it leaves open by the reference predicate, as for groups (`count.py`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours._kernels.count import ALONE
from whitecrow.neighbours._kernels.filter import approach_alone, limits, margins
from whitecrow.neighbours._kernels.inner import bare, inner
from whitecrow.neighbours._kernels.lanes import lowest_bit, ones, real_lanes, tile_alone
from whitecrow.neighbours._kernels.metric import close
from whitecrow.neighbours._kernels.tables import BRANCHES, LANES, Index, Relation, WideTree
from whitecrow.neighbours._kernels.wide import compare_children
from whitecrow.neighbours.relation import SQUARES

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WAITING = 9 * BRANCHES
"""Nodes that wait: at most fifteen on each level, and nine levels hold more than 2^31 records."""

ROOM = BRANCHES + 2 * WAITING
"""Numbers that `count_alone` needs room for, beside one for each column."""


@bare
def count_alone(
    index: Index,
    tree: WideTree,
    relation: Relation,
    asked: Floats,
    cap: int,
    patience: int,
    counts: Ints,
    room: Floats,
) -> None:
    """Write min(neighbours, cap) of each record into ``counts``; ``room`` is columns + ROOM.

    A record that needs more than ``patience`` leaves, and hardly gets to the cap, is left ALONE.
    """
    least, keys = room[:BRANCHES], room[BRANCHES : BRANCHES + WAITING]
    waiting, local = room[BRANCHES + WAITING : ROOM], room[ROOM:]
    for i in range(len(asked)):
        record = asked[i]
        count_found, looked, count = 0, 0, 1
        waiting[0] = 0.0
        while count > 0 and count_found < cap and looked < patience:
            count -= 1
            node = int(waiting[count])
            some, every = compare_children(relation, tree, node, record, record, least)
            some &= ~every
            while every:
                count_found += tree.children[node, 1, lowest_bit(every)]
                every &= every - np.uint64(1)
            first = count
            while some and count_found < cap:
                child = lowest_bit(some)
                some &= some - np.uint64(1)
                next_node = tree.children[node, 0, child]
                if next_node < 0:
                    looked += 1
                    count_found += _look(index, relation, record, -1 - next_node, local)
                else:
                    count = _wait(keys, waiting, first, count, least[child], next_node)
        counts[i] = min(count_found, cap) if count == 0 or count_found >= cap else ALONE


@inner
def _wait(keys: Floats, waiting: Floats, first: int, count: int, near: float, node: int) -> int:
    """Let a node wait among its siblings, the nearest of them last; return how many wait now."""
    place = count
    while place > first and keys[place - 1] < near:
        keys[place], waiting[place] = keys[place - 1], waiting[place - 1]
        place -= 1
    keys[place], waiting[place] = near, node
    return count + 1


@inner
def _look(index: Index, relation: Relation, record: Floats, leaf: int, local: Floats) -> int:
    """Return how many records of a leaf are close to one record."""
    here = min(LANES, index.size - leaf * LANES)
    rho, reach, slack, error = margins(index, relation, leaf)
    real = real_lanes(here)
    count, doubt = 0, real
    if rho > 0.0:
        inner_size, outer_size, sure, possible = limits(index, relation, rho, reach, slack, error)
        size = approach_alone(index, relation, record, leaf, local)
        if size <= inner_size:
            return here
        if size > outer_size:
            return 0
        half = 0.5 * size if relation.kind == SQUARES else 0.0
        surely, possibly = tile_alone(
            relation.kind, local, index, leaf, np.float32(half + sure), np.float32(half + possible)
        )
        count = int(ones(surely & real))
        doubt = possibly & ~surely & real
    while doubt:
        count += close(relation, record, index.blocks[leaf, :, lowest_bit(doubt)])
        doubt &= doubt - np.uint64(1)
    return count
