"""A dataset that memory does not hold: all counting goes to the warehouse that keeps it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from whitecrow.card import Card
from whitecrow.data._dataset import Rejections
from whitecrow.data._opened import Opened
from whitecrow.data.keys import Key
from whitecrow.data.reading import Progress, open_checked
from whitecrow.data.sources import data_file, open_source
from whitecrow.data.warehouse._disk import DiskWarehouse
from whitecrow.data.warehouse._protocol import Asked, Matrix, Warehouse, Yields, gathered
from whitecrow.data.warehouse.spark import SparkWarehouse
from whitecrow.errors import InvalidInput, RecordsElsewhere, Unreachable, WhitecrowError

_TALLIED = 1 << 18
"""Records that are put into groups together."""


class RemoteDataset:
    """Private records in a warehouse, beside their public card.

    It has the methods of :class:`whitecrow.data.Dataset` that need no copy of the records. ``size``
    is how many pass the card by all columns, and ``every`` how many there are, where that is known.
    Where rows come from no file and were not seen by this process, ``mark`` returns what they are
    recognised by.
    """

    def __init__(
        self,
        card: Card,
        warehouse: Warehouse,
        *,
        size: int | None = None,
        every: int | None = None,
        rejections: Rejections | None = None,
        mark: Callable[[], str] | None = None,
    ) -> None:
        self.card = card
        self.warehouse = warehouse
        self.origin = warehouse.name
        known = {frozenset(card.names): size, frozenset[str](): every}
        self._counts = {names: count for names, count in known.items() if count is not None}
        self._rejections = rejections
        self._mark = mark
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
        known = self._counts.get(frozenset(checked))
        if known is None:
            known = self._counted(Asked((), checked))
            self.remember_count(columns, known)
        return known

    def remember_count(self, columns: Sequence[str], records: int) -> None:
        """Take note of how many records a reading of all of them has found."""
        self._counts[frozenset(self.card.deciding(columns))] = records

    @property
    def size_at_most(self) -> float:
        """A bound on every count that needs no reading: the rows that are stored, or infinity."""
        known = self._counts.get(frozenset(self.card.deciding(())))
        if known is not None:
            return known
        stored = self.warehouse.rows_stored
        return math.inf if stored is None else stored

    @property
    def rejections(self) -> Rejections:
        """How many records the card leaves out; the reasons only where they were counted."""
        if self._rejections is None:
            stored = self.warehouse.rows_stored
            if stored is None:
                stored = self._counted(Asked((), every=True))
            self._rejections = Rejections(stored, self.size, {})
        return self._rejections

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

    def tally(
        self, keys: Sequence[Key]
    ) -> tuple[tuple[npt.NDArray[np.float64], ...], npt.NDArray[np.int64]]:
        """Group the records by keys where they are; return the groups and their sizes."""
        asked = self.records([key.column for key in keys])
        parts = self.warehouse.work(asked, _Tally(tuple(keys)), Yields(len(keys) + 1))
        groups = _grouped(np.concatenate([np.empty((0, len(keys) + 1)), *parts]))
        columns = tuple(np.ascontiguousarray(column) for column in groups.T)
        return columns[:-1], columns[-1].astype(np.int64)

    def values(self, column: str) -> NoReturn:
        """Refuse: a whole column would be copied here."""
        raise _elsewhere(column)

    def matrix(self, columns: Sequence[str]) -> NoReturn:
        """Refuse: whole columns would be copied here."""
        raise _elsewhere(", ".join(columns))

    def mark(self) -> str:
        """Return what the stored rows are recognised by, see :mod:`whitecrow.data.fingerprints`."""
        assert self._mark is not None
        return self._mark()

    def close(self) -> None:
        self.warehouse.close()

    def _counted(self, asked: Asked) -> int:
        parts = self.warehouse.work(asked, _lengths, Yields(1))
        return int(np.concatenate([np.empty((0, 1)), *parts]).sum())


def _lengths(batches: Iterator[Matrix]) -> Iterator[Matrix]:
    """Count the records of a partition."""
    yield np.array([[float(sum(map(len, batches)))]])


@dataclass(frozen=True)
class _Tally:
    """Yields groups of records by keys, and how many each holds."""

    keys: tuple[Key, ...]

    def __call__(self, batches: Iterator[Matrix]) -> Iterator[Matrix]:
        total = np.empty((0, len(self.keys) + 1))
        for values in gathered(batches, _TALLIED):
            columns = [key.of(values[:, place]) for place, key in enumerate(self.keys)]
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


def _elsewhere(columns: str) -> RecordsElsewhere:
    return RecordsElsewhere(
        f"This needs a copy of the column {columns}, and these records stay where they are. "
        "Use engine='local' for it."
    )


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
    known = Card.load(card) if isinstance(card, str | Path) else card
    if engine == "disk":
        opened, known = open_checked(source, known, watch)
        disk = DiskWarehouse(opened, known, progress)
        every, rejections = disk.rows_stored, disk.rejections
        return _dataset(known, disk, size=disk.size, every=every, rejections=rejections)
    try:
        spark = SparkWarehouse(source, known, spark_master, _in_files(source, known))
        mark = spark.mark if spark.rows_stored is None else None
        found: dict[str, Any] = {
            "size": spark.size,
            "every": spark.every,
            "rejections": spark.rejections,
        }
        return _dataset(spark.card, spark, **found, mark=mark)
    except WhitecrowError:
        raise
    except Exception as error:  # noqa: BLE001 - a driver's own text may quote values
        raise Unreachable(
            f"The engine 'spark' did not answer ({type(error).__name__}); nothing was counted."
        ) from None


def _dataset(card: Card, warehouse: Any, **known: Any) -> RemoteDataset:
    try:
        return RemoteDataset(card, warehouse, **known)
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
