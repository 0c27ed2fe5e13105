"""Which way to count: every way gives the same integers, the shape of the question decides.

====================================  ===========================================================
one record, or a few, no index        a look at all records
many records                          an index is built, the records are counted in groups
every record, up to 3 columns         a grid first; an index over what the grid leaves open
every record, more columns            an index; groups of neighbouring records
small work, compiler not yet loaded   numpy
====================================  ===========================================================
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours import grid
from whitecrow.neighbours._kernels.tables import LANES, Relation
from whitecrow.neighbours.index import Arranged, Progress, arranged, count_in, weights_for
from whitecrow.neighbours.plain import count_index_plain, count_plain
from whitecrow.neighbours.predicates import MIXED
from whitecrow.neighbours.relation import Form
from whitecrow.neighbours.validation import checked_cap

__all__ = ["count_every", "count_indexed", "count_records", "count_through", "equality"]

Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]

_SOON = 50_000_000
"""Column differences that numpy computes sooner than the compiler is loaded."""
_FEW = 128
"""With fewer numbers in the question, looking at all records is cheaper than an index."""
_MANY = 8
"""Records asked about are counted in groups when they are at least one in this many."""
_GRID_FROM = 5_000


def equality(width: int, metric: str) -> Form:
    """Return the form of "one place by the metric": equal in all that it compares.

    These are the columns; for haversine the coordinates on the sphere, where a pole has every
    longitude and the date line has two.
    """
    return Form(MIXED, 0.0, (0.0,) * (3 if metric == "haversine" else width))


def count_records(values: Matrix, form: Form, asked: Matrix, cap: int) -> Counts:
    """Count the neighbours of some records, without an index at hand."""
    size, columns = values.shape
    if size == 0 or len(asked) == 0:
        return np.zeros(len(asked), np.int64)
    if _sooner_plain(size * columns * len(asked)):
        return count_plain(values, form, asked, cap)
    if asked.size < _FEW or size < LANES:
        return _scanned(values, form, asked, cap)
    return count_through(arranged(values, weights_for(form)), form, asked, cap)


def count_every(
    read: Callable[[], Matrix], form: Form, cap: int | None, progress: Progress | None = None
) -> Counts:
    """Count the neighbours of every record.

    ``read`` gives the records. Where an index is made of them it is asked again, so that the first
    copy is gone by then: memory is the tightest there.
    """
    values = read()
    size, columns = values.shape
    cap = checked_cap(cap, size, "degrees")
    if size == 0:
        return np.zeros(0, np.int64)
    if _sooner_plain(size * size * columns):
        return count_plain(values, form, values, cap)
    settled = None
    if columns <= grid.MOST_COLUMNS and size >= _GRID_FROM:
        settled = grid.settle(values, form, cap, size // _MANY)
    if settled is None:
        del values
        index = arranged(read(), weights_for(form), progress)
        return count_indexed(index, form, cap, progress)
    counts, asking = settled.counts, settled.asking
    if len(asking):
        index = arranged(values, None, progress, order=settled.nearby, ordered=settled.within)
        counts[asking] = _grouped(index, form, arranged(values[asking]), cap, progress)
    return counts


def count_through(index: Arranged, form: Form, asked: Matrix, cap: int) -> Counts:
    """Count the neighbours of some records in an index."""
    size, columns = index.tables.size, asked.shape[1]
    if "numba" not in sys.modules and len(asked) * columns < _FEW:
        return count_index_plain(index.tables, form, asked, cap)
    if len(asked) * _MANY >= size and len(asked) >= LANES:
        return _grouped(index, form, arranged(asked), cap, None)
    scattered = np.ascontiguousarray(asked).reshape(len(asked), columns, 1)
    return count_in(index, form, scattered, np.arange(len(asked), dtype=np.int32), cap)


def count_indexed(
    index: Arranged, form: Form, cap: int, progress: Progress | None = None
) -> Counts:
    """Count the neighbours of every record of an index, in the order of its rows."""
    return _grouped(index, form, index, cap, progress)


def _grouped(
    index: Arranged, form: Form, asked: Arranged, cap: int, progress: Progress | None
) -> Counts:
    """Count in groups for records that are arranged, near ones together."""
    return count_in(index, form, asked.tables.blocks, asked.ids, cap, progress)


def _scanned(values: Matrix, form: Form, asked: Matrix, cap: int) -> Counts:
    from whitecrow.neighbours._kernels.scan import RUN, count_scanned

    runs = -(-len(values) // RUN)
    # About 0.618 of the way round, so that the runs visited first are spread evenly.
    jump = max(1, int(runs * 0.6180339887))
    while math.gcd(jump, runs) > 1:
        jump += 1
    relation = Relation(form.kind, form.threshold, np.array(form.scales), 0.0)
    counts: Counts = count_scanned(values, relation, asked, cap, jump)
    return counts


def _sooner_plain(work: int) -> bool:
    return "numba" not in sys.modules and work <= _SOON
