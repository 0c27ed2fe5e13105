"""Counting the neighbours of records that lie together, up to 64 at once.

A group goes down the wide tree, near nodes first; children whose boxes settle all pairs are counted
for everyone or dropped on the way. First a few *pivots* look at the leaves: if `cap` records lie
within radius - d of a pivot, every record of the group within d of it has reached the cap (triangle
inequality). Only records that no pivot settles are compared with the leaves' records, through the
float32 filter; the pairs that it leaves open are settled by the reference predicate. `proof.md`
shows that none of this changes a count.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from whitecrow._arrays import Floats, Int32s, Ints
from whitecrow.neighbours._kernels.alone import WAITING, insert
from whitecrow.neighbours._kernels.filter import approach, limits, margins
from whitecrow.neighbours._kernels.inner import bare, inner
from whitecrow.neighbours._kernels.lanes import lowest_bit, ones, real_lanes, tile
from whitecrow.neighbours._kernels.metric import close
from whitecrow.neighbours._kernels.pivots import (
    PIVOTS,
    Pivots,
    look_from_pivots,
    place_pivots,
    settled_by_pivot,
)
from whitecrow.neighbours._kernels.tables import (
    ALONE,
    BRANCHES,
    LANES,
    Index,
    Relation,
    WideTree,
    Workspace,
    room_for,
)
from whitecrow.neighbours._kernels.wide import compare_children
from whitecrow.neighbours.relation import MIXED, step

_QUARTER = LANES // 4

_PATIENCE = 3  # pivots look at this many times the leaves that could bring them to the cap

_TRIAL = 16  # A group looks at this many leaves before it asks whether that was worth it

_WORTH = 20
"""Records of a group that a leaf leaves open, on average, for looking together to be worth it."""

_FAR, _WIDE = 0.0625, 0.5
"""One over the radii from corner to corner from which on a box is divided, since records so far
apart share few leaves: where they may be counted alone, and where not."""

_WAITS, _EVERYONE = range(2)


class Group(NamedTuple):
    """The records that are being counted for."""

    records: Floats  # columns x 64
    # Of each record: where its count goes, and how many neighbours it has so far beside those
    # that everyone has.
    rows: Ints
    found: Ints


class Walk(NamedTuple):
    """A walk down the tree around one group."""

    # low, high: the box around the records that still count.
    low: Floats
    high: Floats
    near: Floats  # how near each child of a node is to the middle of the box
    # keys, nodes: What waits, a node or -1 - leaf, siblings by how near they are, nearest last.
    keys: Floats
    nodes: Ints
    state: Ints  # how many wait; how many records are close to everyone in the group


def count_blocks(
    index: Index,
    relation: Relation,
    asked: Floats,
    rows: Int32s,
    cap: int,
    first: int,
    last: int,
    counts: Int32s,
    together: bool = False,
) -> None:
    """Count the neighbours of some blocks of ``asked`` (blocks x columns x 64), up to ``cap``.

    Near records lie together. ``rows`` says where each lane's count goes; lanes after the last one
    hold no record. ``counts`` receives min(neighbours, cap), or ALONE for a record of a group whose
    others need other leaves. Where they are to be counted ``together``, nobody is left alone, and
    pivots stay home: the cap is hardly in reach.
    """
    columns, leaves = len(relation.scales), len(index.blocks)
    group = Group(np.empty((columns, LANES)), np.empty(LANES, np.int64), np.empty(LANES, np.int64))
    walk = Walk(
        np.empty(columns),
        np.empty(columns),
        np.empty(BRANCHES),
        np.empty(WAITING),
        np.empty(WAITING, np.int64),
        np.empty(2, np.int64),
    )
    pivots = Pivots(
        np.empty((columns, PIVOTS)), np.empty((PIVOTS, 2)), np.empty((PIVOTS, 2), np.int64)
    )
    seen = np.empty(min(leaves, _PATIENCE * (cap // LANES) + 8), np.int64)
    room = group, walk, room_for(LANES, columns), pivots, seen
    _count(index, relation, asked, rows, cap, first, last, counts, together, *room)


@bare
def _count(
    index: Index,
    relation: Relation,
    asked: Floats,
    rows: Int32s,
    cap: int,
    first: int,
    last: int,
    counts: Int32s,
    together: bool,
    group: Group,
    walk: Walk,
    space: Workspace,
    pivots: Pivots,
    seen: Ints,
) -> None:
    tried, settled = 0, 0
    trial, far = _TRIAL + 2 * (cap // LANES), _WIDE if together else _FAR
    lane = first * LANES
    while lane < last * LANES:
        take = LANES if lane % LANES == 0 else _QUARTER
        active = _gather(group, asked, rows, lane, take)
        if active == 0:
            break
        wide = _enclose(relation, walk, group.records, active, far)
        if wide and active > _QUARTER:
            take = active = _QUARTER
            wide = _enclose(relation, walk, group.records, active, far)
        lane += take
        if not together and (active == 1 or wide):
            _give_up(group, active, counts)
            continue
        walk.nodes[0], walk.state[_WAITS], walk.state[_EVERYONE] = 0, 1, 0
        boxed, visited = active, 0

        # Where pivots have settled little so far (many columns, few neighbours), they stay home.
        hopeful = not together and (tried < 8 * LANES or settled * 16 > tried)
        if hopeful and active > PIVOTS and relation.kind != MIXED and relation.radius > 0.0:
            place_pivots(relation, group.records, active, pivots)
            while visited < len(seen):
                leaf = _next_leaf(index.tree, relation, walk, cap)
                if leaf < 0:
                    break
                seen[visited] = leaf
                visited += 1
                missing = cap - walk.state[_EVERYONE]
                if look_from_pivots(index, relation, pivots, space, leaf, missing):
                    break
            before = active
            missing = cap - walk.state[_EVERYONE]
            # From the last to the first: what fills a gap has been looked at already.
            for i in range(before - 1, -1, -1):
                if settled_by_pivot(relation, group.records, i, before, pivots, missing):
                    active -= 1
                    _leave(group, i, active, cap, counts)
            tried += before
            settled += before - active

        replayed, looked, opened = 0, 0, 0
        while active > 0:
            if 2 * active <= boxed:
                # Fewer records are left: their smaller box decides more.
                _enclose(relation, walk, group.records, active, far)
                boxed = active
            if replayed < visited:
                leaf = seen[replayed]
                replayed += 1
            else:
                leaf = _next_leaf(index.tree, relation, walk, cap)
                if leaf < 0:
                    break
            most, count = _look(index, relation, group, space, active, leaf)
            if walk.state[_EVERYONE] + most >= cap:
                for i in range(active - 1, -1, -1):
                    if walk.state[_EVERYONE] + group.found[i] >= cap:
                        active -= 1
                        _leave(group, i, active, cap, counts)
            looked += 1
            opened += count
            if not together and looked >= trial and opened < _WORTH * looked:
                # The few that are left, each in its own small box, meet far fewer leaves.
                _give_up(group, active, counts)
                active = 0
        for i in range(active):
            total = walk.state[_EVERYONE] + group.found[i]
            counts[group.rows[i]] = min(cap, total)


@inner
def _gather(group: Group, asked: Floats, rows: Int32s, first: int, take: int) -> int:
    """Bring some records of a block together; return how many they are."""
    active = max(0, min(take, len(rows) - first))
    for i in range(active):
        lane = first + i
        group.rows[i] = rows[lane]
        group.found[i] = 0
        for c in range(len(group.records)):
            group.records[c, i] = asked[lane // LANES, c, lane % LANES]
    return active


@inner
def _enclose(relation: Relation, walk: Walk, records: Floats, active: int, part: float) -> bool:
    """Put a box around the first records; say whether a part of it is wider than the radius."""
    across = 0.0
    for c in range(len(walk.low)):
        low = high = records[c, 0]
        for i in range(1, active):
            low = min(low, records[c, i])
            high = max(high, records[c, i])
        walk.low[c], walk.high[c] = low, high
        across = step(relation.kind, across, part * (high - low), relation.scales[c])
    return bool(across > relation.threshold)


@inner
def _next_leaf(tree: WideTree, relation: Relation, walk: Walk, cap: int) -> int:
    """Return a leaf that the boxes leave open, near ones first, or -1.

    Nodes on the way whose boxes settle every pair are dropped, or counted for everyone.
    """
    state, near = walk.state, walk.near
    while state[_WAITS] > 0 and state[_EVERYONE] < cap:
        state[_WAITS] -= 1
        node = walk.nodes[state[_WAITS]]
        if node < 0:
            return int(-1 - node)
        some, every = compare_children(relation, tree, node, walk.low, walk.high, near)
        some &= ~every
        while every:
            state[_EVERYONE] += tree.children[node, 1, lowest_bit(every)]
            every &= every - np.uint64(1)
        # The box overlaps many: they are ordered from its middle, which decides nothing else.
        for k in range(BRANCHES):
            near[k] = 0.0
        for c in range(len(walk.low)):
            middle = 0.5 * walk.low[c] + 0.5 * walk.high[c]
            for k in range(BRANCHES):
                low, high = tree.boxes[node, c, 0, k], tree.boxes[node, c, 1, k]
                gap = max(max(low - middle, middle - high), 0.0)
                near[k] += gap * gap
        first = state[_WAITS]
        while some:
            child = lowest_bit(some)
            some &= some - np.uint64(1)
            below = tree.children[node, 0, child]
            insert(walk.keys, walk.nodes, first, state[_WAITS], near[child], below)
            state[_WAITS] += 1
    return -1


@inner
def _look(
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


@inner
def _give_up(group: Group, active: int, counts: Int32s) -> None:
    """Leave the records of a group to be counted alone."""
    for i in range(active):
        counts[group.rows[i]] = ALONE


@inner
def _leave(group: Group, i: int, last: int, cap: int, counts: Int32s) -> None:
    """Write the cap for a record and let the last one take its place."""
    counts[group.rows[i]] = cap
    group.rows[i] = group.rows[last]
    group.found[i] = group.found[last]
    for c in range(len(group.records)):
        group.records[c, i] = group.records[c, last]
