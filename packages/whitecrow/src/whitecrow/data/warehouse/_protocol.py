"""What a warehouse is: it keeps canonical columns that memory would not hold, and works on them."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from whitecrow._arrays import Array, Ints, Matrix
from whitecrow.card import Card, Column
from whitecrow.data.columns import Decoded, exact_ids, recovered
from whitecrow.data.dataset import Rejections
from whitecrow.data.values import decoded

Work = Callable[[Iterator[Matrix]], Iterator[Matrix]]
"""A part of a computation: takes the records of a partition in batches, yields rows of doubles.

It is a picklable object, and what all partitions yield together must not depend on how the records
are divided among them.
"""

BATCH = 131_072
"""Records that travel together."""


@dataclass(frozen=True, repr=False)
class Asked:
    """Which columns of which records a work is to be given."""

    columns: tuple[str, ...]  # the columns, as doubles
    checked: tuple[str, ...] = ()  # the columns by which the card leaves records out
    every: bool = False  # whether columns are wanted as they were read, NaN where missing
    # Takes rows, returns a whole number for each: rows of one number are worked on together, and
    # those of a negative one are not needed. For warehouses that move records between workers.
    groups: Callable[[Matrix], Ints] | None = None

    def of(self, rows: Iterable[Rows]) -> Iterator[Matrix]:
        """Yield what is asked, of some records after others; nothing where there is none."""
        for some in rows:
            values = (
                some.every_matrix(self.columns)
                if self.every
                else some.matrix(self.columns, self.checked)
            )
            if len(values):
                yield values


@dataclass(frozen=True)
class Yields:
    """What a work yields."""

    width: int  # how many columns
    # Whether they are two, a place and a number, of which only the sum for each place matters.
    totals: bool = False
    # Where several processes work, at most so many totals come back, whichever they are.
    most: int | None = None


class Warehouse(Protocol):
    """Keeps canonical columns; parts of computations go to them, small results come back."""

    name: str  # what the data are called, in words
    spread: bool  # whether work runs in several processes at once, one core for each
    size: int | None  # how many records pass the card by all columns, where that was counted
    every: int | None  # how many there are, where that was counted
    rejections: Rejections | None

    @property
    def rows_stored(self) -> int | None:
        """How many rows the source has, where that is known without reading them."""

    def work(self, asked: Asked, work: Work, yields: Yields) -> Iterator[Matrix]:
        """Do the work where the records are, on each partition of them."""

    def texts(self, column: str) -> Counter[str | None]:
        """Count all records by a column of categories or texts; None is a missing value."""

    def peek(self, asked: Asked, number: int) -> Matrix | None:
        """Return about so many records if they can be read here at once, the best of it."""

    def close(self) -> None:
        """Let go of the records."""


def gathered(batches: Iterator[Matrix], records: int) -> Iterator[Matrix]:
    """Join small batches to some of at least so many records, but for the last."""
    waiting: list[Matrix] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= records:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


@dataclass(frozen=True, repr=False)
class Stored:
    """A block of records of one kind: such as pass the card, or such as it leaves out."""

    card: Card  # the public facts
    kept: bool  # whether these records pass the card
    size: int  # how many there are
    octets: Callable[[int], bytes]  # takes the place of a column on the card, returns its bytes

    def matrix(self, columns: Sequence[str], checked: Sequence[str]) -> Matrix:
        if self.kept or not checked:
            return self.every_matrix(columns)
        values = {
            name: recovered(self._values(name), self.card.column(name))
            for name in dict.fromkeys([*checked, *columns])
        }
        passing = np.logical_and.reduce([values[name][1] for name in checked])
        passing_values = np.empty((int(passing.sum()), len(columns)))
        for column, name in enumerate(columns):
            passing_values[:, column] = values[name][0][passing]
        return passing_values

    def every_matrix(self, columns: Sequence[str]) -> Matrix:
        values = np.empty((self.size, len(columns)))
        for column, name in enumerate(columns):
            values[:, column] = self._values(name)
        return values

    def every_text(self, name: str) -> Counter[str | None]:
        values, categories = self._values(name).tolist(), self.card.column(name).categories
        if self.kept and categories is not None:
            values = [categories[int(code)] for code in values]
        return Counter(values)

    def _values(self, name: str) -> Array:
        column = self.card.names.index(name)
        octets = self.octets(column)
        if _is_text(self.card.columns[column], kept=self.kept):
            return np.array(json.loads(octets), dtype=object)
        return np.frombuffer(octets)


Rows = Decoded | Stored
"""Some records as canonical columns: just decoded, or stored and read again."""


def blocks(
    card: Card, kept: dict[str, Array], left: dict[str, Array]
) -> Iterator[tuple[bool, int, list[bytes]]]:
    """Divide canonical columns into blocks: whether they pass the card, how many, and the bytes.

    ``left`` is what can be read of records that do not pass; empty where there are none.
    """
    for passes, columns in ((True, kept), (False, left)):
        size = len(next(iter(columns.values()))) if columns else 0
        for first in range(0, size, BATCH):
            part = [columns[name][first : first + BATCH] for name in card.names]
            packed = [
                _packed(values, text=_is_text(column, kept=passes))
                for column, values in zip(card.columns, part, strict=True)
            ]
            yield passes, len(part[0]), packed


def _is_text(column: Column, *, kept: bool) -> bool:
    """Whether a column is stored as texts: a category that is none of the card's has no code."""
    return column.type == "text" or (column.type == "category" and not kept)


def _packed(values: Array, *, text: bool) -> bytes:
    return json.dumps(values.tolist()).encode() if text else values.astype(np.float64).tobytes()


def to_octets(batch: Any) -> bytes:
    """Write a batch with its schema."""
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def from_octets(octets: bytes) -> Any:
    import pyarrow

    with pyarrow.ipc.open_stream(octets) as stream:
        return stream.read_next_batch()


def divided(batch: Any, card: Card, buckets: int) -> Iterator[tuple[int, Any]]:
    """Divide the rows of a batch by whose they are; all of a person's are in one bucket."""
    import pyarrow

    assert card.user_column is not None
    index = card.names.index(card.user_column)
    arrays = [decoded(column) for column in batch.columns]
    coded = exact_ids(arrays[index], card.columns[index]).dictionary_encode("encode")
    of_each = [
        0 if name is None else zlib.crc32(name.encode()) % buckets
        for name in coded.dictionary.to_pylist()
    ]
    numbers = np.array(of_each, dtype=np.int64)[np.asarray(coded.indices)]
    for bucket in np.unique(numbers):
        rows = np.flatnonzero(numbers == bucket)
        yield int(bucket), pyarrow.record_batch([array.take(rows) for array in arrays], card.names)
