"""Counting the neighbours of records that have little in common, each by itself.

A record goes down the wide tree, nearest nodes first; children whose boxes settle all pairs are
counted or dropped whole. The leaves that are left are compared through the float32 filter, and the
pairs that it leaves open by the reference predicate, as for groups (`count.py`).
"""

from __future__ import annotations

import numpy as np

from whitecrow._arrays import Floats, Ints
from whitecrow.neighbours._kernels.filter import approach_alone, limits, margins
from whitecrow.neighbours._kernels.inner import bare, inner
from whitecrow.neighbours._kernels.lanes import lowest_bit, ones, real_lanes, tile_alone
from whitecrow.neighbours._kernels.metric import close
from whitecrow.neighbours._kernels.tables import ALONE, BRANCHES, LANES, Index, Relation, Workspace
from whitecrow.neighbours._kernels.wide import compare_children

WAITING = 9 * BRANCHES
"""Nodes that wait: at most fifteen on each level, and nine levels hold more than 2^31 records."""


@bare
def count_alone(
    index: Index,
    relation: Relation,
    asked: Floats,
    cap: int,
    patience: int,
    counts: Ints,
    space: Workspace,
    least: Floats,
    keys: Floats,
    nodes: Ints,
) -> None:
    """Write min(neighbours, cap) of each record into ``counts``.

    There is ``space`` for one record, room for BRANCHES numbers, and twice for what waits.
    A record that needs more than ``patience`` leaves, and hardly gets to the cap, is left ALONE.
    """
    tree = index.tree
    for i in range(len(asked)):
        record = asked[i]
        count_found, looked, count = 0, 0, 1
        nodes[0] = 0
        while count > 0 and count_found < cap and looked < patience:
            count -= 1
            node = nodes[count]
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
                    count_found += _look(index, relation, record, -1 - next_node, space)
                else:
                    insert(keys, nodes, first, count, least[child], next_node)
                    count += 1
        counts[i] = min(count_found, cap) if count == 0 or count_found >= cap else ALONE


@inner
def insert(keys: Floats, nodes: Ints, first: int, count: int, near: float, node: int) -> None:
    """Let a node wait among its siblings, which begin at ``first``, the nearest of them last."""
    slot = count
    while slot > first and keys[slot - 1] < near:
        keys[slot], nodes[slot] = keys[slot - 1], nodes[slot - 1]
        slot -= 1
    keys[slot], nodes[slot] = near, node


@inner
def _look(index: Index, relation: Relation, record: Floats, leaf: int, space: Workspace) -> int:
    """Return how many records of a leaf are close to one record."""
    here = min(LANES, index.size - leaf * LANES)
    rho, reach, slack, error = margins(index, relation, leaf)
    real = real_lanes(here)
    count, doubt = 0, real
    if rho > 0.0:
        inner_size, outer_size, sure, possible = limits(index, relation, rho, reach, slack, error)
        size, half = approach_alone(index, relation, record, leaf, space)
        if size <= inner_size:
            return here
        if size > outer_size:
            return 0
        space.sure[0], space.possible[0] = np.float32(half + sure), np.float32(half + possible)
        surely, possibly = tile_alone(relation.kind, space, 0, 0, index, leaf)
        count = int(ones(surely & real))
        doubt = possibly & ~surely & real
    while doubt:
        count += close(relation, record, index.blocks[leaf, :, lowest_bit(doubt)])
        doubt &= doubt - np.uint64(1)
    return count
