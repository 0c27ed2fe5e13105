"""An index over the records of some columns: built once, asked often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from whitecrow._arrays import Bytes, Counts, Flags, Int32s, Matrix, Singles
from whitecrow.neighbours import parallel
from whitecrow.neighbours._kernels.tables import (
    ALONE,
    BRANCHES,
    EXTRA,
    LANES,
    LINES,
    Index,
    Relation,
    WideTree,
    aligned,
    room_for,
)
from whitecrow.neighbours.relation import MIXED, Form

_PIECE = 1 << 13  # records that are copied into an index at once
_AT_ONCE = 1 << 9
"""Columns of blocks that are framed at once: few enough to stay near the processor."""
_LEAST_TASK = 1024  # records to count for that are worth a task of their own
_PATIENCE = 512
"""Leaves that a record looks at alone; outliers share the many that they need (count_part)."""

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
    ids: Int32s  # for each place in the order, the row it came from
    # Whether the float32 filter is scaled and knows categories, as gower and hamming need it.
    mixed: bool
    faithful: bool  # whether float32 holds every category exactly; if not, the filter is not used


Count = Callable[[Arranged, Relation, Matrix, int], Counts]


def arranged(
    values: Readable,
    form: Form | None = None,
    progress: Progress | None = None,
    *,
    order: Counts | None = None,
    ordered: int = 0,
    run: int = 0,
) -> Arranged:
    """Build the index of at least one record; values are copied once, a piece at a time.

    ``form`` is the measure that the filter is for, ``order`` the rows to take, if not all. So many
    of them as are ``ordered``, from the first on, have near ones together already; their blocks
    are put in order among themselves, ``run`` by run.
    """
    from whitecrow.neighbours._kernels.tree import arrange

    size, columns = values.shape if order is None else (len(order), values.shape[1])
    blocks = -(-size // LANES)
    mixed = form is not None and form.kind == MIXED
    scales = np.array(form.scales) if form is not None and mixed else np.ones(columns)
    weights, categories = _weights(scales)
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
        for part in parts:
            arrange(rows, ids, weights, *part, whole=False)
        parts = [
            half
            for start, span in parts
            for half in ((start, (span + 1) // 2), (start + (span + 1) // 2, span // 2))
        ]
    if run:
        parts += [(start, min(run, first - start)) for start in range(0, first, run)]
    parallel.run([partial(arrange, rows, ids, weights, *part, whole=True) for part in parts])
    report(1, 3, "preparing the filter")
    # The lanes after the last record repeat it, so that they widen no box; they are never counted.
    flat[size * columns :].reshape(-1, columns)[:] = rows[-1:]
    packed = flat.reshape(blocks, columns, LANES)
    sides = np.empty((2, blocks, columns))
    frames = np.empty((blocks, columns + EXTRA))
    local = aligned((blocks, columns + LINES, LANES), np.float32)
    step = max(1, _AT_ONCE // columns)
    spans = list(parallel.chunks(blocks, step))
    parallel.run([partial(_pack, packed, sides, step, *span) for span in spans])
    low, high = sides
    widest = float((0.5 * high.max(axis=0) - 0.5 * low.min(axis=0)).max())
    units = _units(low, high, widest) if not mixed else np.ones(blocks)
    frames[:, :columns] = np.where(categories, 0.0, 0.5 * low + 0.5 * high)
    frames[:, columns] = units
    described = (packed, weights, categories, frames, local, step)
    parallel.run([partial(_frame, *described, *span) for span in spans])
    report(2, 3, "boxing records")
    tree = _wide_tree(size, low, high)
    report(3, 3, "boxing records")

    tables = Index(size, packed, local, frames, weights, categories, int(categories.sum()), tree)
    return Arranged(tables, ids, mixed, _faithful(packed, categories))


def _pack(packed: Matrix, sides: Matrix, step: int, first: int, last: int) -> None:
    """Turn blocks from 64 rows into a line for each column, in place; note their lowest and
    highest values."""
    for start in range(first, last, step):
        some = packed[start : min(start + step, last)]
        count, columns, _ = some.shape
        some[:] = some.reshape(count, LANES, columns).transpose(0, 2, 1).copy()
        here = slice(start, start + count)
        some.min(axis=2, out=sides[0, here])
        some.max(axis=2, out=sides[1, here])


def _wide_tree(size: int, low: Matrix, high: Matrix) -> WideTree:
    """Return the tree over blocks of which the lowest and highest values are given.

    A node of more than 16^k blocks, and at most 16 times as many, has as children the parts of at
    most 16^k blocks that halving gives, the first half rounded up: sixteen or fewer.
    """
    blocks, columns = low.shape
    most = 1
    while most * BRANCHES < blocks:
        most *= BRANCHES
    spans, levels = np.array([blocks]), []
    while most:
        parents = np.arange(len(spans))
        while (spans > most).any():
            halves = np.where(spans > most, (spans + 1) // 2, spans)
            both = np.column_stack([halves, spans - halves]).ravel()
            parents, spans = np.repeat(parents, 2)[both > 0], both[both > 0]
        levels.append((parents, spans))
        most //= BRANCHES
    nodes = 1 + sum(len(spans) for _, spans in levels[:-1])
    boxes = aligned((nodes, columns, 2, BRANCHES), np.float64)
    children, present = np.zeros((nodes, 2, BRANCHES), np.int64), np.zeros(nodes, np.uint64)
    boxes[:], above, below = 0.0, 0, 1
    for parents, spans in levels:
        first, node = np.cumsum(spans) - spans, above + parents
        branch = np.arange(len(spans)) - np.searchsorted(parents, parents)
        boxes[node, :, 0, branch] = np.minimum.reduceat(low, first)
        boxes[node, :, 1, branch] = np.maximum.reduceat(high, first)
        numbers = below + np.arange(len(spans))
        children[node, 0, branch] = -1 - first if spans is levels[-1][1] else numbers
        children[node, 1, branch] = np.minimum(size, (first + spans) * LANES) - first * LANES
        np.bitwise_or.at(present, node, np.uint64(1) << branch.astype(np.uint64))
        above, below = below, below + len(spans)
    return WideTree(boxes, children, present)


def _units(low: Matrix, high: Matrix, widest: float) -> Matrix:
    """Return the unit of each block: about its own half-width, as a power of two.

    ``widest``, the half-width of all data, keeps that of a block of equal records sensible. A unit
    of 0 marks a block for which only the exact predicate is used.
    """
    half = np.maximum((0.5 * high - 0.5 * low).max(axis=1), widest * 2.0**-20)
    fit = (half > 1e-150) & (half < 1e150)
    return np.where(fit, np.exp2(-np.ceil(np.log2(np.where(fit, half, 1.0)))), 0.0)


def _frame(
    packed: Matrix,
    weights: Matrix,
    categories: Bytes,
    frames: Matrix,
    local: Singles,
    step: int,
    first: int,
    last: int,
) -> None:
    """Fill in the float32 copies of some blocks, each in its own frame, and how far they reach."""
    columns = packed.shape[1]
    # What float32 cannot hold is infinite, and so is the reach: the filter is not used there.
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(first, last, step):
            here = slice(start, min(start + step, last))
            values = packed[here] - frames[here, :columns, None]
            values *= weights[:, None]
            values *= frames[here, columns, None, None]
            local[here, :columns] = values
            sizes = np.abs(local[here, :columns], dtype=np.float64)
            sizes[:, categories == 1] = 0.0
            lengths = np.einsum("bcl,bcl->bl", sizes, sizes)
            local[here, columns] = -0.5 * lengths
            local[here, columns + 1] = -0.5 * local[here, :columns].sum(axis=1, dtype=np.float64)
            frames[here, columns + 1] = np.sqrt(lengths.max(axis=1))
            frames[here, columns + 2] = sizes.sum(axis=1).max(axis=1)
            frames[here, columns + 3] = sizes.max(axis=(1, 2))


def near_together(records: Matrix) -> Int32s:
    """Return an order of records in which near ones are together: that of an index."""
    from whitecrow.neighbours._kernels.tree import arrange

    rows, ids = records.copy(), np.arange(len(records), dtype=np.int32)
    arrange(rows, ids, np.ones(rows.shape[1]), 0, -(-len(rows) // LANES), whole=True)
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
    return Relation(form.kind, form.threshold, scales, form.radius if usable else 0.0)


def count_in(
    index: Arranged,
    form: Form,
    asked: Matrix,
    rows: Int32s,
    cap: int,
    progress: Progress | None = None,
    *,
    together: bool = True,
) -> Int32s:
    """Count neighbours for blocks (blocks x columns x 64) of records that lie together.

    Each block is counted ``together``, or each record alone: the counts are the same. ``rows`` has
    for each lane that holds a record the place of its count in the result. The counts are int32:
    beside an index of all records memory is short.
    """
    counts = np.full(len(rows), ALONE, np.int32)
    relation = relation_of(form, index, asked)
    report = progress or _silent
    done = 0

    def task(first: int, last: int) -> None:
        nonlocal done

        def left(count: Count, step: int = _LEAST_TASK) -> None:
            """Count those records of these blocks that have no count yet."""
            for start in range(first * LANES, last * LANES, step):
                stop = min(start + step, last * LANES)
                some = start + np.flatnonzero(counts[rows[start:stop]] == ALONE)
                if len(some):
                    records = np.ascontiguousarray(asked[some // LANES, :, some % LANES])
                    counts[rows[some]] = count(index, relation, records, cap)

        if together:
            from whitecrow.neighbours._kernels.count import count_blocks

            count_blocks(index.tables, relation, asked, rows, cap, first, last, counts)
            left(partial(_count_alone, patience=_PATIENCE))
            left(_count_together, (last - first) * LANES)
        else:
            left(_count_alone)
        done += last - first
        report(done, len(asked), "counting neighbours")

    spans = parallel.chunks(len(asked), _LEAST_TASK // LANES)
    parallel.run([partial(task, *span) for span in spans])
    return counts


def _in_spans(count: Count, index: Arranged, form: Form, asked: Matrix, cap: int) -> Counts:
    if not asked.flags.writeable:
        asked = asked.copy()  # else the kernel would be compiled once more
    relation = relation_of(form, index, asked)
    if len(asked) <= _LEAST_TASK:
        return count(index, relation, asked, cap)
    spans = parallel.chunks(len(asked), _LEAST_TASK)
    tasks = [partial(count, index, relation, asked[slice(*span)], cap) for span in spans]
    return np.concatenate(list(parallel.results(tasks)))


def _count_alone(
    index: Arranged, relation: Relation, asked: Matrix, cap: int, patience: int = 1 << 31
) -> Counts:
    from whitecrow.neighbours._kernels.alone import WAITING, count_alone

    counts = np.empty(len(asked), np.int64)
    room = np.empty(BRANCHES), np.empty(WAITING), np.empty(WAITING, np.int64)
    space = room_for(1, asked.shape[1])
    count_alone(index.tables, relation, asked, cap, patience, counts, space, *room)
    return counts


def _count_together(index: Arranged, relation: Relation, asked: Matrix, cap: int) -> Counts:
    from whitecrow.neighbours._kernels.count import count_blocks

    size, columns = asked.shape
    blocks = -(-size // LANES)
    lanes = np.resize(asked, (blocks, LANES, columns)).transpose(0, 2, 1).copy()
    counts, rows = np.empty(size, np.int32), np.arange(size, dtype=np.int32)
    count_blocks(index.tables, relation, lanes, rows, cap, 0, blocks, counts, together=True)
    return counts.astype(np.int64)


count_each = partial(_in_spans, _count_alone)
"""Counts neighbours for scattered records, one in each row."""

count_together = partial(_in_spans, _count_together)
"""Counts neighbours for records of which near ones are together, the cap out of reach."""


def _weights(scales: Matrix) -> tuple[Matrix, Bytes]:
    weights = np.ones_like(scales)
    np.divide(1.0, scales, out=weights, where=_moderate(scales))
    return weights, (scales == 0.0).astype(np.uint8)


def _moderate(scales: Matrix) -> Flags:
    """Say which ranges have an inverse that is a good float; others leave the filter unused."""
    return (scales > 1e-100) & (scales < 1e100)


def _faithful(blocks: Matrix, categories: Bytes) -> bool:
    """Say whether every category survives the conversion to float32."""
    return all(
        bool((blocks[:, c] == blocks[:, c].astype(np.float32)).all())
        for c in np.flatnonzero(categories)
    )


def _silent(done: int, total: int, what: str) -> None:
    """Report to nobody."""
