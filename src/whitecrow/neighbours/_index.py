"""An index over the records of some columns: built once, asked often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours import _parallel as parallel
from whitecrow.neighbours._kernels.tables import EXTRA, LANES, Index, Relation
from whitecrow.neighbours.relation import MIXED, SQUARES, Form

__all__ = ["Arranged", "Progress", "Readable", "arranged", "count_in", "relation_of", "weights_for"]

Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.uint8]
Rows = NDArray[np.int32]

_PIECE = 1 << 16
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
    """Records in k-d order with everything that counting needs.

    Parameters
    ----------
    tables : Index
        The arrays that kernels read.
    ids : int32 array
        For each place in the order, the row it came from.
    mixed : bool
        Whether the float32 filter is scaled and knows categories, as gower and hamming need it.
    faithful : bool
        Whether float32 holds every category exactly; if not, the filter is not used.
    """

    tables: Index
    ids: Rows
    mixed: bool
    faithful: bool


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
) -> Arranged:
    """Build the index of at least one record.

    Parameters
    ----------
    values : float64 array of shape (n, d)
        Finite numbers; copied once, into the index, a piece at a time.
    mixture : (weights, categories), optional
        What :func:`weights_for` returned.
    order : int64 array, optional
        The rows to take, if not all.
    ordered : int
        How many of them, from the first on, have near ones together already.
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

    first_time = "" if tree.arrange.signatures else " (compiling, first run only)"
    report(0, 3, f"arranging records{first_time}")
    first = -(-ordered // LANES)
    parts = [(first, blocks - first)] if first < blocks else []
    while 0 < len(parts) < parallel.workers() and parts[0][1] >= 32:
        parts = [half for part in parts for half in _halved(tree, rows, ids, weights, part)]
    parallel.run([partial(tree.arrange, rows, ids, weights, *part) for part in parts])
    report(1, 3, "boxing records")
    spans = list(parallel.chunks(blocks, 512))
    parallel.run([partial(tree.pack, flat, size, columns, *span) for span in spans])
    packed = flat.reshape(blocks, columns, LANES)
    boxes = tree.boxes_of(packed)
    report(2, 3, "preparing the filter")
    frames = np.empty((blocks, columns + EXTRA))
    local = np.empty((blocks, columns + 1, LANES), np.float32)
    with np.errstate(over="ignore"):
        widest = float(np.max(0.5 * boxes[0, 1] - 0.5 * boxes[0, 0]))
    described = (packed, weights, categories, mixture is None, widest, frames, local)
    parallel.run([partial(filters.frame, *described, *span) for span in spans])
    report(3, 3, "preparing the filter")

    tables = Index(size, packed, boxes, local, frames, weights, categories, int(categories.sum()))
    return Arranged(tables, ids, mixture is not None, _faithful(packed, categories))


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
) -> Counts:
    """Count neighbours for blocks of records.

    Parameters
    ----------
    asked : float64, blocks x columns x lanes
        64 lanes of records that lie together, or one lane for scattered records.
    rows : int32
        For each lane that holds a record, the place of its count in the result.
    """
    counts = np.empty(len(rows), np.int64)
    given = (index.tables, relation_of(form, index, asked), asked, rows, cap)
    if len(rows) <= _WORTH:
        _count_span(*given, 0, len(asked), counts)
        return counts
    report = progress or _silent
    done = 0

    def task(first: int, last: int) -> None:
        nonlocal done
        _count_span(*given, first, last, counts)
        done += last - first
        report(done, len(asked), "counting neighbours")

    spans = parallel.chunks(len(asked), _WORTH // asked.shape[2])
    parallel.run([partial(task, *span) for span in spans])
    return counts


def _count_span(
    tables: Index,
    relation: Relation,
    asked: Matrix,
    rows: Rows,
    cap: int,
    first: int,
    last: int,
    counts: Counts,
) -> None:
    """Count for some blocks: in groups, and one by one for those that have little in common."""
    from whitecrow.neighbours._kernels.count import ALONE, count_blocks

    count_blocks(tables, relation, asked, rows, cap, first, last, counts)
    lanes = asked.shape[2]
    if lanes > 1:
        places = first * lanes + np.flatnonzero(counts[rows[first * lanes : last * lanes]] == ALONE)
        alone = asked[places // lanes, :, places % lanes][:, :, None]
        count_blocks(tables, relation, alone, rows[places], cap, 0, len(alone), counts)


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
