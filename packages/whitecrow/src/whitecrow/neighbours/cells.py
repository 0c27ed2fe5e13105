"""Settling records from a histogram of cells, where the records themselves are elsewhere.

The warehouse counts the records of each inhabited cell; the histogram, which is small, says which
cells are certified and which cells the others touch (`proof.md`, "Cells"). Unlike the grid of
:mod:`~whitecrow.neighbours._grid`, which lies over records at hand, this lattice reaches far beyond
the bulk of the data at no cost: only inhabited cells are listed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours import parallel
from whitecrow.neighbours.relation import MIXED, SQUARES, Form, step

Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]

_FINEST = (64, 24, 10, 6, 6)
"""Cells along one radius, at most, for one column, two, and so on."""
MOST_COLUMNS = len(_FINEST)
_LARGE = 1 << 24
"""From so many records on up to twice as many, where looking around them takes a fraction of a step
for each record: what they certify, and what they show to be far, need not be counted."""
COMPILED = 1 << 16
"""From so many records on, loading the compiled kernels pays."""
_BITS = 52
"""A key is a whole number that a double holds."""
_MOST_BITS = 24
_MOST_STEPS = 1 << 30
_MARGIN = 2.0**-20
"""How much wider or narrower than its side a cell may be, by rounding: see `proof.md`."""


@dataclass(frozen=True, repr=False)
class Lattice:
    """Cells of one side, numbered so that neighbours along the last column have successive keys.

    Parameters
    ----------
    form : Form
        When records are close.
    lowest : float64 array
        The lower corner.
    side : float
        Of a cell.
    fineness : int
        Sides in a radius.
    bits : int
        Of a key, for each column.
    """

    form: Form
    lowest: Matrix
    side: float
    fineness: int
    bits: int

    @property
    def _span(self) -> int:
        """Places along a column; the rest is free, so that no shift reaches the next row's."""
        return (1 << self.bits) - 2 * (self.fineness + 2)

    def _ends(self) -> Matrix:
        return self.lowest + (self._span - 0.5) * self.side

    def along(self, keys: Counts) -> Counts:
        """Return numbers by which near cells come near each other: their bits, interleaved."""
        columns, total = len(self.lowest), np.zeros(len(keys), np.int64)
        for bit in range(self.bits):
            for c in range(columns):
                total |= (keys >> (self.bits * c + bit) & 1) << (columns * bit + c)
        return total

    def keys(self, values: Matrix) -> Counts:
        """Return the keys of records at hand."""
        least, ends = self.side * 2.0**-60, self._ends()
        if len(values) >= COMPILED:
            from whitecrow.neighbours._kernels.cells import number

            keys = np.empty(len(values), np.int64)
            rows = np.ascontiguousarray(values)
            number(rows, self.lowest, ends, self.side, least, float(1 << self.bits), keys)
            return keys
        total = np.zeros(len(values))
        for c, (low, high) in enumerate(zip(self.lowest, ends, strict=True)):
            above = np.maximum(np.clip(values[:, c], low, high) - low, least)
            total = total * (1 << self.bits) + np.floor(above / self.side)
        return total.astype(np.int64)

    def judged(self, keys: Counts, counts: Counts, cap: int) -> Judged:
        """Say which cells are certified, from the inhabited cells and their counts."""
        order = np.argsort(keys)
        keys, counts = keys[order], counts[order]
        inner = np.ones(len(keys), bool)
        for c in range(len(self.lowest)):
            place = keys >> (self.bits * c) & ((1 << self.bits) - 1)
            # The outermost cells reach to infinity: they vouch for nobody.
            inner &= (place > 0) & (place < self._span - 1)
        held = self._around(keys, np.where(inner, counts, 0), self._runs(1.0 + _MARGIN, 1))
        return Judged(self, keys, counts, np.flatnonzero(~(inner & (held >= cap))))

    def touched(self, keys: Counts, chosen: Counts) -> NDArray[np.bool_]:
        """Say which cells may hold neighbours of the records of the chosen places, ascending."""
        runs = self._runs(1.0 - _MARGIN, -1)
        far = int(np.max(np.abs(runs[0]) + runs[1]))
        first = int(np.searchsorted(keys, keys[chosen[0]] - far))
        last = int(np.searchsorted(keys, keys[chosen[-1]] + far, side="right"))
        mark = np.zeros(last - first, np.int64)
        mark[chosen - first] = 1
        found = np.zeros(len(keys), bool)
        found[first:last] = self._around(keys[first:last], mark, runs) > 0
        return found

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

        found = np.zeros(len(keys), np.int64)
        spans = parallel.chunks(len(runs[0]), 32)
        for part in parallel.results([partial(some, *span) for span in spans]):
            found += part
        return found

    def _runs(self, width: float, more: int) -> tuple[Counts, Counts]:
        """Return shifts and reaches of the runs of cells that are close to a cell.

        Records k cells apart differ by at most ``k + 1`` sides (``more`` is 1: cells of which all
        records are close) and by at least ``k - 1`` (``more`` is -1: of which any may be), with a
        margin for rounding; the predicate's own steps say whether such differences are close.
        """
        columns = len(self.lowest)
        reach = self.fineness + 1
        apart = np.maximum(np.arange(reach + 1) + more, 0) * (self.side * width)
        total = np.zeros((reach + 1,) * columns)
        for c, scale in enumerate(self.form.scales):
            along = apart.reshape([-1 if axis == c else 1 for axis in range(columns)])
            total = step(self.form.kind, total, along, scale)
        lengths = (total <= self.form.threshold).sum(axis=-1) - 1
        both = range(-reach, reach + 1)
        shifts, reaches = [], []
        for offsets in itertools.product(both, repeat=columns - 1):
            length = int(lengths[tuple(map(abs, offsets))])
            if length >= 0:
                shift = 0
                for offset in offsets:
                    shift = (shift + offset) << self.bits
                shifts.append(shift)
                reaches.append(length)
        return np.array(shifts, np.int64), np.array(reaches, np.int64)


@dataclass(frozen=True, repr=False)
class Turn:
    """Cells that are not certified, and the cells around them.

    Parameters
    ----------
    asking : int64 array
        Cells that are not certified.
    near, held : int64 arrays
        These and all cells that may hold neighbours of their records, and how many they hold.
    asked : int
        How many records the uncertified cells hold.
    """

    asking: Counts
    near: Counts
    held: Counts
    asked: int

    @property
    def nearby(self) -> int:
        """How many records lie in all these cells."""
        return int(self.held.sum())


@dataclass(frozen=True, repr=False)
class Judged:
    """What the histogram says.

    Parameters
    ----------
    lattice : Lattice
        The cells.
    keys, counts : int64 arrays
        The inhabited ones, ascending, and their records.
    asking : int64 array
        The places of those that are not certified.
    """

    lattice: Lattice
    keys: Counts
    counts: Counts
    asking: Counts

    @property
    def asked(self) -> int:
        """How many records are not certified."""
        return int(self.counts[self.asking].sum())

    def turns(self, most: int) -> Iterator[Turn]:
        """Yield the uncertified cells by turns of about ``most`` records, near ones together."""
        turn = (np.cumsum(self.counts[self.asking]) - 1) // most
        for chosen in np.split(self.asking, np.flatnonzero(np.diff(turn)) + 1):
            if len(chosen):
                near = self.lattice.touched(self.keys, chosen)
                yield Turn(
                    self.keys[chosen],
                    self.keys[near],
                    self.counts[near],
                    int(self.counts[chosen].sum()),
                )


def lay_out(sample: Matrix, form: Form, size: int, most: int) -> Lattice | None:
    """Choose the finest lattice with about ``most`` inhabited cells; None if none would do.

    The sample decides only how well the lattice works.
    """
    columns = sample.shape[1]
    radius = math.sqrt(form.threshold) if form.kind == SQUARES else form.threshold
    if columns > MOST_COLUMNS or form.kind == MIXED or not 1e-100 < radius < 1e100:
        return None
    bits = min(_MOST_BITS, _BITS // columns)
    # Halved: the sum of two values in the middle may be beyond the largest number.
    middle = 2.0 * np.median(sample / 2.0, axis=0)
    finest = _FINEST[columns - 1]
    for fineness in range(finest if size < _LARGE else 2 * finest, 1, -1):
        side = radius / fineness
        lowest = middle - side * (1 << (bits - 1))
        if (np.abs(lowest) > side * 2.0**48).any():
            return None  # The cells' ends would be rounded by more than a part of a side.
        found = Lattice(form, lowest, side, fineness, bits)
        cells = min(size, _inhabited(found.keys(sample)))
        steps = _MOST_STEPS if fineness <= finest else min(_MOST_STEPS, size // 2)
        if cells <= most and cells * found.steps() <= steps:
            return found
    return None


def _inhabited(keys: Counts) -> float:
    """Estimate how many cells are inhabited from the keys of a sample (Chao's first estimator)."""
    _, counts = np.unique(keys, return_counts=True)
    once, twice = int((counts == 1).sum()), int((counts == 2).sum())
    return float(len(counts) + once * max(0, once - 1) / (2.0 * (twice + 1)))
