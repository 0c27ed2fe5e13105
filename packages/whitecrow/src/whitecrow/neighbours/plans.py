"""Which way to count: every way gives the same integers, the shape of the question decides.

====================================  =============================================================
one record, or a few, no index        a look at all records
many records                          an index is built, the records are counted in groups
every record, up to 3 columns         a grid first; an index over what the grid leaves open
every record, more columns            an index; groups of neighbouring records, or one by one
little work, all in all               numpy: see :class:`Kernels`
====================================  =============================================================
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from whitecrow._arrays import Counts, Int32s, Matrix
from whitecrow._compiled import KERNELS
from whitecrow.errors import invalid
from whitecrow.neighbours._kernels.tables import LANES, Relation
from whitecrow.neighbours._products import FEWEST, count_products
from whitecrow.neighbours.cells import GRID_COLUMNS, settle
from whitecrow.neighbours.index import (
    Arranged,
    Progress,
    Readable,
    arranged,
    count_each,
    count_in,
    count_together,
)
from whitecrow.neighbours.relation import SQUARES, Form, NeighbourRelation, measures


def give_back() -> None:
    """Return freed memory to the system: the GNU C library keeps some of it until it is told.

    Others have no such function, and nothing happens.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


_FEW = 128  # with fewer numbers in the question, looking at all records is cheaper than an index
_MANY = 8  # records asked about are counted in groups when they are at least one in this many
_SOON, _NARROW, _SMALL = 512, 10, 1 << 13
"""Up to this cap and so many columns, or among so few records without a cap, a record meets few
leaves: alone it takes about as long as in a group, half as long at a small radius, and the largest
kernel is not compiled for a first question."""
_GRID_FROM = 5_000
_RUN = 64  # blocks of an index that are put in k-d order where its records come cell by cell
_SORTED = 8  # it pays where at least one is asked about for so many records


def count_records(values: Matrix, form: Form, asked: Matrix, cap: int) -> Counts:
    """Count the neighbours of some records, without an index at hand."""
    size, columns = values.shape
    if size == 0 or len(asked) == 0:
        return np.zeros(len(asked), np.int64)
    if not KERNELS.pay(_work(form, size, columns, len(asked))):
        return _count_few(values, form, asked, cap)
    if asked.size < _FEW or size < LANES:
        return _scanned(values, form, asked, cap)
    return count_through(arranged(values, form), form, asked, cap)


def count_in_part(
    values: Matrix, form: Form, asked: Matrix, cap: int, order: Callable[[], Counts] | None = None
) -> Counts:
    """Count the neighbours of some records among a part of all, of which the cap speaks.

    Near ones are together among those asked about; ``order`` lists the values so, if that is known.
    """
    size, columns = values.shape
    if len(asked) < LANES or size < LANES:
        return count_records(values, form, asked, cap)
    if not KERNELS.pay(_work(form, size, columns, len(asked))):
        return _count_few(values, form, asked, cap)
    if order is None:
        index = arranged(values, form)
    else:
        run = _RUN if len(asked) * _SORTED > size else 0
        index = arranged(values, form, order=order(), ordered=size, run=run)
    return count_together(index, form, asked, cap)


def count_every(
    read: Callable[[], Matrix],
    form: Form,
    cap: int | None,
    progress: Progress | None = None,
    pieces: Callable[[tuple[int, int]], Readable] | None = None,
) -> Counts:
    """Count the neighbours of every record.

    ``read`` gives the records, ``pieces`` the same for a shape that is known, to be read some at a
    time: where an index is made of them the first copy is gone by then, since memory is the
    tightest there.
    """
    values = read()
    size, columns = values.shape
    cap = checked_cap(cap, size, "degrees")
    if size == 0:
        return np.zeros(0, np.int64)
    if not KERNELS.pay(_work(form, size, columns, size)):
        return _count_few(values, form, values, cap)
    settled = None
    if columns <= GRID_COLUMNS and size >= _GRID_FROM:
        settled = settle(values, form, cap, size // _MANY)
    if settled is None:
        records = values if pieces is None else pieces((size, columns))
        del values
        if pieces is not None:
            give_back()
        index = arranged(records, form, progress)
        sums = _grouped(index, form, index, cap, progress)
        del index
        return sums.astype(np.int64)
    counts, asking = settled.counts, settled.asking
    if len(asking):
        index = arranged(values, None, progress, order=settled.nearby, ordered=settled.within)
        counts[asking] = _grouped(index, form, arranged(values[asking]), cap, progress)
    return counts


def count_through(index: Arranged, form: Form, asked: Matrix, cap: int) -> Counts:
    """Count the neighbours of some records in an index."""
    size = index.tables.size
    if len(asked) * _MANY >= size and len(asked) >= LANES:
        return _grouped(index, form, arranged(asked), cap, None).astype(np.int64)
    return count_each(index, form, np.ascontiguousarray(asked), cap)


def count_indexed(
    index: Arranged, form: Form, cap: int, progress: Progress | None = None
) -> Counts:
    """Count the neighbours of every record of an index, in the order of its rows."""
    return _grouped(index, form, index, cap, progress).astype(np.int64)


def _grouped(
    index: Arranged, form: Form, asked: Arranged, cap: int, progress: Progress | None
) -> Int32s:
    """Count for records that are arranged, near ones together: in groups where that pays."""
    blocks, size = asked.tables.blocks, index.tables.size
    soon = cap <= _SOON or cap == size <= _SMALL
    together = not soon or blocks.shape[1] > _NARROW
    return count_in(index, form, blocks, asked.ids, cap, progress, together=together)


def scattered_step(size: int) -> int:
    """Return a step of about 0.618 of a size, without common factor: any run of steps is spread
    evenly over all places."""
    step = max(1, round(size * 0.6180339887))
    while math.gcd(step, size) > 1:
        step += 1
    return step


def _scanned(values: Matrix, form: Form, asked: Matrix, cap: int) -> Counts:
    from whitecrow.neighbours._kernels.metric import RUN, count_scanned

    jump = scattered_step(-(-len(values) // RUN))
    relation = Relation(form.kind, form.threshold, np.array(form.scales), 0.0)
    counts: Counts = count_scanned(values, relation, asked, cap, jump)
    return counts


# Counting with numpy alone. Importing the compiler takes a second: a question about a table of
# moderate size is answered sooner without it. The sums are the reference predicate's own steps on
# arrays, so the counts are the same.

_ROWS = 1 << 15
_FIRST_ROWS = 1 << 10  # most records reach a small cap among few others
_PRODUCT = 4
"""A product of matrices does at least as many differences of columns in the time of one."""


def _work(form: Form, size: int, columns: int, asked: int) -> int:
    """Return what numpy takes to count, in the time of a difference between two columns."""
    pairs = size * columns * asked
    return pairs // _PRODUCT if form.kind == SQUARES and asked >= FEWEST else pairs


def _count_few(data: Matrix, form: Form, records: Matrix, cap: int) -> Counts:
    counts = count_products(data, form, records, cap) if len(records) >= FEWEST else None
    return count_plain(data, form, records, cap) if counts is None else counts


def count_plain(data: Matrix, form: Form, records: Matrix, cap: int) -> Counts:
    """Return min(number of close data records, cap) for each record, by looking at all of them."""
    counts = np.zeros(len(records), np.int64)
    columns = np.ascontiguousarray(data.T) if len(records) > 1 else data.T
    with np.errstate(all="ignore"):
        for i, record in enumerate(records):
            first, rows = 0, _FIRST_ROWS
            while first < len(data) and counts[i] < cap:
                near = measures(form, columns[:, first : first + rows], record) <= form.threshold
                counts[i] += np.count_nonzero(near)
                first, rows = first + rows, min(4 * rows, _ROWS)
    return np.minimum(counts, cap)


# Arrays from outside, checked once

_FEW_NUMBERS = 10_000
"""So many are summed by a product of vectors, which starts sooner and on one core."""


def checked_data(data: ArrayLike, owner: str) -> Matrix:
    """Return data as a C-contiguous matrix of doubles, or refuse it."""
    values = _doubles(data, owner, "data")
    if values.ndim != 2 or values.shape[1] < 1:
        raise invalid(owner, "data", "have two dimensions and at least one column", values.shape)
    return _finite(values, owner, "data")


def checked_records(records: ArrayLike, width: int, owner: str) -> Matrix:
    """Return the records asked about as a matrix of doubles of the data's width."""
    values = _doubles(records, owner, "records")
    if values.ndim == 1:
        values = values.reshape(1, -1)
    if values.ndim != 2 or values.shape[1] != width:
        raise invalid(owner, "records", f"have {width} numbers each", values.shape)
    return _finite(values, owner, "records")


class CountsByForm:
    """Counts around records that are asked about: what two questions of every engine come to."""

    def _count(
        self, asked: Matrix, relation: NeighbourRelation, form: Form, cap: int | None
    ) -> Counts:
        raise NotImplementedError

    def neighbours(
        self, records: ArrayLike, neighbour_relation: NeighbourRelation, cap: int | None = None
    ) -> Counts:
        """Count the records that are close to each of these, up to a cap."""
        asked = checked_records(records, len(neighbour_relation.columns), "neighbours")
        return self._count(asked, neighbour_relation, neighbour_relation.form(), cap)

    def copies(
        self, records: ArrayLike, neighbour_relation: NeighbourRelation, cap: int | None = None
    ) -> Counts:
        """Count the records that are at the place of each of these, up to a cap."""
        asked = checked_records(records, len(neighbour_relation.columns), "copies")
        return self._count(asked, neighbour_relation, neighbour_relation.form().same_place, cap)


def checked_cap(cap: int | None, size: int, owner: str) -> int:
    """Return the largest count worth knowing: the cap, or the number of records."""
    if cap is None:
        return size
    if isinstance(cap, bool) or not isinstance(cap, int | np.integer) or cap < 1:
        raise invalid(owner, "cap", "a whole number of at least 1, or None", cap)
    return min(int(cap), size)


def _doubles(values: ArrayLike, owner: str, parameter: str) -> Matrix:
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid(owner, parameter, "an array of numbers", type(values).__name__) from None


def _finite(values: Matrix, owner: str, parameter: str) -> Matrix:
    if not _finite_sum(values) and not np.isfinite(values).all():
        raise invalid(owner, parameter, "finite numbers", "a value that is missing or infinite")
    return values


def _finite_sum(values: Matrix) -> bool:
    """Say whether a sum is finite: then its terms are, and it takes less time than they do."""
    if values.size <= _FEW_NUMBERS:
        return math.isfinite(np.vdot(values, values))
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(np.sum(values))
