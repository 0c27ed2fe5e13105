"""The parts of a count that run where the records are: picklable, one for each partition.

They take the records of a partition in batches and yield a few rows. The compiled kernels and the
fixed predicate are the same as in this process.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whitecrow.data.warehouse import gathered
from whitecrow.neighbours import _box as box
from whitecrow.neighbours import parallel
from whitecrow.neighbours.plans import count_in_part, count_records
from whitecrow.neighbours.relation import Form

Matrix = NDArray[np.float64]

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

    Parameters
    ----------
    groups : tuple of Group
        The records asked about, near ones together; places go through all groups.
    cap : int
        Where counting stops.
    alone : bool
        Whether to keep to one core: others work beside it.
    """

    groups: tuple[Group, ...]
    cap: int
    alone: bool = False

    def __call__(self, batches: Iterator[Matrix]) -> Iterator[Matrix]:
        """Count in one partition."""
        if self.alone:
            parallel.limit(1)
        counts = [np.zeros(len(group.asked), np.int64) for group in self.groups]
        for values in gathered(batches, GATHERED):
            vectors, waiting = self.groups[0].form.placed(values), False
            for group, count in zip(self.groups, counts, strict=True):
                rows = box.within(group.asked, vectors, group.form)
                rows = rows[count[rows] < self.cap]
                count[rows] += count_in_part(vectors, group.form, group.asked[rows], self.cap)
                waiting = waiting or bool((count < self.cap).any())
            if not waiting:
                break
        yield numbered(np.concatenate(counts), self.cap)


@dataclass(frozen=True, repr=False)
class Uncovered:
    """Yields the records that no pivot covers, of one share of all records.

    Parameters
    ----------
    pivots : tuple of Group
        Each covers the records that are close to it.
    share, shares : int
        Which share, of how many; a record's share is a function of its values.
    alone : bool
        See :class:`Counting`.
    """

    pivots: tuple[Group, ...]
    share: int = 0
    shares: int = 1
    alone: bool = False

    def __call__(self, batches: Iterator[Matrix]) -> Iterator[Matrix]:
        """Look for them in one partition."""
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
