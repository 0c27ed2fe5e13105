"""In which contexts is the record an outlier? Fast paths for each detector, settled exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isqrt

import numpy as np
from numpy.typing import NDArray

from whitecrow._compiled import KERNELS
from whitecrow.anomaly.detectors import (
    Detector,
    FewWithin,
    Grubbs,
    Histogram,
    LocalOutlierFactor,
)
from whitecrow.explain.population import Population
from whitecrow.neighbours import parallel
from whitecrow.question import Progress

_BLOCK = 14
"""Inner bits of the direct search: tables of 2^14 entries stay in the cache."""

_LOW = 7
_FEW = 12
"""Up to this many free bits a loop over contexts is quicker than starting threads."""

_PLAIN = 20
"""Up to this many numpy sums sooner than the compiler is loaded."""

_DOUBT = 2


class Verdicts:
    """The verdict of one detector on one record in any context.

    Each path (one context, many, all) gives the same verdicts: those of the detector's exact
    arithmetic. Compiled code decides what floating point decides beyond doubt and hands the rest
    to :meth:`Detector.outlier`.
    """

    def __init__(self, population: Population, detector: Detector) -> None:
        self.population = population
        self.detector = detector
        self._batch, self._direct = _paths(population, detector)

    def some(self, contexts: Sequence[int]) -> NDArray[np.bool_]:
        """Return the verdict in each of these contexts."""
        if self._batch is None or not contexts:
            return np.array([self._exact(context) for context in contexts], dtype=bool)
        found = self._batch(self.population.words(contexts))
        for place in np.flatnonzero(found == _DOUBT).tolist():
            found[place] = self._exact(contexts[place])
        return found.astype(bool)

    def all(self, progress: Progress | None = None) -> NDArray[np.bool_]:
        """Return the verdict in every context, in order."""
        if isinstance(self.detector, FewWithin):
            near = self.population.near(self.detector.reach)
            within: NDArray[np.bool_] = (
                all_sums(self.population, near, 1, progress) <= self.detector.beta
            )
            return within
        count = 1 << self.population.bits
        if self._batch is not None and self.population.bits <= _FEW:
            return self.some(range(count))
        found = np.empty(count, dtype=np.uint8)
        if self._direct is None:
            for context in range(count):
                found[context] = self._exact(context)
                if progress is not None and context % 64 == 0:
                    progress(context, count, "contexts")
        else:
            _in_parts(self.population.bits, self._direct, found, progress)
        settled: dict[bytes, bool] = {}
        for context in np.flatnonzero(found == _DOUBT).tolist():
            # Contexts that differ by values nobody has share one population.
            key = np.packbits(self.population.inside(context)).tobytes()
            if key not in settled:
                settled[key] = self._exact(context)
            found[context] = settled[key]
        return found.astype(bool)

    def _exact(self, context: int) -> bool:
        return bool(self.detector.outlier(self.population.values(context), 0))


def all_sums(
    population: Population, amounts: NDArray[np.int64], own: int, progress: Progress | None = None
) -> NDArray[np.int64]:
    """Sum an amount over the cells of every context, plus the record's own."""
    if population.bits <= _PLAIN and not KERNELS.loaded:
        sums = plain_sums(population, amounts, own)
        if progress is not None:
            progress(1, 1, "populations")
        return sums
    from whitecrow.explain import _kernels

    if population.bits <= _FEW:
        few: NDArray[np.int64] = _kernels.batch_sums(
            population.signatures, amounts, population.words(range(1 << population.bits)), own
        )
        return few
    found = np.empty(1 << population.bits, dtype=np.int64)
    marks = population.narrow()

    def part(start: int, stop: int, bits: int) -> None:
        _kernels.direct_sums(marks, amounts, own, bits, start, stop, found)

    _in_parts(population.bits, lambda bits, found: part, found, progress, what="populations")
    return found


def plain_sums(population: Population, amounts: NDArray[np.int64], own: int) -> NDArray[np.int64]:
    """Sum with numpy alone: the same whole numbers, without loading the compiler."""
    table = np.zeros(1 << population.bits, np.int64)
    np.add.at(table, population.narrow(), amounts)
    table[0] += own
    for bit in range(population.bits):  # each entry becomes the sum over its subsets
        halves = table.reshape(-1, 2, 1 << bit)
        halves[:, 1] += halves[:, 0]
    return table


Part = Callable[[int, int, int], None]
Direct = Callable[[int, NDArray[np.uint8]], Part]
Batch = Callable[[NDArray[np.uint64]], NDArray[np.uint8]]


def _in_parts(
    bits: int,
    direct: Callable[..., Part],
    found: NDArray[np.generic],
    progress: Progress | None,
    what: str = "contexts",
) -> None:
    """Run a direct kernel over all outer parts, on all cores."""
    inner = min(bits, _BLOCK)
    outer = 1 << (bits - inner)
    part = direct(inner, found)
    done = 0

    def task(start: int, stop: int) -> None:
        nonlocal done
        part(start, stop, inner)
        done += stop - start
        if progress is not None:
            progress(done, outer, what)

    parallel.run([partial(task, *span) for span in parallel.chunks(outer, 1)])


def _paths(population: Population, detector: Detector) -> tuple[Batch | None, Direct | None]:
    """Return the compiled paths of a detector, or None where there is only the exact one."""
    if isinstance(detector, Grubbs):
        return _grubbs(population, detector)
    if isinstance(detector, LocalOutlierFactor):
        return _lof(population, detector)
    if isinstance(detector, Histogram):
        return _histogram(population, detector)
    if isinstance(detector, FewWithin):
        return _few_within(population, detector)
    return None, None


def _grubbs(population: Population, detector: Grubbs) -> tuple[Batch, Direct]:
    from whitecrow.explain import _kernels

    shares = detector.shares(np.arange(population.most + 1))
    side = {"both": 0, "high": 1, "low": -1}[detector.sides]
    # Each square is rounded once, and so is each addition of a record or of a cell.
    terms = float(2 * population.most + len(population.size))
    sums = (population.size, population.total, population.squares, shares, side, terms)

    def batch(contexts: NDArray[np.uint64]) -> NDArray[np.uint8]:
        found: NDArray[np.uint8] = _kernels.batch_grubbs(population.signatures, *sums, contexts)
        return found

    def direct(inner: int, found: NDArray[np.uint8]) -> Part:
        marks = population.narrow()
        return lambda start, stop, bits: _kernels.direct_grubbs(
            marks, *sums, bits, start, stop, found
        )

    return batch, direct


def _lof(population: Population, detector: LocalOutlierFactor) -> tuple[Batch, Direct]:
    from whitecrow.explain import _kernels

    k, threshold = detector.k, float(detector.threshold)
    left, left_cell, right, right_cell = population.sides(3 * k)

    def batch(contexts: NDArray[np.uint64]) -> NDArray[np.uint8]:
        found: NDArray[np.uint8] = _kernels.batch_lof(
            population.signatures, left, left_cell, right, right_cell, k, threshold, contexts
        )
        return found

    def direct(inner: int, found: NDArray[np.uint8]) -> Part:
        marks, low = population.narrow(), min(inner, _LOW)
        sides = (left, marks[left_cell], right, marks[right_cell])
        return lambda start, stop, bits: _kernels.direct_lof(
            *sides, k, threshold, bits, low, start, stop, found
        )

    return batch, direct


def _histogram(population: Population, detector: Histogram) -> tuple[Batch, Direct]:
    from whitecrow.explain import _kernels

    bins = np.array([detector.bins]) if detector.bins != "sqrt" else _roots(population.most)
    share, whole = detector.frequency.numerator, detector.frequency.denominator
    spans = (population.size, population.low, population.high)
    # A bin is decided once it holds its share of the population: no cell need show more.
    left, left_cell, right, right_cell = population.sides(-(-share * population.most // whole))

    def batch(contexts: NDArray[np.uint64]) -> NDArray[np.uint8]:
        sides = (left, left_cell, right, right_cell)
        found: NDArray[np.uint8] = _kernels.batch_histogram(
            population.signatures, *spans, *sides, bins, share, whole, contexts
        )
        return found

    def direct(inner: int, found: NDArray[np.uint8]) -> Part:
        marks = population.narrow()
        sides = (left, marks[left_cell], right, marks[right_cell])
        return lambda start, stop, bits: _kernels.direct_histogram(
            marks, *spans, *sides, bins, share, whole, bits, start, stop, found
        )

    return batch, direct


def _roots(most: int) -> NDArray[np.int64]:
    """How many bins ``Histogram.count`` gives each size: b for those above (b-1)^2, up to b^2."""
    root = np.arange(1, isqrt(most - 1) + 2)
    return np.concatenate([[0], np.repeat(root, 2 * root - 1)[:most]])


def _few_within(population: Population, detector: FewWithin) -> tuple[Batch, None]:
    near = population.near(detector.reach)

    def batch(contexts: NDArray[np.uint64]) -> NDArray[np.uint8]:
        from whitecrow.explain import _kernels

        counts = _kernels.batch_sums(population.signatures, near, contexts, 1)
        return np.asarray(counts <= detector.beta, dtype=np.uint8)

    return batch, None
