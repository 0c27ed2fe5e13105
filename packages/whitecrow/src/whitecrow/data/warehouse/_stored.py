"""Records as bytes: canonical columns, each apart; and rows as they are stored, with types."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.card import Card, Column
from whitecrow.data._selection import exact_ids
from whitecrow.data.columns import decoded, recovered
from whitecrow.data.warehouse._protocol import BATCH, Matrix


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
        found = np.empty((int(passing.sum()), len(columns)))
        for place, name in enumerate(columns):
            found[:, place] = values[name][0][passing]
        return found

    def every_matrix(self, columns: Sequence[str]) -> Matrix:
        values = np.empty((self.size, len(columns)))
        for place, name in enumerate(columns):
            values[:, place] = self._values(name)
        return values

    def every_text(self, name: str) -> Counter[str | None]:
        values, categories = self._values(name).tolist(), self.card.column(name).categories
        if self.kept and categories is not None:
            values = [categories[int(code)] for code in values]
        return Counter(values)

    def _values(self, name: str) -> npt.NDArray[Any]:
        place = self.card.names.index(name)
        octets = self.octets(place)
        if _is_text(self.card.columns[place], kept=self.kept):
            return np.array(json.loads(octets), dtype=object)
        return np.frombuffer(octets)


def blocks(
    card: Card, kept: dict[str, npt.NDArray[Any]], left: dict[str, npt.NDArray[Any]]
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


def _packed(values: npt.NDArray[Any], *, text: bool) -> bytes:
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
    place = card.names.index(card.user_column)
    arrays = [decoded(column) for column in batch.columns]
    coded = exact_ids(arrays[place], card.columns[place]).dictionary_encode("encode")
    of_each = [
        0 if name is None else zlib.crc32(name.encode()) % buckets
        for name in coded.dictionary.to_pylist()
    ]
    numbers = np.array(of_each, dtype=np.int64)[np.asarray(coded.indices)]
    for bucket in np.unique(numbers):
        rows = np.flatnonzero(numbers == bucket)
        yield int(bucket), pyarrow.record_batch([array.take(rows) for array in arrays], card.names)
