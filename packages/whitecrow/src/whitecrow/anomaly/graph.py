"""Every database of a small universe, and which of them are neighbours: graphs to compute on.

A database is a multiset of records from a finite universe, with at most so many of them; two are
neighbours if one record more makes the other of one. The sensitive graph at level k keeps the
pairs whose record is k-sensitive for one of the two (Asif et al., Definitions 5 to 7).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow.anomaly.model import record_type
from whitecrow.errors import invalid

Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
Edges = list[tuple[Counts, Counts]]
"""For each record of the universe: the databases without and with one more of it."""

MOST = 100_000
"""How many databases are computed on."""

Database = tuple[Hashable, ...]


class DatabaseGraph:
    """The databases of a universe with at most ``size`` records; columns make all combinations."""

    def __init__(self, universe: Universe, size: int) -> None:
        self.universe, self.size = records_of(universe), size
        width = len(self.universe)
        if math.comb(size + width, width) > MOST or (size + 1) ** width >= 2**62:
            must = f"so small that there are at most {MOST:,} databases"
            raise invalid("DatabaseGraph", "universe", must, f"{width} records, size {size}")
        self._index = {record: column for column, record in enumerate(self.universe)}
        self.counts: Counts = np.array(list(_histograms(width, size)), dtype=np.int64)
        self._strides = (size + 1) ** np.arange(width - 1, -1, -1, dtype=np.int64)
        self._codes = self.counts @ self._strides  # ascending, as the histograms are

    def records(self, number: int) -> Database:
        """Return a database as its records."""
        pairs = zip(self.universe, self.counts[number].tolist(), strict=True)
        return tuple(record for record, times in pairs for _ in range(times))

    def number(self, records: Iterable[Hashable]) -> int:
        """Return the number of a database; a KeyError if it is none of this universe."""
        counts = np.zeros(len(self.universe), dtype=np.int64)
        for record in records:
            counts[self._index[record]] += 1
        if counts.sum() > self.size:
            raise KeyError(records)
        return int(np.searchsorted(self._codes, counts @ self._strides))

    def index(self, record: Hashable) -> int:
        """Return the index of a record in the universe."""
        return self._index[record]

    @cached_property
    def all_pairs(self) -> Edges:
        """Every pair of neighbours, by the record that one has more: differential privacy."""
        pairs = []
        for column, stride in enumerate(self._strides.tolist()):
            larger = np.flatnonzero(self.counts[:, column] > 0)
            pairs.append((np.searchsorted(self._codes, self._codes[larger] - stride), larger))
        return pairs

    def computed(
        self,
        of: Callable[[Database, Any], Any],
        kind: Any,
        numbers: Iterable[int] | None = None,
        *,
        present: bool = False,
    ) -> NDArray[Any]:
        """Compute something for databases by records, or for those present only; 0 elsewhere."""
        values = np.zeros(self.counts.shape, dtype=kind)
        for number in range(len(self.counts)) if numbers is None else numbers:
            database = self.records(number)
            for column, times in enumerate(self.counts[number].tolist()):
                if times or not present:
                    values[number, column] = of(database, self.universe[column])
        return values

    def labels(
        self, label: Callable[[Database, Any], bool], numbers: Iterable[int] | None = None
    ) -> Flags:
        """Return g: databases by records, False for records that are absent."""
        return self.computed(label, np.bool_, numbers, present=True)

    def within(self, reached: Flags, steps: int) -> Flags:
        """Return from where databases that are reached lie within so many insertions or removals.

        ``reached`` has databases by records, and each record's column is looked at by itself.
        """
        near = reached.copy()
        for _ in range(steps):
            before = near.copy()
            for smaller, larger in self.all_pairs:
                near[smaller] |= before[larger]
                near[larger] |= before[smaller]
        return near

    def sensitive_pairs(self, sensitive: Flags) -> Edges:
        """Return the pairs whose record is sensitive for one of the two."""
        pairs = []
        for column, (smaller, larger) in enumerate(self.all_pairs):
            either = sensitive[smaller, column] | sensitive[larger, column]
            pairs.append((smaller[either], larger[either]))
        return pairs

    @staticmethod
    def distances(to: Flags, edges: Edges) -> Counts:
        """Return, column by column, how many steps along edges lead to a marked database.

        -1 where none does, within this universe.
        """
        far = len(to) + 1
        steps = np.where(to, 0, far)
        while True:
            before = steps.copy()
            for smaller, larger in edges:
                nearest = np.minimum(steps[smaller], steps[larger]) + 1
                steps[smaller] = np.minimum(steps[smaller], nearest)
                steps[larger] = np.minimum(steps[larger], nearest)
            if (before == steps).all():
                return np.where(steps >= far, -1, steps)

    def discrepancy(self, labels: Flags, edges: Edges) -> Counts:
        """Return the minimum discrepant distance (Definition 10): -1 where there is none."""
        to_yes, to_no = self.distances(labels, edges), self.distances(~labels, edges)
        return np.where(labels, to_no, to_yes)


Universe = Iterable[Hashable] | Mapping[str, Sequence[Hashable]]


def records_of(universe: Universe) -> Database:
    """Return the records of a universe, each once; columns make all combinations."""
    if isinstance(universe, Mapping):
        universe = itertools.starmap(record_type(universe), itertools.product(*universe.values()))
    records = tuple(dict.fromkeys(universe))
    if not records:
        raise invalid("check_model", "universe", "at least one record", records)
    return records


def size_for(width: int, most: int) -> int:
    """Return how large databases may be for at most ``most`` of them."""
    size = 1
    while math.comb(size + 1 + width, width) <= most and size < 40:
        size += 1
    return size


def _histograms(width: int, most: int) -> Iterable[tuple[int, ...]]:
    """Every histogram with at most so many records, in ascending order."""
    if width == 1:
        yield from ((count,) for count in range(most + 1))
        return
    for count in range(most + 1):
        for rest in _histograms(width - 1, most - count):
            yield (count, *rest)
