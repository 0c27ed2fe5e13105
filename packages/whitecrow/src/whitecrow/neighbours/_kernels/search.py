"""Walking down the tree, nearest leaves first, around a group of records."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours._kernels.inner import inner
from whitecrow.neighbours._kernels.metric import INSIDE, OPEN, compare_boxes
from whitecrow.neighbours._kernels.tables import LANES, Index, Relation
from whitecrow.neighbours.relation import step

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WAITING, EVERYONE, SHRUNK, PENDING = range(4)
_NONE = -1


class Search(NamedTuple):
    """A walk around one group."""

    # low, high: the box around the records that still count.
    low: Floats
    high: Floats
    centre: Floats  # where near is measured from; it decides the order of visits only
    # keys, nodes: The nodes that wait, as a binary heap: how near; node, first block, number of
    # blocks.
    keys: Floats
    nodes: Ints
    # How many nodes wait; how many records are close to everyone in the group; whether the box has
    # shrunk since the walk began; a leaf that comes next.
    state: Ints


@inner
def enclose(search: Search, records: Floats, active: int) -> None:
    """Put the smallest box around the first records."""
    for c in range(len(search.low)):
        low = high = records[c, 0]
        for i in range(1, active):
            low = min(low, records[c, i])
            high = max(high, records[c, i])
        search.low[c], search.high[c] = low, high
    search.state[SHRUNK] = 1


@inner
def too_wide(relation: Relation, search: Search) -> bool:
    """Say whether the box is many radii wide."""
    across = 0.0
    for c in range(len(search.low)):
        across = step(
            relation.kind, across, 0.0625 * (search.high[c] - search.low[c]), relation.scales[c]
        )
    return across > relation.threshold


@inner
def begin(index: Index, relation: Relation, search: Search) -> None:
    """Start at the root, around the box of a new group."""
    for c in range(len(search.low)):
        search.centre[c] = 0.5 * search.low[c] + 0.5 * search.high[c]
    search.state[WAITING] = search.state[EVERYONE] = search.state[SHRUNK] = 0
    search.state[PENDING] = _NONE
    if not _settled(index, relation, search, 0, 0, len(index.blocks)):
        _wait(index, search, 0, 0, len(index.blocks))


@inner
def next_leaf(index: Index, relation: Relation, search: Search, cap: int) -> int:
    """Return the nearest leaf that the boxes leave open, or -1.

    Nodes on the way whose boxes settle every pair are dropped, or counted for everyone.
    """
    state = search.state
    if state[PENDING] != _NONE:
        leaf = state[PENDING]
        state[PENDING] = _NONE
        return int(leaf)
    while state[WAITING] > 0 and state[EVERYONE] < cap:
        last = state[WAITING] - 1
        _pop(search.keys, search.nodes, state[WAITING])
        state[WAITING] = last
        node, first, span = search.nodes[last, 0], search.nodes[last, 1], search.nodes[last, 2]
        if state[SHRUNK] and _settled(index, relation, search, node, first, span):
            continue
        if span == 1:
            return int(first)
        half = (span + 1) // 2
        right = node + 2 * half
        one = _settled(index, relation, search, node + 1, first, half)
        two = _settled(index, relation, search, right, first + half, span - half)
        if span == 2:
            # The last two leaves of a branch do not wait again.
            if not one and not two:
                state[PENDING] = first + 1
            if not one or not two:
                return int(first + 1) if one else int(first)
            continue
        if not one:
            _wait(index, search, node + 1, first, half)
        if not two:
            _wait(index, search, right, first + half, span - half)
    return _NONE


@inner
def _settled(
    index: Index, relation: Relation, search: Search, node: int, first: int, span: int
) -> bool:
    """Say whether the boxes settle a node; records close to everyone in the group are counted."""
    verdict = compare_boxes(
        relation.kind,
        relation.threshold,
        relation.scales,
        search.low,
        search.high,
        index.boxes,
        node,
    )
    if verdict == INSIDE:
        search.state[EVERYONE] += min(index.size, (first + span) * LANES) - first * LANES
    return bool(verdict != OPEN)


@inner
def _wait(index: Index, search: Search, node: int, first: int, span: int) -> None:
    """Let a node wait: a group's box overlaps many, so they are ordered from its centre."""
    near = 0.0
    for c in range(len(search.centre)):
        place = search.centre[c]
        gap = max(max(index.boxes[node, 0, c] - place, place - index.boxes[node, 1, c]), 0.0)
        near += gap * gap
    count = _rise(search.keys, search.nodes, search.state[WAITING], near)
    search.state[WAITING] += 1
    search.keys[count] = near
    search.nodes[count, 0], search.nodes[count, 1], search.nodes[count, 2] = node, first, span


@inner
def _copy(nodes: Ints, source: int, target: int) -> None:
    for k in range(3):
        nodes[target, k] = nodes[source, k]


@inner
def _rise(keys: Floats, nodes: Ints, place: int, key: float) -> int:
    """Make room in a heap for a new key; return its place."""
    while place > 0 and keys[(place - 1) >> 1] > key:
        parent = (place - 1) >> 1
        keys[place] = keys[parent]
        _copy(nodes, parent, place)
        place = parent
    return place


@inner
def _pop(keys: Floats, nodes: Ints, count: int) -> int:
    """Move the nearest node of a heap behind the others; return how many are left."""
    last = count - 1
    key, node, first, span = keys[last], nodes[last, 0], nodes[last, 1], nodes[last, 2]
    keys[last] = keys[0]
    _copy(nodes, 0, last)
    place, child = 0, 1
    while child < last:
        if child + 1 < last and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[place] = keys[child]
        _copy(nodes, child, place)
        place, child = child, 2 * child + 1
    if last > 0:
        keys[place] = key
        nodes[place, 0], nodes[place, 1], nodes[place, 2] = node, first, span
    return last
