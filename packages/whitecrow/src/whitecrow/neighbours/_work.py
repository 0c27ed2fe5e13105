"""The parts of a count that run where the records are: picklable, one for each partition.

They take the records of a partition in batches and yield a few rows. The compiled kernels and the
fixed predicate are the same as in this process.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whitecrow.data.warehouse import gathered
from whitecrow.neighbours import parallel
from whitecrow.neighbours.plans import count_in_part, count_records
from whitecrow.neighbours.relation import MIXED, SQUARES, Form

Matrix = NDArray[np.float64]

_SLACK = 1.0 + 1e-9
"""Far more than the predicate can round."""


def possible_neighbours(asked: Matrix, values: Matrix, form: Form) -> NDArray[np.int64]:
    """Return which of the records asked about may have neighbours among some values.

    Both are placed already.
    """
    possible = np.ones(len(asked), bool)
    for place, reach in enumerate(_reaches(form)):
        if math.isfinite(reach):
            # A rounded sum is at most one step too small.
            low = math.nextafter(float(values[:, place].min()) - reach, -math.inf)
            high = math.nextafter(float(values[:, place].max()) + reach, math.inf)
            possible &= (low <= asked[:, place]) & (asked[:, place] <= high)
    return np.flatnonzero(possible)


def _reaches(form: Form) -> list[float]:
    """Return how far apart close records can be in each column; infinity if that is not known."""
    if form.kind == MIXED:
        different = math.inf if form.threshold >= 1.0 else 0.0
        return [
            (form.threshold * _SLACK + 1e-300) * scale if scale > 0.0 else different
            for scale in form.scales
        ]
    radius = math.sqrt(form.threshold) if form.kind == SQUARES else form.threshold
    if form.kind == SQUARES and not 1e-140 < radius < 1e140:
        return [math.inf] * len(form.scales)
    return [radius * _SLACK] * len(form.scales)


GATHERED = 1 << 18
"""Records of a partition that are looked at together, if it has so many."""


@dataclass(frozen=True, repr=False)
class Group:
    """Records asked about, as the measure compares them, and when another is close to them."""

    form: Form
    asked: Matrix


@dataclass(frozen=True, repr=False)
class Counting:
    """Counts the neighbours of records asked about.

    Yields pairs of a place and a count, of those that are not 0. The sum over all partitions, cut
    to the cap, is the count cut to the cap.
    """

    # The records asked about, near ones together; places go through all groups.
    groups: tuple[Group, ...]
    cap: int  # where counting stops
    alone: bool = False  # whether to keep to one core: others work beside it

    def __call__(self, batches: Iterator[Matrix]) -> Iterator[Matrix]:
        if self.alone:
            parallel.limit(1)
        counts = [np.zeros(len(group.asked), np.int64) for group in self.groups]
        for values in gathered(batches, GATHERED):
            vectors, waiting = self.groups[0].form.placed(values), False
            for group, count in zip(self.groups, counts, strict=True):
                rows = possible_neighbours(group.asked, vectors, group.form)
                rows = rows[count[rows] < self.cap]
                count[rows] += count_in_part(vectors, group.form, group.asked[rows], self.cap)
                waiting = waiting or bool((count < self.cap).any())
            if not waiting:
                break
        yield numbered(np.concatenate(counts), self.cap)


@dataclass(frozen=True, repr=False)
class Uncovered:
    """Yields the records that no pivot covers, of one share of all records."""

    pivots: tuple[Group, ...]  # each covers the records that are close to it
    # share, shares: Which share, of how many; a record's share is a function of its values.
    share: int = 0
    shares: int = 1
    alone: bool = False  # see :class:`Counting`

    def __call__(self, batches: Iterator[Matrix]) -> Iterator[Matrix]:
        if self.alone:
            parallel.limit(1)
        for values in gathered(batches, GATHERED):
            mine = values[_shares(values, self.shares) == self.share]
            vectors = self.pivots[0].form.placed(mine) if self.pivots else mine
            open_ = np.arange(len(mine))
            for group in self.pivots:
                covered = count_records(group.asked, group.form, vectors[open_], 1)
                open_ = open_[covered == 0]
            yield mine[open_]


def numbered(counts: NDArray[np.int64], cap: int) -> Matrix:
    """Return the places and the counts, up to the cap, of those that are not 0."""
    places = np.flatnonzero(counts)
    return np.column_stack([places, np.minimum(counts[places], cap)]).astype(np.float64)


def _shares(values: Matrix, shares: int) -> NDArray[np.int64]:
    """Return the share of each record; equal records have one share."""
    if shares == 1:
        return np.zeros(len(values), np.int64)
    mixed = np.zeros(len(values), np.uint64)
    # Adding 0 makes -0 and 0, which are equal, one.
    for column in np.ascontiguousarray((values + 0.0).T).view(np.uint64):
        mixed = (mixed ^ column) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return (mixed % np.uint64(shares)).astype(np.int64)
