"""Rows as they are stored, on their way between files or processes: as bytes, with their types."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from whitecrow.card import Card
from whitecrow.data._selection import exact_ids
from whitecrow.data.columns import decoded


def to_octets(batch: Any) -> bytes:
    """Write a batch with its schema."""
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return bytes(sink.getvalue())


def from_octets(octets: bytes) -> Any:
    """Read what :func:`to_octets` wrote."""
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
