"""The other records as a search sees them: cells, signatures and an outward order. All private."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

_WORD = 64


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
        self,
        needs: NDArray[np.int64],
        offsets: NDArray[np.int64],
        bits: int,
        counts: NDArray[np.int64] | None = None,
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

    def near(self, reach: int) -> NDArray[np.int64]:
        """Return how many records of each cell lie within ``reach`` of the record."""
        close = np.where(np.abs(self.offsets) <= reach, self.counts, 0)
        return self._grouped(np.add, close)

    def bands(self, cuts: Sequence[int]) -> Iterator[NDArray[np.int64]]:
        """Yield how many records of each cell lie in each band that these offsets cut."""
        band = np.searchsorted(cuts, self.offsets, side="right")
        for place in range(len(cuts) + 1):
            yield self._grouped(np.add, np.where(band == place, self.counts, 0))

    def _grouped(self, combine: np.ufunc, amounts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Combine the amounts of each cell; every cell has at least one record."""
        if not len(self._starts):
            return np.zeros(0, dtype=np.int64)
        return np.asarray(combine.reduceat(amounts[self._order], self._starts), dtype=np.int64)

    def sides(
        self, reach: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return offsets and cells below the record and at or above it, each outward.

        With ``reach``, only that many of each cell and side: no context can need more.
        """
        found = []
        for chosen in (self.offsets < 0, self.offsets >= 0):
            counts = self.counts[chosen]
            if reach is not None:
                counts = np.minimum(counts, reach)
            offsets = np.repeat(self.offsets[chosen], counts)
            cell = np.repeat(self.cell[chosen], counts)
            if reach is not None:
                keep = _rank_within(cell) < reach
                offsets, cell = offsets[keep], cell[keep]
            found += [offsets, cell]
        return found[0], found[1], found[2], found[3]

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

    def values(self, context: int) -> NDArray[np.int64]:
        """Return the offsets of a context's population, the record's 0 included, ascending."""
        inside = self.inside(context)[self.cell]
        members = np.repeat(self.offsets[inside], self.counts[inside])
        return np.sort(np.append(members, 0))


def _signatures(needs: NDArray[np.int64], bits: int) -> NDArray[np.uint64]:
    width = max(1, -(-bits // _WORD))
    found = np.zeros((len(needs), width), dtype=np.uint64)
    for column in needs.T:
        rows = np.flatnonzero(column >= 0)
        bit = column[rows]
        found[rows, bit // _WORD] |= np.left_shift(np.uint64(1), (bit % _WORD).astype(np.uint64))
    return found


def _cells(marks: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the different signatures and which of them each record has."""
    if marks.shape[1] == 1:
        cells, index = np.unique(marks[:, 0], return_inverse=True)
        return cells.reshape(-1, 1), index.astype(np.int64)
    cells, index = np.unique(marks, axis=0, return_inverse=True)
    return np.ascontiguousarray(cells), index.reshape(-1).astype(np.int64)


def _rank_within(cell: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many earlier entries have the same cell."""
    order = np.argsort(cell, kind="stable")
    ranked = cell[order]
    starts = np.searchsorted(ranked, ranked, side="left")
    rank = np.empty(len(cell), dtype=np.int64)
    rank[order] = np.arange(len(cell)) - starts
    return rank
