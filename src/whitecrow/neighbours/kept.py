"""Which indexes an engine keeps: those it was told to, and as many others as memory allows."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from whitecrow.neighbours.index import Arranged
from whitecrow.neighbours.store import Space

__all__ = ["KeptIndexes", "bytes_of"]


def bytes_of(index: Arranged) -> int:
    """Return how much memory an index takes: a function of how many records and columns it has."""
    tables = index.tables
    arrays = (tables.blocks, tables.boxes, tables.local, tables.frames, index.ids)
    return sum(int(array.nbytes) for array in arrays)


class KeptIndexes:
    """Indexes by what they are over; the one unused for longest makes room.

    Which one goes depends on what was asked and in which order, never on a value of a record.

    Parameters
    ----------
    memory : int
        How many bytes all together may take. One larger than that is kept alone.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._lock = threading.Lock()
        self._loose: dict[Space, Arranged] = {}  # the latest used is the last
        self._fixed: dict[Space, Arranged] = {}

    def get(self, space: Space) -> Arranged | None:
        """Return an index and note that it was used."""
        with self._lock:
            found = self._fixed.get(space)
            if found is None and (found := self._loose.pop(space, None)) is not None:
                self._loose[space] = found
            return found

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

    def all(self) -> Mapping[Space, Arranged]:
        """Return every index that is kept."""
        with self._lock:
            return {**self._fixed, **self._loose}

    @property
    def bytes(self) -> int:
        """How much memory they take."""
        with self._lock:
            return self._bytes()

    def _bytes(self) -> int:
        return sum(map(bytes_of, (*self._fixed.values(), *self._loose.values())))
