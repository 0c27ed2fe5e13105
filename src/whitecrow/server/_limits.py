"""Rate limits: a bucket of requests for each person, or for each address before sign-in.

The buckets of all workers are one table in shared memory: a person has one rate, whichever worker
answers. A table is full when it is full: whoever has not come for longest makes room.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

from whitecrow.errors import TooMany
from whitecrow.ledger import locks

__all__ = ["Limits"]

_BUCKET = struct.Struct("<8sdd")  # whose, how many requests are left, since when
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
        with self._lock:
            if self._file is not None:
                locks.wait_for(self._file, 0)
            try:
                left = self._counted(who)
            finally:
                if self._file is not None:
                    locks.free(self._file, 0)
        if left < 0:
            raise TooMany(after=max(1, math.ceil(-left / self._rate)))

    def _counted(self, who: str) -> float:
        """Take one from a bucket and return how many are left; if none was, minus what lacks."""
        now, key = self._clock(), hashlib.blake2b(who.encode(), digest_size=8).digest()
        row = int.from_bytes(key[:4], "little") % _ROWS * _PLACES
        places = [(row + place) * _BUCKET.size for place in range(_PLACES)]
        held = [_BUCKET.unpack_from(self._table, place) for place in places]
        at = next((i for i, (whose, _, _) in enumerate(held) if whose == key), None)
        left = float(self._burst)
        if at is None:
            at = min(range(_PLACES), key=lambda i: held[i][2])
        else:
            left = min(left, held[at][1] + max(0.0, now - held[at][2]) * self._rate)
        after = left - 1 if left >= 1 else left
        _BUCKET.pack_into(self._table, places[at], key, after, now)
        return after if left >= 1 else left - 1
