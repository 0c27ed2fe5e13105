"""Counting among a part of the records: the cap, which is for all of them, is hardly in reach.

So nothing is gained by looking at near leaves first, by pivots, or by retiring records at the cap.
A group of records that lie together goes down the wide tree once, in any order: children whose
boxes settle all pairs are counted for everyone or dropped; the leaves that are left are looked at.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours._kernels.alone import WAITING
from whitecrow.neighbours._kernels.inner import bare, inner
from whitecrow.neighbours._kernels.lanes import lowest_bit
from whitecrow.neighbours._kernels.leaf import Group, look, room_for_groups
from whitecrow.neighbours._kernels.tables import (
    BRANCHES,
    LANES,
    Index,
    Relation,
    WideTree,
    Workspace,
)
from whitecrow.neighbours._kernels.wide import compare_children
from whitecrow.neighbours.relation import step

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_QUARTER = LANES // 4
_WIDE = 0.5
"""In radii: groups that are wider are divided, since they share fewer leaves."""


def count_part(
    index: Index, tree: WideTree, relation: Relation, asked: Floats, cap: int, counts: Ints
) -> None:
    """Write min(neighbours, cap) of each record into ``counts``; near records come together."""
    columns = asked.shape[1]
    group, space = room_for_groups(columns)
    box = np.empty((2, columns))
    least, waiting = np.empty(BRANCHES), np.empty(WAITING, np.int64)
    _count(index, tree, relation, asked, cap, counts, group, space, box, least, waiting)


@bare
def _count(
    index: Index,
    tree: WideTree,
    relation: Relation,
    asked: Floats,
    cap: int,
    counts: Ints,
    group: Group,
    space: Workspace,
    box: Floats,
    least: Floats,
    waiting: Ints,
) -> None:
    low, high = box[0], box[1]
    first = 0
    while first < len(asked):
        active = min(LANES, len(asked) - first)
        if _enclose(relation, asked, first, active, low, high) and active > _QUARTER:
            active = _QUARTER
            _enclose(relation, asked, first, active, low, high)
        for i in range(active):
            group.found[i] = 0
            for c in range(len(low)):
                group.records[c, i] = asked[first + i, c]
        everyone, count = 0, 1
        waiting[0] = 0
        while count > 0 and everyone < cap:
            count -= 1
            node = waiting[count]
            some, every = compare_children(relation, tree, node, low, high, least)
            some &= ~every
            while every:
                everyone += tree.children[node, 1, lowest_bit(every)]
                every &= every - np.uint64(1)
            while some:
                child = tree.children[node, 0, lowest_bit(some)]
                some &= some - np.uint64(1)
                if child < 0:
                    look(index, relation, group, space, active, -1 - child)
                else:
                    waiting[count] = child
                    count += 1
        for i in range(active):
            counts[first + i] = min(cap, everyone + group.found[i])
        first += active


@inner
def _enclose(
    relation: Relation, asked: Floats, first: int, count: int, low: Floats, high: Floats
) -> bool:
    """Put a box around some records; say whether it is wide."""
    across = 0.0
    for c in range(len(low)):
        low[c] = high[c] = asked[first, c]
        for i in range(first + 1, first + count):
            low[c] = min(low[c], asked[i, c])
            high[c] = max(high[c], asked[i, c])
        across = step(relation.kind, across, _WIDE * (high[c] - low[c]), relation.scales[c])
    return bool(across > relation.threshold)
