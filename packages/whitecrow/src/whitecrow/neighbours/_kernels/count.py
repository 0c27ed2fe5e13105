"""Counting neighbours through the tree.

A group of up to 64 records that lie together is counted at once. Leaves of the tree are visited
nearest first; nodes whose boxes settle all pairs are counted or dropped whole on the way. First a
few *pivots* look at the leaves: if `cap` records lie within radius - d of a pivot, every record of
the group within d of it has reached the cap (triangle inequality). Only records that no pivot
settles are compared with the leaves' records, through the float32 filter; the pairs that it leaves
open are settled by the reference predicate. `proof.md` shows that none of this changes a count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours._kernels.inner import bare, inner
from whitecrow.neighbours._kernels.leaf import Group, look, room_for_groups
from whitecrow.neighbours._kernels.pivots import (
    PIVOTS,
    Pivots,
    look_from_pivots,
    place_pivots,
    settled_by_pivot,
)
from whitecrow.neighbours._kernels.search import (
    EVERYONE,
    Search,
    begin,
    enclose,
    next_leaf,
    too_wide,
)
from whitecrow.neighbours._kernels.tables import LANES, Index, Relation, Workspace
from whitecrow.neighbours.relation import MIXED

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Rows = NDArray[np.int32]

_QUARTER = LANES // 4

_PATIENCE = 3
"""Pivots look at this many times the leaves that could bring them to the cap."""


_TRIAL = 16
"""A group looks at this many leaves before it asks whether that was worth it."""

_WORTH = 20
"""Records of a group that a leaf leaves open, on average, for looking together to be worth it."""

ALONE = -1
"""The count of a record that is better counted alone."""


def count_blocks(
    index: Index,
    relation: Relation,
    asked: Floats,
    rows: Rows,
    cap: int,
    first: int,
    last: int,
    counts: Rows,
) -> None:
    """Count the neighbours of some blocks of ``asked`` (blocks x columns x 64), up to ``cap``.

    Near records lie together. ``rows`` says where each lane's count goes; lanes after the last one
    hold no record. ``counts`` receives min(neighbours, cap), or ALONE for a record of a group whose
    others need other leaves.
    """
    columns, leaves = len(relation.scales), len(index.blocks)
    group, space = room_for_groups(columns)
    search = Search(
        np.empty(columns),
        np.empty(columns),
        np.empty(columns),
        np.empty(leaves + 2),
        np.empty((leaves + 2, 3), np.int64),
        np.empty(4, np.int64),
    )
    pivots = Pivots(
        np.empty((columns, PIVOTS)),
        np.empty((PIVOTS, 2)),
        np.empty((PIVOTS, 2), np.int64),
    )
    seen = np.empty(leaves, np.int64)
    _count(
        index,
        relation,
        asked,
        rows,
        cap,
        first,
        last,
        counts,
        group,
        search,
        space,
        pivots,
        seen,
    )


@bare
def _count(
    index: Index,
    relation: Relation,
    asked: Floats,
    rows: Rows,
    cap: int,
    first: int,
    last: int,
    counts: Rows,
    group: Group,
    search: Search,
    space: Workspace,
    pivots: Pivots,
    seen: Ints,
) -> None:
    tried, settled = 0, 0
    lane = first * LANES
    while lane < last * LANES:
        # Records that lie far apart share no leaves: they are counted in smaller groups, or alone.
        take = LANES if lane % LANES == 0 else _QUARTER
        active = _gather(group, search, asked, rows, lane, take)
        if active > 0 and take > _QUARTER and too_wide(relation, search):
            take = _QUARTER
            active = _gather(group, search, asked, rows, lane, take)
        lane += take
        if active == 0:
            continue
        if active == 1 or too_wide(relation, search):
            _give_up(group, active, counts)
            continue
        begin(index, relation, search)
        boxed, visited = active, 0

        # Where pivots have settled little so far (many columns, few neighbours), they stay home.
        hopeful = tried < 8 * LANES or settled * 16 > tried
        if hopeful and active > PIVOTS and relation.kind != MIXED and relation.radius > 0.0:
            place_pivots(relation, group.records, active, pivots)
            patience = _PATIENCE * (cap // LANES) + 8
            while visited < patience:
                leaf = next_leaf(index, relation, search, cap)
                if leaf < 0:
                    break
                seen[visited] = leaf
                visited += 1
                missing = cap - search.state[EVERYONE]
                if look_from_pivots(index, relation, pivots, space, leaf, missing):
                    break
            before = active
            active = _retire_by_pivots(relation, group, search, pivots, active, cap, counts)
            tried += before
            settled += before - active

        replayed, looked, opened = 0, 0, 0
        while active > 0:
            if 2 * active <= boxed:
                # Fewer records are left: their smaller box decides more.
                enclose(search, group.records, active)
                boxed = active
            if replayed < visited:
                leaf = seen[replayed]
                replayed += 1
            else:
                leaf = next_leaf(index, relation, search, cap)
                if leaf < 0:
                    break
            most, count = look(index, relation, group, space, active, leaf)
            if search.state[EVERYONE] + most >= cap:
                active = _retire(group, search, active, cap, counts)
            looked += 1
            opened += count
            if looked >= _TRIAL + 2 * (cap // LANES) and opened < _WORTH * looked:
                # The few that are left, each in its own small box, meet far fewer leaves.
                _give_up(group, active, counts)
                active = 0
        for i in range(active):
            total = search.state[EVERYONE] + group.found[i]
            counts[group.rows[i]] = min(cap, total)


@inner
def _gather(group: Group, search: Search, asked: Floats, rows: Rows, first: int, take: int) -> int:
    """Bring some records of a block together, in a box; return how many they are."""
    active = max(0, min(take, len(rows) - first))
    for i in range(active):
        lane = first + i
        group.rows[i] = rows[lane]
        group.found[i] = 0
        for c in range(len(group.records)):
            group.records[c, i] = asked[lane // LANES, c, lane % LANES]
    if active > 0:
        enclose(search, group.records, active)
    return active


@inner
def _give_up(group: Group, active: int, counts: Rows) -> None:
    """Leave the records of a group to be counted alone."""
    for i in range(active):
        counts[group.rows[i]] = ALONE


@inner
def _retire(group: Group, search: Search, active: int, cap: int, counts: Rows) -> int:
    """Write down the records that have reached the cap; return how many are left."""
    i = 0
    while i < active:
        if search.state[EVERYONE] + group.found[i] >= cap:
            active -= 1
            _leave(group, i, active, cap, counts)
        else:
            i += 1
    return active


@inner
def _retire_by_pivots(
    relation: Relation,
    group: Group,
    search: Search,
    pivots: Pivots,
    active: int,
    cap: int,
    counts: Rows,
) -> int:
    """Write down the records that a pivot has brought to the cap; return how many are left."""
    began = active
    # From the last to the first: the record that fills a gap has been looked at already.
    for i in range(began - 1, -1, -1):
        missing = cap - search.state[EVERYONE]
        if settled_by_pivot(relation, group.records, i, began, pivots, missing):
            active -= 1
            _leave(group, i, active, cap, counts)
    return active


@inner
def _leave(group: Group, i: int, last: int, cap: int, counts: Rows) -> None:
    """Write the cap for a record and let the last one take its place."""
    counts[group.rows[i]] = cap
    group.rows[i] = group.rows[last]
    group.found[i] = group.found[last]
    for c in range(len(group.records)):
        group.records[c, i] = group.records[c, last]
