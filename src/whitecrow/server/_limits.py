"""Rate limits: a bucket of requests for each person, or for each address before sign-in.

The buckets of all workers are one table in shared memory: a person has one rate, whichever worker
answers. A table is full when it is full: whoever has not come for longest makes room. Machines tell
each other what they took (:mod:`whitecrow.server._usage`).
"""

from __future__ import annotations

import fcntl
import hashlib
import math
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from whitecrow.errors import TooMany
from whitecrow.ledger import locks

__all__ = ["Limits"]

_BUCKET = struct.Struct("<8sddd")  # whose, how many requests are left, since when, taken so far
_ROWS, _PLACES = 2048, 8  # a bucket lies at one of eight places of its row
_SIZE = _ROWS * _PLACES * _BUCKET.size


class Limits:
    """Token buckets.

    Parameters
    ----------
    rate : float
        Requests a second in the long run; 0 sets no limit.
    burst : int
        Requests at once.
    shared : Path, optional
        The file in which all workers keep their buckets; by default this process has its own.
    clock : callable, optional
        Seconds, from a start that all workers share.

    Examples
    --------
    >>> limits = Limits(rate=1.0, burst=2, clock=lambda: 1.0)
    >>> limits.take("ana"), limits.take("ana")
    (None, None)
    """

    def __init__(
        self,
        rate: float,
        burst: int,
        *,
        shared: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._lock = threading.Lock()
        self._file = None if shared is None else locks.opened(shared)
        if self._file is None:
            self._table = mmap.mmap(-1, _SIZE)
        else:
            os.posix_fallocate(self._file, 0, _SIZE)
            self._table = mmap.mmap(self._file, _SIZE)

    def take(self, who: str) -> None:
        """Count one request, or refuse it.

        Raises
        ------
        TooMany
            With the number of seconds to wait.
        """
        if self._rate <= 0:
            return
        with self._held():
            left = self._counted(hashlib.blake2b(who.encode(), digest_size=8).digest())
        if left < 0:
            raise TooMany(after=max(1, math.ceil(-left / self._rate)))

    def taken(self) -> dict[bytes, float]:
        """How many requests were taken from each bucket since it was made."""
        with self._held():
            table = self._table[:]
        return {key: taken for key, _, _, taken in _BUCKET.iter_unpack(table) if taken}

    def debit(self, key: bytes, number: float) -> None:
        """Take from a bucket what was taken elsewhere; it does not count as taken here."""
        with self._held():
            self._counted(key, number)

    def leads(self) -> bool:
        """Whether this process speaks for the workers of its machine; the first that asks does."""
        if self._file is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 1)
        except OSError:
            return False
        return True

    @contextmanager
    def _held(self) -> Iterator[None]:
        with self._lock:
            if self._file is not None:
                locks.wait_for(self._file, 0)
            try:
                yield
            finally:
                if self._file is not None:
                    locks.free(self._file, 0)

    def _counted(self, key: bytes, elsewhere: float = 0.0) -> float:
        """Take one from a bucket and return how many are left; if none was, minus what lacks."""
        now = self._clock()
        row = int.from_bytes(key[:4], "little") % _ROWS * _PLACES
        places = [(row + place) * _BUCKET.size for place in range(_PLACES)]
        held = [_BUCKET.unpack_from(self._table, place) for place in places]
        at = next((i for i, one in enumerate(held) if one[0] == key), None)
        left, taken = float(self._burst), 0.0
        if at is None:
            at = min(range(_PLACES), key=lambda i: held[i][2])
        else:
            left = min(left, held[at][1] + max(0.0, now - held[at][2]) * self._rate)
            taken = held[at][3]
        if elsewhere:
            # A debt, of a burst at the most: it is what makes several machines keep one rate.
            after = max(-float(self._burst), left - elsewhere)
            _BUCKET.pack_into(self._table, places[at], key, after, now, taken)
            return after
        after = left - 1 if left >= 1 else left
        taken += left >= 1
        _BUCKET.pack_into(self._table, places[at], key, after, now, taken)
        return after if left >= 1 else left - 1
