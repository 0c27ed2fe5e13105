"""A dataset that memory does not hold, and the file of this process that may keep its columns.

Canonical columns on disk are written once, when a source is opened, to a file that has no name:
nobody else can open it, and the system removes it when the process closes it or ends, however it
ends. It lies in the folder that the variable TMPDIR names, and takes 8 bytes for each value.
"""

from __future__ import annotations

import math
import tempfile
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from whitecrow._arrays import Floats, Ints, Matrix
from whitecrow.card import Card
from whitecrow.data.dataset import Key, Rejections
from whitecrow.data.opened import Opened
from whitecrow.data.reading import Loader, Progress, open_checked, stored_batches
from whitecrow.data.sources import data_file, open_source
from whitecrow.data.warehouse._protocol import (
    Asked,
    Stored,
    Warehouse,
    Work,
    Yields,
    blocks,
    divided,
    from_octets,
    gathered,
    to_octets,
)
from whitecrow.data.warehouse.spark import SparkWarehouse
from whitecrow.errors import InvalidInput, RecordsElsewhere, Unreachable, WhitecrowError

_TOGETHER = 1 << 20  # rows that are decoded before their columns are written
_BUCKETS = 64
"""The people of a source are divided into so many: of each, all records are held at once."""
_PEEKED = 8  # blocks that a sample comes from, at most


Span = tuple[int, int]
"""Where some bytes lie: the first of them, and how many they are."""


class _Spool:
    """Bytes in a file without a name."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="whitecrow-", buffering=0)  # noqa: SIM115 - closed below
        self._end = 0
        self._at = threading.Lock()
        # Whoever forgets to close it lets go of it all the same.
        self.close = weakref.finalize(self, self._file.close)

    def put(self, octets: bytes) -> Span:
        start = self._end
        rest = memoryview(octets)
        try:
            with self._at:
                self._file.seek(start)
                while len(rest):
                    rest = rest[self._file.write(rest) :]
        except OSError:
            raise Unreachable(
                "There is no room on disk for the columns of this source, 8 bytes for each value. "
                "Let the variable TMPDIR name a folder that has it."
            ) from None
        self._end += len(octets)
        return start, len(octets)

    def get(self, span: Span) -> bytes:
        """Read; several threads may."""
        start, length = span
        with self._at:
            self._file.seek(start)
            octets: bytes = self._file.read(length)
        assert len(octets) == length
        return octets


class DiskWarehouse:
    """Canonical columns of a source, in a file of this process; the source is read once, here."""

    spread = False

    def __init__(self, opened: Opened, card: Card, progress: Progress | None = None) -> None:
        self.name, self.card = opened.name, card
        self._spool = _Spool()
        self._blocks: list[Stored] = []
        try:
            self._fill(opened, progress)
        except BaseException:
            self._spool.close()
            raise

    def _fill(self, opened: Opened, progress: Progress | None) -> None:
        loader = Loader(self.card)
        batches = stored_batches(opened, loader, progress)
        if self.card.user_column is None:
            for batch in batches:
                loader.add(batch)
                if loader.waiting >= _TOGETHER:
                    self._store(loader)
            self._store(loader)
        else:
            # Rows as they are stored, so that all of a person's are in one bucket.
            people = _Spool()
            buckets: list[list[Span]] = [[] for _ in range(_BUCKETS)]
            try:
                for batch in batches:
                    for bucket, part in divided(batch, self.card, _BUCKETS):
                        buckets[bucket].append(people.put(to_octets(part)))
                for spans in buckets:
                    for span in spans:
                        loader.add(from_octets(people.get(span)))
                    self._store(loader)
            finally:
                people.close()
        size = sum(block.size for block in self._blocks if block.kept)
        self.size: int | None = size
        self.every: int | None = self.rows_stored
        self.rejections: Rejections | None = loader.rejections(size)

    def _store(self, loader: Loader) -> None:
        spool = self._spool  # blocks do not refer to their warehouse, which is let go of at once
        for kept, size, columns in blocks(self.card, *loader.take()):
            spans = list(map(spool.put, columns))
            octets = partial(lambda spans, column: spool.get(spans[column]), spans)
            self._blocks.append(Stored(self.card, kept, size, octets))

    @property
    def rows_stored(self) -> int:
        return sum(block.size for block in self._blocks)

    def work(self, asked: Asked, work: Work, yields: Yields) -> Iterator[Matrix]:
        yield from work(asked.of(self._blocks))

    def texts(self, column: str) -> Counter[str | None]:
        counts: Counter[str | None] = Counter()
        for block in self._blocks:
            counts.update(block.every_text(column))
        return counts

    def peek(self, asked: Asked, number: int) -> Matrix | None:
        """Return some records of some blocks. A sample decides how work is split, never a count."""
        source = np.random.default_rng()
        chosen = source.permutation(len(self._blocks))[:_PEEKED]
        values = list(asked.of(self._blocks[index] for index in chosen))
        if not values:
            return None
        together = np.concatenate(values)
        return together[source.permutation(len(together))[:number]]

    def close(self) -> None:
        self._spool.close()


_TALLIED = 1 << 18  # records that are put into groups together


class RemoteDataset:
    """Private records in a warehouse, beside their public card.

    It has the methods of :class:`whitecrow.data.Dataset` that need no copy of the records.
    """

    def __init__(self, card: Card, warehouse: Warehouse) -> None:
        self.card, self.warehouse, self.origin = card, warehouse, warehouse.name
        counts = {frozenset(card.names): warehouse.size, frozenset[str](): warehouse.every}
        self._counts = {names: count for names, count in counts.items() if count is not None}
        if card.most_records is not None:
            card.check_size(self.count(()))

    def __repr__(self) -> str:
        return f"<RemoteDataset {self.card.name!r}: {len(self.card.columns)} columns, elsewhere>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a dataset is never pickled: it leads to private records")

    @property
    def size(self) -> int:
        """The number of records that pass the card by all columns. A fact, unless it is public."""
        return self.count(self.card.names)

    def count(self, columns: Sequence[str]) -> int:
        """Return how many records there are where these columns are asked about: a fact."""
        checked = self.card.deciding(columns)
        counted = self._counts.get(frozenset(checked))
        if counted is None:
            counted = self._counted(Asked((), checked))
            self.remember_count(columns, counted)
        return counted

    def remember_count(self, columns: Sequence[str], records: int) -> None:
        """Take note of how many records a reading of all of them has found."""
        self._counts[frozenset(self.card.deciding(columns))] = records

    @property
    def size_at_most(self) -> float:
        """A bound on every count that needs no reading: the rows that are stored, or infinity."""
        every = self._counts.get(frozenset(self.card.deciding(())))
        if every is not None:
            return every
        stored = self.warehouse.rows_stored
        return math.inf if stored is None else stored

    @property
    def rejections(self) -> Rejections:
        """How many records the card leaves out; the reasons only where they were counted."""
        warehouse = self.warehouse
        if warehouse.rejections is None:
            stored = warehouse.rows_stored
            if stored is None:
                stored = self._counted(Asked((), every=True))
            warehouse.rejections = Rejections(stored, self.size, {})
        return warehouse.rejections

    def records(self, columns: Sequence[str]) -> Asked:
        """Ask for columns of the records that pass the card by them, as doubles."""
        for name in columns:
            if self.card.column(name).type == "text":
                raise InvalidInput(f"The column {name!r} is text; distances need numbers.")
        return Asked(tuple(columns), self.card.deciding(columns))

    def every_record(self, columns: Sequence[str]) -> Asked:
        """Ask for columns of numbers or days of all records, NaN where missing."""
        return Asked(tuple(columns), every=True)

    def every_text(self, column: str) -> dict[str | None, int]:
        """Count all records by a column of categories or texts; None is a missing value."""
        return dict(self.warehouse.texts(column))

    def tally(self, keys: Sequence[Key]) -> tuple[tuple[Floats, ...], Ints]:
        """Group the records by keys where they are; return the groups and their sizes."""
        asked = self.records([key.column for key in keys])
        yields = Yields(len(keys) + 1)
        groups = _grouped(self.rows_of(asked, partial(_tallied, keys), yields))
        columns = tuple(np.ascontiguousarray(column) for column in groups.T)
        return columns[:-1], columns[-1].astype(np.int64)

    def values(self, column: str) -> NoReturn:
        """Refuse: a whole column would be copied here."""
        self.matrix([column])

    def matrix(self, columns: Sequence[str]) -> NoReturn:
        """Refuse: whole columns would be copied here."""
        raise RecordsElsewhere(
            f"This needs a copy of the column {', '.join(columns)}, and these records stay where "
            "they are. Use engine='local' for it."
        )

    def fingerprint(self) -> str:
        """Return what rows that Spark alone has seen are recognised by."""
        assert isinstance(self.warehouse, SparkWarehouse)
        return self.warehouse.fingerprint()

    def close(self) -> None:
        self.warehouse.close()

    def rows_of(self, asked: Asked, work: Work, yields: Yields) -> Matrix:
        """Do work where the records are; return all rows that it yields."""
        parts = self.warehouse.work(asked, work, yields)
        return np.concatenate([np.empty((0, yields.width)), *parts])

    def totals(self, asked: Asked, work: Work, size: int) -> Ints:
        """Do work that yields places and numbers; return the sum for each of so many places."""
        sums = np.zeros(size, np.int64)
        for part in self.warehouse.work(asked, work, Yields(2, totals=True)):
            places = part.astype(np.int64)
            np.add.at(sums, places[:, 0], places[:, 1])
        return sums

    def _counted(self, asked: Asked) -> int:
        return int(self.rows_of(asked, _lengths, Yields(1)).sum())


def _lengths(batches: Iterator[Matrix]) -> Iterator[Matrix]:
    """Count the records of a partition."""
    yield np.array([[float(sum(map(len, batches)))]])


def _tallied(keys: Sequence[Key], batches: Iterator[Matrix]) -> Iterator[Matrix]:
    """Yield groups of records by keys, and how many each holds."""
    total = np.empty((0, len(keys) + 1))
    for values in gathered(batches, _TALLIED):
        columns = [key.of(values[:, column]) for column, key in enumerate(keys)]
        total = _grouped(np.vstack([total, np.column_stack([*columns, np.ones(len(values))])]))
    yield total


def _grouped(rows: Matrix) -> Matrix:
    """Add up the last column of rows that are equal in the others."""
    if not len(rows):
        return rows
    order = np.lexsort(rows[:, :-1].T[::-1])
    rows = rows[order]
    first = np.flatnonzero(np.r_[True, (rows[1:, :-1] != rows[:-1, :-1]).any(axis=1)])
    return np.column_stack([rows[first, :-1], np.add.reduceat(rows[:, -1], first)])


def open_remote(
    source: object,
    card: Card | str | Path | None = None,
    *,
    engine: str = "disk",
    spark_master: str | None = None,
    progress: Progress | None = None,
    watch: Callable[[Any], None] | None = None,
) -> RemoteDataset:
    """Open records that memory need not hold, with the engine ``disk`` or ``spark``.

    ``disk`` takes what :func:`whitecrow.data.read` takes, and reads it once, here. ``spark`` takes
    a Parquet file or folder, or the folder of a Delta or Iceberg table, that all workers see; a
    Parquet address (``s3a://...``), the name of a table, or a Spark data frame. For the master see
    :func:`whitecrow.data.warehouse.spark.session`.

    Where the engine is not installed or does not answer, nothing was counted.
    """
    facts = Card.load(card) if isinstance(card, str | Path) else card
    if engine == "disk":
        opened, facts = open_checked(source, facts, watch)
        return _dataset(DiskWarehouse(opened, facts, progress))
    try:
        return _dataset(SparkWarehouse(source, facts, spark_master, _in_files(source, facts)))
    except WhitecrowError:
        raise
    except Exception as error:  # noqa: BLE001 - a driver's own text may quote values
        raise Unreachable(
            f"The engine 'spark' did not answer ({type(error).__name__}); nothing was counted."
        ) from None


def _dataset(warehouse: DiskWarehouse | SparkWarehouse) -> RemoteDataset:
    try:
        return RemoteDataset(warehouse.card, warehouse)
    except BaseException:
        warehouse.close()
        raise


def _in_files(source: object, card: Card | None) -> Opened | None:
    """Open a source that consists of Parquet files here; None where Spark finds the records."""
    path = data_file(source)
    if path is None or not path.exists():
        return None
    opened = open_source(path, card)
    if opened.files is None:
        raise InvalidInput(
            f"The engine 'spark' reads Parquet files, and {path.name!r} consists of none. Use "
            "engine='disk'."
        )
    return opened
