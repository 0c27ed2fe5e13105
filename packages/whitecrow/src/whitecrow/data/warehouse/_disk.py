"""Canonical columns on disk, for records that do not fit into memory.

They are written once, when a source is opened, to a file that has no name: nobody else can open
it, and the system removes it when the process closes it or ends, however it ends. It lies in the
folder that the variable TMPDIR names, and takes 8 bytes for each value.
"""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from whitecrow.card import Card
from whitecrow.data._opened import Opened
from whitecrow.data.reading import Loader, Progress, stored_batches
from whitecrow.data.warehouse._protocol import Asked, Matrix, Work, Yields
from whitecrow.data.warehouse._stored import Stored, blocks, divided, from_octets, to_octets
from whitecrow.errors import Unreachable

_TOGETHER = 1 << 20
"""Rows that are decoded before their columns are written."""
_BUCKETS = 64
"""The people of a source are divided into so many: of each, all records are held at once."""
_PEEKED = 8
"""Blocks that a sample comes from, at most."""


@dataclass(frozen=True)
class _Span:
    """Where some bytes lie."""

    start: int
    length: int


class _Spool:
    """Bytes in a file without a name."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="whitecrow-", buffering=0)  # noqa: SIM115 - closed below
        self._end = 0
        self._at = threading.Lock()
        # Whoever forgets to close it lets go of it all the same.
        self.close = weakref.finalize(self, self._file.close)

    def put(self, octets: bytes) -> _Span:
        span = _Span(self._end, len(octets))
        rest = memoryview(octets)
        try:
            with self._at:
                self._file.seek(span.start)
                while len(rest):
                    rest = rest[self._file.write(rest) :]
        except OSError:
            raise Unreachable(
                "There is no room on disk for the columns of this source, 8 bytes for each value. "
                "Let the variable TMPDIR name a folder that has it."
            ) from None
        self._end += len(octets)
        return span

    def get(self, span: _Span) -> bytes:
        """Read; several threads may."""
        with self._at:
            self._file.seek(span.start)
            octets: bytes = self._file.read(span.length)
        assert len(octets) == span.length
        return octets


@dataclass(frozen=True)
class _Block:
    kept: bool
    size: int
    columns: tuple[_Span, ...]


class DiskWarehouse:
    """Canonical columns of a source, in a file of this process; the source is read once, here."""

    spread = False

    def __init__(self, opened: Opened, card: Card, progress: Progress | None = None) -> None:
        self.name = opened.name
        self.card = card
        self._spool = _Spool()
        self._blocks: list[_Block] = []
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
            people = _Spool()
            try:
                for bucket in _by_person(batches, self.card, people):
                    for span in bucket:
                        loader.add(from_octets(people.get(span)))
                    self._store(loader)
            finally:
                people.close()
        self.size = sum(block.size for block in self._blocks if block.kept)
        self.rejections = loader.rejections(self.size)

    def _store(self, loader: Loader) -> None:
        for kept, size, columns in blocks(self.card, *loader.take()):
            self._blocks.append(_Block(kept, size, tuple(map(self._spool.put, columns))))

    @property
    def rows_stored(self) -> int:
        return sum(block.size for block in self._blocks)

    def work(self, asked: Asked, work: Work, yields: Yields) -> Iterator[Matrix]:
        yield from work(asked.of(map(self._read, self._blocks)))

    def texts(self, column: str) -> Counter[str | None]:
        counts: Counter[str | None] = Counter()
        for block in self._blocks:
            counts.update(self._read(block).every_text(column))
        return counts

    def peek(self, asked: Asked, number: int) -> Matrix | None:
        """Return some records of some blocks. A sample decides how work is split, never a count."""
        source = np.random.default_rng()
        chosen = source.permutation(len(self._blocks))[:_PEEKED]
        values = list(asked.of(self._read(self._blocks[place]) for place in chosen))
        if not values:
            return None
        together = np.concatenate(values)
        return together[source.permutation(len(together))[:number]]

    def close(self) -> None:
        self._spool.close()

    def _read(self, block: _Block) -> Stored:
        return Stored(self.card, block.kept, block.size, self._reader(block))

    def _reader(self, block: _Block) -> Callable[[int], bytes]:
        return lambda place: self._spool.get(block.columns[place])


def _by_person(batches: Iterator[Any], card: Card, spool: _Spool) -> list[list[_Span]]:
    """Divide rows, as they are stored, so that all of a person's are in one bucket."""
    buckets: list[list[_Span]] = [[] for _ in range(_BUCKETS)]
    for batch in batches:
        for bucket, part in divided(batch, card, _BUCKETS):
            buckets[bucket].append(spool.put(to_octets(part)))
    return buckets
