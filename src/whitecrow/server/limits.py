"""Rate limits: a bucket of requests for each person, or for each address before sign-in."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from whitecrow.server.refusals import TooMany

__all__ = ["Limits"]

_MOST = 10_000


class Limits:
    """Token buckets, in this worker's memory.

    Parameters
    ----------
    rate : float
        Requests a second in the long run; 0 sets no limit.
    burst : int
        Requests at once.
    clock : callable, optional
        Seconds, from any start.

    Examples
    --------
    >>> limits = Limits(rate=1.0, burst=2, clock=lambda: 0.0)
    >>> limits.take("ana"), limits.take("ana")
    (None, None)
    """

    def __init__(
        self, rate: float, burst: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, who: str) -> None:
        """Count one request, or refuse it.

        Raises
        ------
        TooMany
            With the number of seconds to wait.
        """
        if self._rate <= 0:
            return
        now = self._clock()
        with self._lock:
            left, then = self._buckets.get(who, (float(self._burst), now))
            left = min(float(self._burst), left + (now - then) * self._rate)
            if left >= 1:
                if len(self._buckets) >= _MOST:
                    self._forget(now)
                self._buckets[who] = (left - 1, now)
                return
            self._buckets[who] = (left, now)
        raise TooMany(after=max(1, math.ceil((1 - left) / self._rate)))

    def _forget(self, now: float) -> None:
        """Drop buckets that are full again; if none is, all: memory is bounded either way."""
        full = self._burst / self._rate
        kept = {who: held for who, held in self._buckets.items() if now - held[1] < full}
        self._buckets = kept if len(kept) < _MOST else {}
