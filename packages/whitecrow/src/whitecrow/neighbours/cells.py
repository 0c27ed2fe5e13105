"""Settling records from a histogram of cells, wherever the records are.

The records of each inhabited cell are counted, here or in a warehouse; the histogram, which is
small, says which cells are certified and which cells the others touch (`proof.md`, "Cells"): a cell
is certified when the cells that lie wholly within the radius of all its points hold `cap` records.
Its own records have then reached the cap, and no distance was computed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from whitecrow._arrays import Counts, Flags, Matrix
from whitecrow.neighbours import parallel
from whitecrow.neighbours.relation import MIXED, Form, step

_FINEST = (64, 24, 10, 6, 6)  # cells along one radius, at most, for one column, two, and so on
MOST_COLUMNS = len(_FINEST)
GRID_COLUMNS = 3
"""Columns up to which a table at hand is settled cell by cell, when all its records are counted."""
_GRID_CELLS, _GRID_SAMPLE = 1 << 17, 4096
_LARGE = 1 << 24
"""From so many records on up to twice as many, where looking around them takes a fraction of a step
for each record: what they certify, and what they show to be far, need not be counted."""
COMPILED = 1 << 16
"""From so many records on, loading the compiled kernels pays."""
_FINEST_TABLE = 24  # the same where all keys have a table
TABLE = 1 << 22
"""So many keys have one."""
_BITS = 52  # A key is a whole number that a double holds
_MOST_BITS = 24
_CELLS_APART = 4
_MOST_STEPS = 1 << 30
_MARGIN = 2.0**-20
"""How much wider or narrower than its side a cell may be, by rounding: see `proof.md`."""


@dataclass(frozen=True, repr=False)
class Lattice:
    """Cells of one side, numbered so that neighbours along the last column have successive keys."""

    form: Form  # when records are close
    lowest: Matrix  # the lower corner
    side: float  # of a cell
    fineness: int  # sides in a radius
    # Keys along each column, of which the last ``fineness + 2`` are of no cell: so no run of cells
    # around one reaches into the next row.
    pitches: tuple[int, ...]

    @cached_property
    def _spans(self) -> Counts:
        """Places along each column."""
        return np.array(self.pitches) - (self.fineness + 2)

    @cached_property
    def _strides(self) -> list[int]:
        """How far apart in keys neighbours along each column are."""
        return [math.prod(self.pitches[c + 1 :]) for c in range(len(self.pitches))]

    @property
    def total(self) -> int:
        """How many keys there are."""
        return math.prod(self.pitches)

    def _places(self, keys: Counts) -> list[Counts]:
        """Return the place of cells along each column."""
        return [keys // s % p for s, p in zip(self._strides, self.pitches, strict=True)]

    def along(self, keys: Counts) -> Counts:
        """Return numbers by which near cells come near each other: their bits, interleaved."""
        places, total, shift = self._places(keys), np.zeros(len(keys), np.int64), 0
        for bit in range(max(self.pitches).bit_length()):
            for coordinate, pitch in zip(places, self.pitches, strict=True):
                if pitch >> bit:
                    total |= (coordinate >> bit & 1) << shift
                    shift += 1
        return total

    def inner(self, keys: Counts) -> Flags:
        """Say which cells are not outermost: those reach to infinity, and vouch for nobody."""
        inner = np.ones(len(keys), bool)
        for coordinate, span in zip(self._places(keys), self._spans, strict=True):
            inner &= (coordinate > 0) & (coordinate < span - 1)
        return inner

    def keys(self, values: Matrix) -> Counts:
        """Return the keys of records at hand."""
        least, ends = self.side * 2.0**-60, self.lowest + (self._spans - 0.5) * self.side
        paces = np.array(self.pitches, np.float64)
        if len(values) >= COMPILED:
            from whitecrow.neighbours._kernels.cells import number

            keys = np.empty(len(values), np.int64)
            rows = np.ascontiguousarray(values)
            number(rows, self.lowest, ends, self.side, least, paces, keys)
            return keys
        total = np.zeros(len(values))
        for c, (low, high) in enumerate(zip(self.lowest, ends, strict=True)):
            above = np.maximum(np.clip(values[:, c], low, high) - low, least)
            total = total * paces[c] + np.floor(above / self.side)
        return total.astype(np.int64)

    def judged(self, keys: Counts, counts: Counts, cap: int) -> Judged:
        """Say which cells are certified, from the inhabited cells, ascending, and their counts."""
        keys = np.ascontiguousarray(keys)
        inner = self.inner(keys)
        vouching, runs = np.where(inner, counts, 0), self._runs(1.0 + _MARGIN, 1)
        if self.total > TABLE:
            certified = self._around(keys, vouching, runs) >= cap
        else:
            from whitecrow.neighbours._kernels.cells import certify

            sums = np.zeros(self.total + 1, np.int64)
            sums[keys + 1] = vouching
            np.cumsum(sums, out=sums)
            certified = np.zeros(len(keys), bool)
            spans = parallel.chunks(len(keys), 4096)
            parallel.run([partial(certify, sums, keys, *runs, cap, certified, *s) for s in spans])
        return Judged(self, keys, counts, np.flatnonzero(~(inner & certified)))

    def touched(self, keys: Counts, chosen: Counts) -> Flags:
        """Say which cells may hold neighbours of the records of the chosen places, ascending."""
        runs = self._runs(1.0 - _MARGIN, -1)
        if self.total <= TABLE:
            from whitecrow.neighbours._kernels.cells import mark

            ends = np.zeros(self.total + 1, np.int32)
            mark(keys[chosen], *runs, ends)
            touched: Flags = np.cumsum(ends)[keys] > 0
            return touched
        far = int(np.max(np.abs(runs[0]) + runs[1]))
        first = int(np.searchsorted(keys, keys[chosen[0]] - far))
        last = int(np.searchsorted(keys, keys[chosen[-1]] + far, side="right"))
        weights = np.zeros(last - first, np.int64)
        weights[chosen - first] = 1
        nearby = np.zeros(len(keys), bool)
        nearby[first:last] = self._around(keys[first:last], weights, runs) > 0
        return nearby

    def steps(self) -> int:
        """Return about how many runs are visited for each cell."""
        return len(self._runs(1.0 - _MARGIN, -1)[0])

    def _around(self, keys: Counts, weights: Counts, runs: tuple[Counts, Counts]) -> Counts:
        from whitecrow.neighbours._kernels.cells import around

        sums = np.concatenate([[0], np.cumsum(weights)])

        def some(first: int, last: int) -> Counts:
            part = np.zeros(len(keys), np.int64)
            around(keys, sums, runs[0][first:last], runs[1][first:last], part)
            return part

        totals = np.zeros(len(keys), np.int64)
        spans = parallel.chunks(len(runs[0]), 32)
        for part in parallel.results([partial(some, *span) for span in spans]):
            totals += part
        return totals

    def _runs(self, width: float, more: int) -> tuple[Counts, Counts]:
        """Return shifts and reaches of the runs of cells that are close to a cell, near ones first.

        Records k cells apart differ by at most ``k + 1`` sides (``more`` is 1: cells of which all
        records are close) and by at least ``k - 1`` (``more`` is -1: of which any may be), with a
        margin for rounding; the predicate's own steps say whether such differences are close.
        """
        columns = len(self.lowest)
        reach = self.fineness + 1
        gaps = np.maximum(np.arange(reach + 1) + more, 0) * (self.side * width)
        total = np.zeros((reach + 1,) * columns)
        for c, scale in enumerate(self.form.scales):
            along = gaps.reshape([-1 if axis == c else 1 for axis in range(columns)])
            total = step(self.form.kind, total, along, scale)
        lengths = (total <= self.form.threshold).sum(axis=-1) - 1
        both = range(-reach, reach + 1)
        shifts, reaches = [], []
        every = itertools.product(both, repeat=columns - 1)
        for offsets in sorted(every, key=lambda those: sum(o * o for o in those)):
            length = int(lengths[tuple(map(abs, offsets))])
            if length >= 0:
                shifts.append(sum(o * s for o, s in zip(offsets, self._strides, strict=False)))
                reaches.append(length)
        return np.array(shifts, np.int64), np.array(reaches, np.int64)


@dataclass(frozen=True, repr=False)
class Batch:
    """Cells that are not certified, and the cells around them."""

    asking: Counts  # cells that are not certified
    # near, held: These and all cells that may hold neighbours of their records, and how many they
    # hold.
    near: Counts
    held: Counts
    asked: int  # how many records the uncertified cells hold

    @property
    def nearby(self) -> int:
        """How many records lie in all these cells."""
        return int(self.held.sum())


@dataclass(frozen=True, repr=False)
class Judged:
    """What the histogram says."""

    lattice: Lattice  # the cells
    # keys, counts: The inhabited ones, ascending, and their records.
    keys: Counts
    counts: Counts
    asking: Counts  # the places of those that are not certified

    @property
    def asked(self) -> int:
        """How many records are not certified."""
        return int(self.counts[self.asking].sum())

    def batches(self, most: int) -> Iterator[Batch]:
        """Yield the uncertified cells in batches of about ``most`` records, near ones together."""
        number = (np.cumsum(self.counts[self.asking]) - 1) // most
        for chosen in np.split(self.asking, np.flatnonzero(np.diff(number)) + 1):
            if len(chosen):
                near = self.lattice.touched(self.keys, chosen)
                yield Batch(
                    self.keys[chosen],
                    self.keys[near],
                    self.counts[near],
                    int(self.counts[chosen].sum()),
                )


def _radius(form: Form, columns: int) -> float | None:
    """Return the radius of a form that cells can be laid out for; None if they cannot."""
    fit = columns <= MOST_COLUMNS and form.kind != MIXED and 1e-100 < form.radius < 1e100
    return form.radius if fit else None


def _fits(lattice: Lattice) -> bool:
    """Say whether the cells' ends are rounded by no more than a part of a side."""
    return bool((np.abs(lattice.lowest) <= lattice.side * 2.0**48).all())


def lay_out(sample: Matrix, form: Form, size: int, most: int) -> Lattice | None:
    """Choose the finest lattice with about ``most`` inhabited cells; None if none would do.

    It reaches far beyond the bulk of the records at no cost: only inhabited cells are listed. The
    sample decides only how well the lattice works.
    """
    columns = sample.shape[1]
    radius = _radius(form, columns)
    if radius is None:
        return None
    pitch = 1 << min(_MOST_BITS, _BITS // columns)
    # Halved: the sum of two values in the middle may be beyond the largest number.
    middle = 2.0 * np.median(sample / 2.0, axis=0)
    finest = _FINEST[columns - 1]
    for fineness in range(finest if size < _LARGE else 2 * finest, 1, -1):
        side = radius / fineness
        lowest = middle - side * (pitch >> 1)
        lattice = Lattice(form, lowest, side, fineness, (pitch,) * columns)
        if not _fits(lattice):
            return None
        cells = min(size, _inhabited(lattice.keys(sample)))
        steps = _MOST_STEPS if fineness <= finest else min(_MOST_STEPS, size // 2)
        if cells <= most and cells * lattice.steps() <= steps:
            return lattice
    return None


def lay_over(sample: Matrix, form: Form, most: int) -> Lattice | None:
    """Choose the finest lattice over a sample with at most ``most`` cells; None if none would do.

    All its keys fit a table. The outermost values of the sample are left out, so that a few far
    records do not make the lattice coarse; they fall into its outermost cells.
    """
    radius = _radius(form, sample.shape[1])
    if radius is None:
        return None
    ordered = np.sort(sample, axis=0)
    out = min(_CELLS_APART, (len(sample) - 1) // 2)
    low, high = ordered[out], ordered[-1 - out]
    for fineness in range(_FINEST_TABLE, 1, -1):
        side = radius / fineness
        with np.errstate(over="ignore"):  # an infinite number of cells is merely too many
            spans = (high - low) / side
            few = np.prod(spans + 4.0) <= most
        if few:
            pitches = tuple(int(span) + 4 + fineness + 2 for span in spans)
            lattice = Lattice(form, low - side, side, fineness, pitches)
            if lattice.total <= TABLE:
                return lattice if _fits(lattice) else None
    return None


def _inhabited(keys: Counts) -> float:
    """Estimate how many cells are inhabited from the keys of a sample (Chao's first estimator)."""
    _, counts = np.unique(keys, return_counts=True)
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    return float(len(counts) + once * max(0, once - 1) / (2.0 * (twice + 1)))


def in_order(ranks: NDArray[np.integer]) -> Counts:
    """List rows by the ranks of their cells, a row's place being its number."""
    from whitecrow.neighbours._kernels.cells import line_up

    order = np.empty(len(ranks), np.int64)
    line_up(ranks.astype(np.int64), order)
    return order


# Counting for every record of a table with few columns: most are settled cell by cell. What remains
# are the records in thin places, and they need only the records of the cells within their reach.


@dataclass(frozen=True, repr=False)
class Settled:
    """What the cells tell."""

    counts: Counts  # the cap for settled records, 0 for the others
    asking: Counts  # the rows that are not settled
    # These and all rows that may be close to them, cell by cell so that near ones are together, and
    # at the end those of outermost cells.
    nearby: Counts
    within: int  # how many of ``nearby`` lie in other cells


def settle(values: Matrix, form: Form, cap: int, most: int) -> Settled | None:
    """Settle what cells can, or return None where they would leave more than ``most`` open."""
    size = len(values)
    sample = values[:: max(1, size // _GRID_SAMPLE)]
    lattice = lay_over(sample, form, min(_GRID_CELLS, max(256, size // 8)))
    if lattice is None:
        return None
    spans = parallel.chunks(size, 1 << 18)
    parts = parallel.results([partial(lattice.keys, values[slice(*span)]) for span in spans])
    keys = np.concatenate(list(parts))
    held = np.bincount(keys, minlength=lattice.total)
    inhabited = np.flatnonzero(held)
    judged = lattice.judged(inhabited, held[inhabited], cap)
    if judged.asked > most:
        return None

    rank = np.full(lattice.total, -1, np.int32)
    asking, within = np.zeros(lattice.total, bool), 0
    for batch in judged.batches(size):  # all of them, in one
        inner = lattice.inner(batch.near)
        within = int(batch.held[inner].sum())
        listed = batch.near[np.lexsort([lattice.along(batch.near), ~inner])]
        rank[listed] = np.arange(len(listed), dtype=np.int32)
        asking[batch.asking] = True
    ranks = rank[keys]
    rows = np.flatnonzero(ranks >= 0)
    nearby = rows[in_order(ranks[rows])]
    open_ = asking[keys]
    counts = np.where(open_, 0, cap)
    return Settled(counts, np.flatnonzero(open_), nearby, within)
