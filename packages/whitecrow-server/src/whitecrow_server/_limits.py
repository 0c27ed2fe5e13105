"""Rate limits: a bucket of requests for each person, or for each address before sign-in.

The buckets of all workers are one table in shared memory: a person has one rate, whichever worker
answers. A table is full when it is full: whoever has not come for longest makes room.

Machines on one database share the buckets that lie there (:mod:`whitecrow_server._buckets`). A
write for each request would cost more than most requests, so a machine borrows some at a time, as
many as half of what it would use before they lapse: whoever comes seldom borrows one, and nothing
is wasted. The bound is that of one bucket. Of what was borrowed before a moment, only what has not
lapsed can be used after it; so much less lies in the bucket when it is full.
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

_BUCKET = struct.Struct("<8sddd")  # whose, how many requests are left, since when, borrowed then
_ROWS, _PLACES = 2048, 8  # a bucket lies at one of eight places of its row
_SIZE = _ROWS * _PLACES * _BUCKET.size

Lend = Callable[[str, int], tuple[int, float]]
"""Given whose bucket and how many are wanted: how many there are, and seconds until one is."""


class Limits:
    """Token buckets.

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
        lend: Lend | None = None,
    ) -> None:
        self._rate, self._burst, self._clock, self._lend = rate, burst, clock, lend
        self._most = max(1, burst // 10)  # borrowed at once
        self._lock = threading.Lock()
        self._file = (
            None
            if shared is None
            else os.open(shared, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        )
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
        key = hashlib.blake2b(who.encode(), digest_size=8).digest()
        if self._lend is not None:
            self._take_borrowed(key, self._lend)
            return
        with self._held():
            left = self._counted(key)
        if left < 0:
            raise TooMany(after=max(1, math.ceil(-left / self._rate)))

    @property
    def capacity(self) -> int:
        """How many a shared bucket holds: the burst, less what machines may hold in hands."""
        return self._burst - self._most + 1

    def _take_borrowed(self, key: bytes, lend: Lend) -> None:
        lasts = max(1, self._most - 1) / self._rate
        with self._held():
            at, left, since, size = self._found(key)
            now = self._clock()
            if left > 0 and now - since < lasts:
                self._put(at, key, left - 1, since, size)
                return
            wait = since - now if left < 0 else 0.0
        if wait <= 0:
            # As many as come in half the time they last, by how fast the last ones went.
            pace = size / max(now - since, 1e-6) if now - since < lasts else 0.0
            wanted = max(1, min(self._most, int(pace * lasts / 2)))
            # The database is asked outside: nobody else waits for it.
            granted, wait = lend(key.hex(), wanted)
            with self._held():
                at, left, since, size = self._found(key)
                if granted and left > 0:  # another thread has borrowed meanwhile
                    self._put(at, key, left + granted - 1, since, size + granted)
                elif granted:
                    self._put(at, key, granted - 1, self._clock(), granted)
                elif left <= 0:
                    # Asked again only when it is worth while: refusals are cheap.
                    wait = max(wait, min(1.0, self._most / self._rate))
                    self._put(at, key, -1, self._clock() + wait, 0)
            if granted:
                return
        raise TooMany(after=max(1, math.ceil(wait)))

    @contextmanager
    def _held(self) -> Iterator[None]:
        with self._lock:
            if self._file is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                if self._file is not None:
                    fcntl.flock(self._file, fcntl.LOCK_UN)

    def _counted(self, key: bytes) -> float:
        """Take one from a bucket and return how many are left; if none was, minus what lacks."""
        now = self._clock()
        at, held, since, known = self._found(key)
        left = float(self._burst)
        if known:
            left = min(left, held + max(0.0, now - since) * self._rate)
        after = left - 1 if left >= 1 else left
        self._put(at, key, after, now, 1)
        return after if left >= 1 else left - 1

    def _found(self, key: bytes) -> tuple[int, float, float, float]:
        """Where a bucket lies, and what it holds; zeros where it is not there yet."""
        row = int.from_bytes(key[:4], "little") % _ROWS * _PLACES
        places = [(row + place) * _BUCKET.size for place in range(_PLACES)]
        held = [_BUCKET.unpack_from(self._table, place) for place in places]
        at = next((i for i, one in enumerate(held) if one[0] == key), None)
        if at is not None:
            return places[at], *held[at][1:]
        return places[min(range(_PLACES), key=lambda i: held[i][2])], 0.0, 0.0, 0.0

    def _put(self, at: int, key: bytes, left: float, since: float, size: float) -> None:
        _BUCKET.pack_into(self._table, at, key, left, since, size)
