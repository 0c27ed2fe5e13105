"""The engine that counts in this process and needs no server."""

from __future__ import annotations

import math
import threading
from functools import partial

import numpy as np

from whitecrow._arrays import Counts, Matrix
from whitecrow._compiled import KERNELS
from whitecrow.neighbours._engine import LocalRecords, sparse_rows
from whitecrow.neighbours.cells import GRID_COLUMNS
from whitecrow.neighbours.index import Arranged, Progress, arranged
from whitecrow.neighbours.plans import (
    CountsByForm,
    checked_cap,
    checked_data,
    count_every,
    count_indexed,
    count_records,
    count_through,
)
from whitecrow.neighbours.relation import Form, NeighbourRelation

Space = tuple[tuple[str, ...], Form]
"""What an index is over: columns, and how their values become vectors."""

_OFTEN = 32  # after this many records asked about in the same columns, an index is built

_MEMORY = 1 << 30  # how many bytes the indexes built because of questions may take, all together

_MOST_SPACES = 10_000  # how many sets of columns are counted until one of them is asked about often


class LocalEngine(CountsByForm):
    """Counts neighbours in one dataset.

    A few questions are answered by looking at all records; when more come, an index over their
    columns is built and kept, until others need its memory. ``memory`` is how many bytes the
    indexes that questions made it build may take; those built by :meth:`prepare` stay.
    """

    def __init__(
        self, dataset: LocalRecords, *, progress: Progress | None = None, memory: int = _MEMORY
    ) -> None:
        self._dataset = dataset
        self._progress = progress
        self._indexes = KeptIndexes(memory)
        self._asked: dict[Space, int] = {}
        self._often: float = _OFTEN
        self._latest: tuple[Space, Matrix] | None = None

    def __repr__(self) -> str:
        return "<LocalEngine: records withheld>"

    def build_only_when_told(self) -> None:
        """Build no index because of questions from now on: :meth:`prepare` alone does."""
        self._often = math.inf

    def prepare(self, neighbour_relation: NeighbourRelation) -> None:
        """Build the index for a neighbour relation now, and keep it whatever else comes."""
        space = _space(neighbour_relation)
        if self._indexes.get(space) is None:
            self._build(space, fixed=True)

    def degrees(self, neighbour_relation: NeighbourRelation, cap: int | None = None) -> Counts:
        form, space = neighbour_relation.form(), _space(neighbour_relation)
        index = self._indexes.get(space)
        if index is not None and len(form.scales) > GRID_COLUMNS:
            limit = checked_cap(cap, index.tables.size, "degrees")
            return count_indexed(index, form, limit, self._progress)
        self._latest = None
        pieces = partial(_Pieces, self._dataset, space)
        return count_every(lambda: self._read(space), form, cap, self._progress, pieces)

    def sparse(self, neighbour_relation: NeighbourRelation, cap: int) -> tuple[Matrix, Counts]:
        return sparse_rows(
            self._dataset, neighbour_relation, self.degrees(neighbour_relation, cap), cap
        )

    def _count(
        self, records: Matrix, relation: NeighbourRelation, form: Form, cap: int | None
    ) -> Counts:
        space, asked = _space(relation), form.placed(records)
        index = self._indexes.get(space)
        if index is None:
            often = self._asked.pop(space, 0) + len(asked)
            if often >= self._often:
                index = self._build(space, fixed=False)
            else:
                if len(self._asked) >= _MOST_SPACES:
                    self._asked.clear()
                self._asked[space] = often
        if index is None:
            values = self._values(space)
            return count_records(values, form, asked, checked_cap(cap, len(values), "engine"))
        return count_through(index, form, asked, checked_cap(cap, index.tables.size, "engine"))

    def _build(self, space: Space, *, fixed: bool) -> Arranged | None:
        values = self._values(space)
        if not len(values):
            return None
        index = arranged(values, space[1], self._progress)
        KERNELS.use()  # building it has loaded them
        self._indexes.put(space, index, fixed=fixed)
        self._latest = None
        return index

    def _values(self, space: Space) -> Matrix:
        """Return the records as the measure compares them; the latest are kept."""
        # Read and written once each: questions about other columns run in other threads.
        latest = self._latest
        if latest is None or latest[0] != space:
            self._latest = latest = space, self._read(space)
        return latest[1]

    def _read(self, space: Space) -> Matrix:
        columns, form = space
        return form.placed(checked_data(self._dataset.matrix(columns), "engine"))


class _Pieces:
    """The records of a dataset as a measure compares them, read some at a time."""

    def __init__(self, dataset: LocalRecords, space: Space, shape: tuple[int, int]) -> None:
        self._dataset, self._space, self.shape = dataset, space, shape

    def __getitem__(self, some: slice) -> Matrix:
        rows = np.arange(*some.indices(self.shape[0]))
        columns, form = self._space
        return form.placed(checked_data(self._dataset.rows(columns, rows), "engine"))


def _space(relation: NeighbourRelation) -> Space:
    return relation.columns, relation.form().space


def bytes_of(index: Arranged) -> int:
    """Return how much memory an index takes: a function of how many records and columns it has."""
    tables = index.tables
    arrays = (tables.blocks, tables.local, tables.frames, *tables.tree, index.ids)
    return sum(int(array.nbytes) for array in arrays)


class KeptIndexes:
    """Indexes by what they are over; the one unused for longest makes room.

    Which one goes depends on what was asked and in which order, never on a value of a record. One
    that is larger than all the ``memory`` is kept alone.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._lock = threading.Lock()
        self._loose: dict[Space, Arranged] = {}  # the latest used is the last
        self._fixed: dict[Space, Arranged] = {}

    def get(self, space: Space) -> Arranged | None:
        """Return an index and note that it was used."""
        with self._lock:
            index = self._fixed.get(space)
            if index is None and (index := self._loose.pop(space, None)) is not None:
                self._loose[space] = index
            return index

    def put(self, space: Space, index: Arranged, *, fixed: bool) -> None:
        """Keep an index; one that is fixed stays whatever else comes."""
        with self._lock:
            if fixed:
                self._loose.pop(space, None)
                self._fixed[space] = index
            else:
                self._loose[space] = index
            for oldest in list(self._loose)[:-1]:
                if self._bytes() <= self._memory:
                    break
                del self._loose[oldest]

    @property
    def bytes(self) -> int:
        with self._lock:
            return self._bytes()

    def _bytes(self) -> int:
        return sum(map(bytes_of, (*self._fixed.values(), *self._loose.values())))
