"""The parts of a count by cells that run where the records are, beside those of ``_work``.

A warehouse that has no workers does the same in SQL, with the same cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whitecrow.data.warehouse import gathered
from whitecrow.neighbours._cells import Lattice, Turn
from whitecrow.neighbours._work import GATHERED

__all__ = ["Grouping", "Histogram", "Sampled", "Within", "added"]

Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Sampled:
    """Yields each record with a probability, and how many there are.

    The last column is 0 for a record; where it is 1 the first is a number of records. A sample
    decides how work is split, and never the counts.
    """

    part: float

    def __call__(self, batches: Iterator[Matrix]) -> Iterator[Matrix]:
        """Draw from one partition."""
        source, size = np.random.default_rng(), 0
        for values in batches:
            drawn = values[source.random(len(values)) < self.part]
            yield np.column_stack([drawn, np.zeros(len(drawn))])
            size, width = size + len(values), values.shape[1]
        if size:
            yield np.array([[size, *np.zeros(width - 1), 1.0]])


@dataclass(frozen=True, repr=False)
class Histogram:
    """Yields the inhabited cells and how many records each holds.

    Parameters
    ----------
    lattice : Lattice
        The cells.
    most : int
        With more inhabited cells than this in one partition, the rest of it is not looked at.
    """

    lattice: Lattice
    most: int

    def __call__(self, batches: Iterator[Matrix]) -> Iterator[Matrix]:
        """Count in one partition."""
        keys = counts = np.empty(0, np.int64)
        for values in gathered(batches, GATHERED):
            more, times = np.unique(self.lattice.keys(values), return_counts=True)
            keys, counts = added(np.concatenate([keys, more]), np.concatenate([counts, times]))
            if len(keys) > self.most:
                break
        yield np.column_stack([keys, counts]).astype(np.float64)


@dataclass(frozen=True, repr=False)
class Within:
    """Yields the records of some cells, given by ascending keys."""

    lattice: Lattice
    cells: Counts

    def __call__(self, batches: Iterator[Matrix]) -> Iterator[Matrix]:
        """Look for them in one partition."""
        for values in batches:
            yield values[found(self.cells, self.lattice.keys(values)) >= 0]


@dataclass(frozen=True, repr=False)
class Grouping:
    """Says which records are worked on together: those of cells that lie together.

    Parameters
    ----------
    lattice : Lattice
        The cells.
    cells, group : int64 arrays
        The cells that matter, ascending, and the group of each.
    """

    lattice: Lattice
    cells: Counts
    group: Counts

    def __call__(self, values: Matrix) -> Counts:
        """Return the group of each record, -1 for those that do not matter."""
        places = found(self.cells, self.lattice.keys(values))
        return np.where(places < 0, -1, self.group[places])

    @staticmethod
    def around(lattice: Lattice, turn: Turn) -> Grouping:
        """Divide what a turn touches into groups of about as many records as are looked at."""
        order = np.argsort(lattice.coarse_keys(turn.near), kind="stable")
        group = np.empty(len(order), np.int64)
        group[order] = (np.cumsum(turn.held[order]) - 1) // GATHERED
        return Grouping(lattice, turn.near, group)


def added(keys: Counts, counts: Counts) -> tuple[Counts, Counts]:
    """Return each key once, ascending, with the sum of its counts."""
    once, places = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(once), np.int64)
    np.add.at(sums, places, counts)
    return once, sums


def found(keys: Counts, wanted: Counts) -> Counts:
    """Return the places of some keys in an ascending list, -1 for those that are not in it."""
    places = np.searchsorted(keys, wanted)
    places[places == len(keys)] = 0
    return np.where(keys[places] == wanted, places, -1)
