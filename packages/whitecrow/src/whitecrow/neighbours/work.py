"""The parts of a count that run where the records are: picklable, one for each partition.

They take the records of a partition in batches and yield a few rows. The compiled kernels and the
fixed predicate are the same as in this process.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from whitecrow._arrays import Counts, Int32s, Ints, Matrix
from whitecrow.data.warehouse import gathered
from whitecrow.neighbours import parallel
from whitecrow.neighbours.cells import COMPILED, Batch, Lattice, in_order
from whitecrow.neighbours.plans import count_in_part, count_records
from whitecrow.neighbours.relation import MIXED, SQUARES, Form

_SLACK = 1.0 + 1e-9  # far more than the predicate can round


def possible_neighbours(asked: Matrix, values: Matrix, form: Form) -> Ints:
    """Return which of the records asked about may have neighbours among some values.

    Both are placed already.
    """
    possible = np.ones(len(asked), bool)
    for column, reach in enumerate(_reaches(form)):
        if math.isfinite(reach):
            # A rounded sum is at most one step too small.
            low = math.nextafter(float(values[:, column].min()) - reach, -math.inf)
            high = math.nextafter(float(values[:, column].max()) + reach, math.inf)
            possible &= (low <= asked[:, column]) & (asked[:, column] <= high)
    return np.flatnonzero(possible)


def _reaches(form: Form) -> list[float]:
    """Return how far apart close records can be in each column; infinity if that is not known."""
    if form.kind == MIXED:
        different = math.inf if form.threshold >= 1.0 else 0.0
        return [
            (form.threshold * _SLACK + 1e-300) * scale if scale > 0.0 else different
            for scale in form.scales
        ]
    if form.kind == SQUARES and not 1e-140 < form.radius < 1e140:
        return [math.inf] * len(form.scales)
    return [form.radius * _SLACK] * len(form.scales)


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


def numbered(counts: Ints, cap: int) -> Matrix:
    """Return the places and the counts, up to the cap, of those that are not 0."""
    places = np.flatnonzero(counts)
    return np.column_stack([places, np.minimum(counts[places], cap)]).astype(np.float64)


def _shares(values: Matrix, shares: int) -> Ints:
    """Return the share of each record; equal records have one share."""
    if shares == 1:
        return np.zeros(len(values), np.int64)
    mixed = np.zeros(len(values), np.uint64)
    # Adding 0 makes -0 and 0, which are equal, one.
    for column in np.ascontiguousarray((values + 0.0).T).view(np.uint64):
        mixed = (mixed ^ column) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return (mixed % np.uint64(shares)).astype(np.int64)


# Where cells have been counted (:mod:`~whitecrow.neighbours.cells`)

INDEXED = 1 << 21
"""Records in one index, where they lie."""
_SMALLEST = 14


@dataclass(frozen=True, repr=False)
class Sampled:
    """Yields each record with a probability, and how many there are.

    The last column is 0 for a record; where it is 1 the first is a number of records. A sample
    decides how work is split, and never the counts.
    """

    part: float

    def __call__(self, batches: Iterator[Matrix]) -> Iterator[Matrix]:
        source, size = np.random.default_rng(), 0
        for values in batches:
            drawn = values[source.random(len(values)) < self.part]
            yield np.column_stack([drawn, np.zeros(len(drawn))])
            size, width = size + len(values), values.shape[1]
        if size:
            yield np.array([[size, *np.zeros(width - 1), 1.0]])


@dataclass(frozen=True, repr=False)
class Histogram:
    """Yields the inhabited cells and how many records each holds."""

    lattice: Lattice  # the cells
    # With more inhabited cells than this in one partition, the rest of it is not looked at.
    most: int

    def __call__(self, batches: Iterator[Matrix]) -> Iterator[Matrix]:
        tally = _Tally()
        for values in gathered(batches, COMPILED):
            tally.add(self.lattice.keys(values))
            if tally.used > self.most:
                break
        yield np.column_stack(tally.sums()).astype(np.float64)


class _Tally:
    """Counts keys in a table of slots; one that is half full is put aside for a larger one."""

    def __init__(self) -> None:
        self.used, self._bits = 0, _SMALLEST
        self._aside: list[tuple[Counts, Counts]] = []
        self._table = _slots(self._bits)

    def add(self, keys: Counts) -> None:
        if len(keys) < COMPILED:
            self._aside.append(np.unique(keys, return_counts=True))
            return
        from whitecrow.neighbours._kernels.cells import tally

        done = 0
        while True:
            done, self.used = tally(keys, done, self._bits, *self._table, self.used)
            if done == len(keys):
                return
            self._aside.append(self._listed())
            self.used, self._bits = 0, self._bits + 2
            self._table = _slots(self._bits)

    def sums(self) -> tuple[Counts, Counts]:
        parts = [*self._aside, self._listed()]
        return added(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def _listed(self) -> tuple[Counts, Counts]:
        held, counts = self._table
        return held[held >= 0], counts[held >= 0]


def _slots(bits: int) -> tuple[Counts, Counts]:
    return np.full(1 << bits, -1, np.int64), np.zeros(1 << bits, np.int64)


@dataclass(frozen=True, repr=False)
class Cells:
    """Some cells, and where records lie among them."""

    lattice: Lattice  # all cells
    keys: Counts  # those that matter, ascending

    def places(self, values: Matrix) -> Counts:
        """Return the place of each record's cell in the list, -1 if it is not there."""
        wanted = self.lattice.keys(values)
        if len(wanted) < COMPILED:
            return positions(self.keys, wanted)
        from whitecrow.neighbours._kernels.cells import find

        places = np.empty(len(wanted), np.int64)
        find(self.keys, *self._slots, wanted, places)
        return places

    @cached_property
    def _slots(self) -> tuple[Int32s, int]:
        from whitecrow.neighbours._kernels.cells import slots_of

        bits = max(1, int(2 * len(self.keys) - 1).bit_length())
        return slots_of(self.keys, bits), bits

    def within(self, values: Matrix) -> tuple[Matrix, Counts]:
        """Return the records of these cells, and their places."""
        places = self.places(values)
        inside = places >= 0
        return values[inside], places[inside]


@dataclass(frozen=True, repr=False)
class Within:
    """Yields the records of some cells."""

    cells: Cells

    def __call__(self, batches: Iterator[Matrix]) -> Iterator[Matrix]:
        for values in batches:
            yield self.cells.within(values)[0]


@dataclass(frozen=True, repr=False)
class Nearby:
    """What a turn touches: its cells, in an order in which near ones are together."""

    cells: Cells  # the cells
    rank: Counts  # the place of each in that order

    @staticmethod
    def of(lattice: Lattice, batch: Batch) -> Nearby:
        """Put the cells of a turn in order."""
        rank = np.empty(len(batch.near), np.int64)
        rank[np.argsort(lattice.along(batch.near))] = np.arange(len(rank))
        return Nearby(Cells(lattice, batch.near), rank)

    def order(self, places: Counts) -> Counts:
        """List records that are at these places, cell by cell."""
        return in_order(self.rank[places])

    def grouping(self, held: Counts) -> Grouping:
        """Divide the cells, which hold so many records, into groups to be worked on together."""
        group = np.empty(len(held), np.int64)
        order = np.argsort(self.rank)
        group[order] = (np.cumsum(held[order]) - 1) // GATHERED
        return Grouping(self.cells, group)


@dataclass(frozen=True, repr=False)
class Grouping:
    """Says which records are worked on together, by a number for each cell that matters."""

    cells: Cells
    group: Counts

    def __call__(self, values: Matrix) -> Counts:
        """Return the group of each record, -1 for those that do not matter."""
        places = self.cells.places(values)
        return np.where(places < 0, -1, self.group[places])


@dataclass(frozen=True, repr=False)
class CountingNear:
    """Counts the neighbours of records asked about, among those of the cells that they touch.

    Yields what :class:`Counting` yields. The cells say which records
    lie together, so that their index needs no sorting.
    """

    nearby: Nearby  # the cells of records that are compared as they are
    group: Group  # the records asked about, near ones together
    cap: int  # where counting stops
    # Records of a partition in one index, if it has so many. Those that were moved together lie
    # together: an index of a few of them is far from most that are asked about.
    together: int = INDEXED
    alone: bool = False  # whether to keep to one core: others work beside it

    def __call__(self, batches: Iterator[Matrix]) -> Iterator[Matrix]:
        if self.alone:
            parallel.limit(1)
        asked, form = self.group.asked, self.group.form
        counts = np.zeros(len(asked), np.int64)
        for values, places in self._together(batches):
            rows = possible_neighbours(asked, values, form)
            rows = rows[counts[rows] < self.cap]
            near = partial(self.nearby.order, places)
            counts[rows] += count_in_part(values, form, asked[rows], self.cap, near)
            if bool((counts >= self.cap).all()):
                break
        yield numbered(counts, self.cap)

    def _together(self, batches: Iterator[Matrix]) -> Iterator[tuple[Matrix, Counts]]:
        """Yield the records of the cells and their places, as many together as one index holds."""
        waiting: list[tuple[Matrix, Counts]] = []
        for values in batches:
            waiting.append(self.nearby.cells.within(values))
            if sum(len(places) for _, places in waiting) >= self.together:
                yield _joined(waiting)
                waiting = []
        if any(len(places) for _, places in waiting):
            yield _joined(waiting)


def _joined(parts: list[tuple[Matrix, Counts]]) -> tuple[Matrix, Counts]:
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def added(keys: Counts, counts: Counts) -> tuple[Counts, Counts]:
    """Return each key once, ascending, with the sum of its counts."""
    once, places = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(once), np.int64)
    np.add.at(sums, places, counts)
    return once, sums


def positions(keys: Counts, wanted: Counts) -> Counts:
    """Return the places of some keys in an ascending list, -1 for those that are not in it."""
    if not len(keys):
        return np.full(len(wanted), -1)
    places = np.searchsorted(keys, wanted)
    places[places == len(keys)] = 0
    return np.where(keys[places] == wanted, places, -1)
