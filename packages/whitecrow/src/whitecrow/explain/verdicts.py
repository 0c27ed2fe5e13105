"""The other records as a search sees them, and in which contexts the record is an outlier there.

There are fast paths for each detector, settled exactly. All of it is private.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow._compiled import KERNELS
from whitecrow.anomaly.detectors import Detector, FewWithin, Grubbs, Histogram, LocalOutlierFactor
from whitecrow.neighbours import parallel
from whitecrow.question import Progress

Counts = NDArray[np.int64]
Sides = tuple[Counts, Counts, Counts, Counts]
"""Offsets and cells of the records below one, and of those at or above it."""

_WORD = 64

_BLOCK = 14  # inner bits of the direct search: tables of 2^14 entries stay in the cache

_PLAIN = 20  # up to this many numpy sums sooner than the compiler is loaded

_DOUBT = 2  # what kernels say where floating point cannot decide


class Population:
    """Everyone but the record asked about, prepared for evaluation in many contexts.

    The record itself belongs to every context exactly once, whether or not the data hold it: if
    they do, one of its copies is left out here. This makes the effective population a function of
    the data that changes by at most one record when the data do (``proof.md``, Lemma 1).

    ``needs`` (records by attributes) has the free bit each record needs for each attribute, -1
    where it shares the record's value; ``offsets`` each record's metric minus the record's own, in
    steps of the grid; ``counts`` how many records each row stands for, one unless given.
    """

    def __init__(
        self, needs: Counts, offsets: Counts, bits: int, counts: Counts | None = None
    ) -> None:
        counts = np.ones(len(offsets), np.int64) if counts is None else counts.copy()
        same = np.flatnonzero((needs < 0).all(axis=1) & (offsets == 0))
        counts[same[:1]] -= 1
        there = np.flatnonzero(counts)
        self.bits = bits
        outward = there[np.lexsort((np.sign(offsets[there]), np.abs(offsets[there])))]
        self.offsets, self.counts = offsets[outward], counts[outward]
        marks = _signatures(needs[outward], bits)
        self.signatures, self.cell = _cells(marks)
        count = len(self.signatures)
        self._order = np.argsort(self.cell, kind="stable")
        self._starts = np.searchsorted(self.cell[self._order], np.arange(count))
        self.size = self._grouped(np.add, self.counts)
        self.total = self._grouped(np.add, self.offsets * self.counts)
        self.low = self._grouped(np.minimum, self.offsets)
        self.high = self._grouped(np.maximum, self.offsets)
        squares = self.offsets.astype(np.float64) ** 2 * self.counts
        self.squares = np.bincount(self.cell, weights=squares, minlength=count)

    @property
    def most(self) -> int:
        """The largest population any context can have, the record included."""
        return int(self.counts.sum()) + 1

    def near(self, reach: int) -> Counts:
        """Return how many records of each cell lie within ``reach`` of the record."""
        close = np.where(np.abs(self.offsets) <= reach, self.counts, 0)
        return self._grouped(np.add, close)

    def bands(self, cuts: Sequence[int]) -> Iterator[Counts]:
        """Yield how many records of each cell lie in each band that these offsets cut."""
        band = np.searchsorted(cuts, self.offsets, side="right")
        for number in range(len(cuts) + 1):
            yield self._grouped(np.add, np.where(band == number, self.counts, 0))

    def _grouped(self, combine: np.ufunc, amounts: Counts) -> Counts:
        """Combine the amounts of each cell; every cell has at least one record."""
        if not len(self._starts):
            return np.zeros(0, dtype=np.int64)
        return np.asarray(combine.reduceat(amounts[self._order], self._starts), dtype=np.int64)

    def sides(self, reach: int) -> Sides:
        """Return offsets and cells below the record and at or above it, each outward.

        Only ``reach`` of each cell and side: no context can need more.
        """
        return *self._side(self.offsets < 0, reach), *self._side(self.offsets >= 0, reach)

    def _side(self, chosen: NDArray[np.bool_], reach: int) -> tuple[Counts, Counts]:
        counts = np.minimum(self.counts[chosen], reach)
        offsets = np.repeat(self.offsets[chosen], counts)
        cell = np.repeat(self.cell[chosen], counts)
        keep = _rank_within(cell) < reach
        return offsets[keep], cell[keep]

    def words(self, contexts: Sequence[int]) -> NDArray[np.uint64]:
        """Return contexts as rows of 64-bit words, as the signatures are."""
        width = self.signatures.shape[1]
        if width == 1:
            return np.array(contexts, dtype=np.uint64).reshape(-1, 1)
        octets = b"".join(context.to_bytes(8 * width, "little") for context in contexts)
        return np.frombuffer(octets, dtype="<u8").astype(np.uint64).reshape(-1, width)

    def narrow(self) -> NDArray[np.uint32]:
        """Return the signatures as 32-bit numbers, for at most 32 free bits."""
        return self.signatures[:, 0].astype(np.uint32)

    def inside(self, context: int) -> NDArray[np.bool_]:
        """Return which cells lie in a context."""
        lacks = ~self.words([context])[0]
        return np.asarray(~(self.signatures & lacks).any(axis=1))

    def values(self, context: int) -> Counts:
        """Return the offsets of a context's population, the record's 0 included, ascending."""
        inside = self.inside(context)[self.cell]
        members = np.repeat(self.offsets[inside], self.counts[inside])
        return np.sort(np.append(members, 0))


def _signatures(needs: Counts, bits: int) -> NDArray[np.uint64]:
    width = max(1, -(-bits // _WORD))
    signatures = np.zeros((len(needs), width), dtype=np.uint64)
    for column in needs.T:
        rows = np.flatnonzero(column >= 0)
        bit = column[rows]
        signatures[rows, bit // _WORD] |= np.left_shift(
            np.uint64(1), (bit % _WORD).astype(np.uint64)
        )
    return signatures


def _cells(marks: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], Counts]:
    """Return the different signatures and which of them each record has."""
    if marks.shape[1] == 1:
        cells, index = np.unique(marks[:, 0], return_inverse=True)
        return cells.reshape(-1, 1), index.astype(np.int64)
    cells, index = np.unique(marks, axis=0, return_inverse=True)
    return np.ascontiguousarray(cells), index.reshape(-1).astype(np.int64)


def _rank_within(cell: Counts) -> Counts:
    """Return how many earlier entries have the same cell."""
    order = np.argsort(cell, kind="stable")
    ranked = cell[order]
    starts = np.searchsorted(ranked, ranked, side="left")
    rank = np.empty(len(cell), dtype=np.int64)
    rank[order] = np.arange(len(cell)) - starts
    return rank


class Verdicts:
    """The verdict of one detector on one record in any context.

    Each path (one context, many, all) gives the same verdicts: those of the detector's exact
    arithmetic. Compiled code decides what floating point decides beyond doubt and hands the rest
    to :meth:`Detector.outlier`.
    """

    def __init__(self, population: Population, detector: Detector) -> None:
        self.population = population
        self.detector = detector
        self._path = _path(population, detector)
        self._near = None
        if isinstance(detector, FewWithin):
            self._near = population.near(detector.reach), detector.beta

    def some(self, contexts: Sequence[int]) -> NDArray[np.bool_]:
        """Return the verdict in each of these contexts."""
        population = self.population
        if self._near is not None:
            near, beta = self._near
            return some_sums(population, near, contexts) <= beta
        if self._path is None or not contexts:
            return np.array([self._exact(context) for context in contexts], dtype=bool)
        batch, _, cells, sides, settings = self._path
        words = population.words(contexts)
        verdicts: NDArray[np.uint8] = batch(population.signatures, cells, sides, settings, words)
        for at in np.flatnonzero(verdicts == _DOUBT).tolist():
            verdicts[at] = self._exact(contexts[at])
        return verdicts.astype(bool)

    def all(self, progress: Progress | None = None) -> NDArray[np.bool_]:
        """Return the verdict in every context, in order."""
        population = self.population
        if self._near is not None:
            near, beta = self._near
            return all_sums(population, near, progress) <= beta
        count = 1 << population.bits
        verdicts = np.empty(count, dtype=np.uint8)
        if self._path is None:
            for context in range(count):
                verdicts[context] = self._exact(context)
                if progress is not None and context % 64 == 0:
                    progress(context, count, "contexts")
        else:
            _, direct, cells, (left, left_cell, right, right_cell), settings = self._path
            marks = population.narrow()
            sides = left, marks[left_cell], right, marks[right_cell]
            part = partial(direct, marks, cells, sides, settings)
            _in_parts(population.bits, part, verdicts, progress, "contexts")
        settled: dict[bytes, bool] = {}
        for context in np.flatnonzero(verdicts == _DOUBT).tolist():
            # Contexts that differ by values nobody has share one population.
            key = np.packbits(population.inside(context)).tobytes()
            if key not in settled:
                settled[key] = self._exact(context)
            verdicts[context] = settled[key]
        return verdicts.astype(bool)

    def _exact(self, context: int) -> bool:
        return bool(self.detector.outlier(self.population.values(context), 0))


def some_sums(population: Population, amounts: Counts, contexts: Sequence[int]) -> Counts:
    """Sum an amount over the cells of each of these contexts; the record itself adds 1."""
    from whitecrow.explain import _kernels

    sums: Counts = _kernels.batch_sums(population.signatures, amounts, population.words(contexts))
    return sums


def all_sums(population: Population, amounts: Counts, progress: Progress | None = None) -> Counts:
    """Sum an amount over the cells of every context; the record itself adds 1."""
    bits = population.bits
    if bits <= _PLAIN and not KERNELS.loaded:
        sums = _plain_sums(population, amounts)
        if progress is not None:
            progress(1, 1, "populations")
        return sums
    from whitecrow.explain import _kernels

    sums = np.empty(1 << bits, dtype=np.int64)
    part = partial(_kernels.direct_sums, population.narrow(), amounts)
    _in_parts(bits, part, sums, progress, "populations")
    return sums


def _plain_sums(population: Population, amounts: Counts) -> Counts:
    """Sum with numpy alone: the same whole numbers, without loading the compiler."""
    table = np.zeros(1 << population.bits, np.int64)
    np.add.at(table, population.narrow(), amounts)
    table[0] += 1
    for bit in range(population.bits):  # each entry becomes the sum over its subsets
        halves = table.reshape(-1, 2, 1 << bit)
        halves[:, 1] += halves[:, 0]
    return table


def _in_parts(
    bits: int, part: Callable[..., None], into: NDArray[Any], progress: Progress | None, what: str
) -> None:
    """Run a direct kernel over all outer parts, on all cores."""
    inner = min(bits, _BLOCK)
    outer = 1 << (bits - inner)
    done = 0

    def task(start: int, stop: int) -> None:
        nonlocal done
        part(inner, start, stop, into)
        done += stop - start
        if progress is not None:
            progress(done, outer, what)

    parallel.run([partial(task, *span) for span in parallel.chunks(outer, 1)])


Path = tuple[
    Callable[..., Any], Callable[..., None], tuple[NDArray[Any], ...], Sides, tuple[Any, ...]
]


def _path(population: Population, detector: Detector) -> Path | None:
    """Return a detector's two kernels and what they take; None where there is the exact one only.

    That is, beside contexts: amounts of each cell, the records on both sides, and settings.
    """
    if not isinstance(detector, Grubbs | LocalOutlierFactor | Histogram):
        return None
    from whitecrow.explain import _kernels

    if isinstance(detector, Grubbs):
        shares = detector.shares(np.arange(population.most + 1))
        side = {"both": 0, "high": 1, "low": -1}[detector.sides]
        # Each square is rounded once, and so is each addition of a record or of a cell.
        terms = float(2 * population.most + len(population.size))
        cells = population.size, population.total, population.squares
        kernels = _kernels.batch_grubbs, _kernels.direct_grubbs
        return *kernels, cells, population.sides(0), (shares, side, terms)
    cells = population.size, population.low, population.high
    if isinstance(detector, LocalOutlierFactor):
        settings = detector.k, float(detector.threshold)
        kernels = _kernels.batch_lof, _kernels.direct_lof
        return *kernels, cells, population.sides(3 * detector.k), settings
    bins = np.array([detector.bins]) if detector.bins != "sqrt" else _roots(population.most)
    share, whole = detector.frequency.numerator, detector.frequency.denominator
    # A bin is decided once it holds its share of the population: no cell need show more.
    sides = population.sides(-(-share * population.most // whole))
    kernels = _kernels.batch_histogram, _kernels.direct_histogram
    return *kernels, cells, sides, (bins, share, whole)


def _roots(most: int) -> Counts:
    """How many bins ``Histogram.count`` gives each size: b for those above (b-1)^2, up to b^2."""
    root = np.arange(1, isqrt(most - 1) + 2)
    return np.concatenate([[0], np.repeat(root, 2 * root - 1)[:most]])
