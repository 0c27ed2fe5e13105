"""An index over the records of some columns: built once, asked often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours import parallel
from whitecrow.neighbours._kernels.tables import (
    BRANCHES,
    EXTRA,
    LANES,
    Index,
    Relation,
    WideTree,
    aligned,
    most_wide_nodes,
)
from whitecrow.neighbours.relation import MIXED, SQUARES, Form

Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.uint8]
Rows = NDArray[np.int32]

_PIECE = 1 << 13
"""Records that are copied into an index at once."""
_WORTH = 1024
"""Records to count for that are worth a task of their own."""

Progress = Callable[[int, int, str], None]
"""Called as ``progress(done, total, what)`` during long work."""

_LEAST, _MOST = 1e-280, 1e280
"""Thresholds between these neither underflow nor overflow on the way (`proof.md`)."""


class Readable(Protocol):
    """A matrix, or what is read like one, some rows at a time."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Records and columns."""

    def __getitem__(self, some: slice, /) -> Matrix:
        """Return some records."""


@dataclass(frozen=True, repr=False)
class Arranged:
    """Records in k-d order with everything that counting needs."""

    tables: Index  # the arrays that kernels read
    ids: Rows  # for each place in the order, the row it came from
    # Whether the float32 filter is scaled and knows categories, as gower and hamming need it.
    mixed: bool
    faithful: bool  # whether float32 holds every category exactly; if not, the filter is not used

    @cached_property
    def wide(self) -> WideTree:
        """The tree for records that are asked about alone: made of the boxes when first needed."""
        from whitecrow.neighbours._kernels.tree import widen

        count, columns = most_wide_nodes(len(self.tables.blocks)), self.tables.blocks.shape[1]
        tree = WideTree(
            aligned((count, columns, 2, BRANCHES), np.float64),
            np.empty((count, 2, BRANCHES), np.int64),
            np.empty(count, np.uint64),
        )
        widen(self.tables.size, self.tables.boxes, tree)
        return tree


def weights_for(form: Form) -> tuple[Matrix, Flags] | None:
    """Return the filter's weights and categories for a measure, or None for the plain ones."""
    return _weights(np.array(form.scales)) if form.kind == MIXED else None


def arranged(
    values: Readable,
    mixture: tuple[Matrix, Flags] | None = None,
    progress: Progress | None = None,
    *,
    order: Counts | None = None,
    ordered: int = 0,
    run: int = 0,
) -> Arranged:
    """Build the index of at least one record; values are copied once, a piece at a time.

    ``mixture`` is what :func:`weights_for` returned, ``order`` the rows to take, if not all. So
    many of them as are ``ordered``, from the first on, have near ones together already; their
    blocks are put in order among themselves, ``run`` by run.
    """
    from whitecrow.neighbours._kernels import filter as filters
    from whitecrow.neighbours._kernels import tree

    size, columns = values.shape if order is None else (len(order), values.shape[1])
    blocks = -(-size // LANES)
    weights, categories = mixture or (np.ones(columns), np.zeros(columns, np.uint8))
    flat = np.empty(blocks * LANES * columns)
    rows = flat[: size * columns].reshape(size, columns)
    if order is None:
        for start in range(0, size, _PIECE):
            rows[start : start + _PIECE] = values[start : start + _PIECE]
    else:
        np.take(np.asarray(values), order, axis=0, out=rows, mode="clip")
    del values  # gone, unless the caller keeps it
    ids = np.arange(size, dtype=np.int32)
    report = progress or _silent

    report(0, 3, "arranging records")
    first = -(-ordered // LANES)
    parts = [(first, blocks - first)] if first < blocks else []
    while 0 < len(parts) < parallel.workers() and parts[0][1] >= 32:
        parts = [half for part in parts for half in _halved(tree, rows, ids, weights, part)]
    if run:
        parts += [(start, min(run, first - start)) for start in range(0, first, run)]
    parallel.run([partial(tree.arrange, rows, ids, weights, *part) for part in parts])
    report(1, 3, "boxing records")
    spans = list(parallel.chunks(blocks, 512))
    parallel.run([partial(tree.pack, flat, size, columns, *span) for span in spans])
    packed = flat.reshape(blocks, columns, LANES)
    boxes = tree.boxes_of(packed)
    report(2, 3, "preparing the filter")
    frames = np.empty((blocks, columns + EXTRA))
    local = aligned((blocks, columns + 1, LANES), np.float32)
    with np.errstate(over="ignore"):
        widest = float(np.max(0.5 * boxes[0, 1] - 0.5 * boxes[0, 0]))
    described = (packed, weights, categories, mixture is None, widest, frames, local)
    parallel.run([partial(filters.frame, *described, *span) for span in spans])
    report(3, 3, "preparing the filter")

    tables = Index(size, packed, boxes, local, frames, weights, categories, int(categories.sum()))
    return Arranged(tables, ids, mixture is not None, _faithful(packed, categories))


def near_together(records: Matrix) -> Rows:
    """Return an order of records in which near ones are together: that of an index."""
    from whitecrow.neighbours._kernels import tree

    rows, ids = records.copy(), np.arange(len(records), dtype=np.int32)
    tree.arrange(rows, ids, np.ones(rows.shape[1]), 0, -(-len(rows) // LANES))
    return ids


def relation_of(form: Form, index: Arranged, asked: Matrix) -> Relation:
    """Return the predicate for the kernels; its radius is 0 where the filter may not be used.

    That is where the index was made for another kind of measure, where a threshold is so small
    or large that the reference predicate itself underflows or overflows, or where a category
    does not fit a float32.
    """
    scales = np.array(form.scales)
    usable = _LEAST <= form.threshold <= _MOST and (form.kind == MIXED) == index.mixed
    if usable and index.mixed:
        weights, categories = _weights(scales)
        usable = (
            bool(_moderate(scales[categories == 0]).all())
            and np.array_equal(weights, index.tables.weights)
            and np.array_equal(categories, index.tables.categories)
            and index.faithful
            and _faithful(asked, categories)
        )
    radius = form.threshold**0.5 if form.kind == SQUARES else form.threshold
    return Relation(form.kind, form.threshold, scales, radius if usable else 0.0)


def count_in(
    index: Arranged,
    form: Form,
    asked: Matrix,
    rows: Rows,
    cap: int,
    progress: Progress | None = None,
    *,
    together: bool = True,
) -> Rows:
    """Count neighbours for blocks (blocks x columns x 64) of records that lie together.

    Each block is counted ``together``, or each record alone: the counts are the same. ``rows`` has
    for each lane that holds a record the place of its count in the result. The counts are int32:
    beside an index of all records memory is short.
    """
    from whitecrow.neighbours._kernels.count import ALONE, count_blocks

    counts = np.full(len(rows), ALONE, np.int32)
    relation = relation_of(form, index, asked)
    report = progress or _silent
    done = 0

    def task(first: int, last: int) -> None:
        nonlocal done
        if together:
            count_blocks(index.tables, relation, asked, rows, cap, first, last, counts)
        _count_left(index, relation, asked, rows, cap, first, last, counts)
        done += last - first
        report(done, len(asked), "counting neighbours")

    spans = parallel.chunks(len(asked), _WORTH // LANES)
    parallel.run([partial(task, *span) for span in spans])
    return counts


def _count_left(
    index: Arranged,
    relation: Relation,
    asked: Matrix,
    rows: Rows,
    cap: int,
    first: int,
    last: int,
    counts: Rows,
) -> None:
    """Count one by one for records of some blocks that have little in common."""
    from whitecrow.neighbours._kernels.count import ALONE

    for start in range(first * LANES, last * LANES, _WORTH):
        stop = min(start + _WORTH, last * LANES)
        some = start + np.flatnonzero(counts[rows[start:stop]] == ALONE)
        if len(some):
            blocks = asked[start // LANES : stop // LANES].transpose(0, 2, 1)
            alone = blocks.reshape(-1, asked.shape[1])[some - start]
            counts[rows[some]] = _count_alone(index, relation, alone, cap)


def count_each(index: Arranged, form: Form, asked: Matrix, cap: int) -> Counts:
    """Count neighbours for scattered records, one in each row."""
    return _in_spans(_count_alone, index, form, asked, cap)


def count_together(index: Arranged, form: Form, asked: Matrix, cap: int) -> Counts:
    """Count neighbours for records of which near ones are together, the cap out of reach."""
    return _in_spans(_count_part, index, form, asked, cap)


def _in_spans(
    count: Callable[[Arranged, Relation, Matrix, int], Counts],
    index: Arranged,
    form: Form,
    asked: Matrix,
    cap: int,
) -> Counts:
    if not asked.flags.writeable:
        asked = asked.copy()  # else the kernel would be compiled once more
    relation = relation_of(form, index, asked)
    if len(asked) <= _WORTH:
        return count(index, relation, asked, cap)
    spans = parallel.chunks(len(asked), _WORTH)
    tasks = [partial(count, index, relation, asked[slice(*span)], cap) for span in spans]
    return np.concatenate(list(parallel.results(tasks)))


def _count_alone(index: Arranged, relation: Relation, asked: Matrix, cap: int) -> Counts:
    from whitecrow.neighbours._kernels.alone import ROOM, count_alone

    counts = np.empty(len(asked), np.int64)
    room = np.empty(ROOM + asked.shape[1])
    count_alone(index.tables, index.wide, relation, asked, cap, counts, room)
    return counts


def _count_part(index: Arranged, relation: Relation, asked: Matrix, cap: int) -> Counts:
    from whitecrow.neighbours._kernels.part import count_part

    counts = np.empty(len(asked), np.int64)
    count_part(index.tables, index.wide, relation, asked, cap, counts)
    return counts


def _halved(
    tree: object, rows: Matrix, ids: Rows, weights: Matrix, part: tuple[int, int]
) -> list[tuple[int, int]]:
    first, blocks = part
    tree.split(rows, ids, weights, first, blocks)  # type: ignore[attr-defined]
    half = (blocks + 1) // 2
    return [(first, half), (first + half, blocks - half)]


def _weights(scales: Matrix) -> tuple[Matrix, Flags]:
    weights = np.ones_like(scales)
    np.divide(1.0, scales, out=weights, where=_moderate(scales))
    return weights, (scales == 0.0).astype(np.uint8)


def _moderate(scales: Matrix) -> NDArray[np.bool_]:
    """Say which ranges have an inverse that is a good float; others leave the filter unused."""
    return (scales > 1e-100) & (scales < 1e100)


def _faithful(blocks: Matrix, categories: Flags) -> bool:
    """Say whether every category survives the conversion to float32."""
    return all(
        bool((blocks[:, c] == blocks[:, c].astype(np.float32)).all())
        for c in np.flatnonzero(categories)
    )


def _silent(done: int, total: int, what: str) -> None:
    """Report to nobody."""
