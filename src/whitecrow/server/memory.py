"""Remember for a moment what was read."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Memory"]

K = TypeVar("K")
V = TypeVar("V")

_MOST = 10_000


class Memory(Generic[K, V]):
    """Values that are believed for a while; errors are never remembered.

    Parameters
    ----------
    seconds : float
        For how long. 0 remembers nothing.

    Examples
    --------
    >>> memory = Memory(60.0)
    >>> memory.get("a", lambda: 1), memory.get("a", lambda: 2)
    (1, 1)
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._kept: dict[K, tuple[float, V]] = {}
        self._age = 0

    def get(self, key: K, read: Callable[[], V]) -> V:
        """Return what is remembered, or read it."""
        now = time.monotonic()
        found = self._kept.get(key)
        if found is not None and now < found[0]:
            return found[1]
        age = self._age
        value = read()
        if self._seconds > 0:
            with self._lock:
                # What was read before somebody cleared the memory is not worth keeping.
                if age == self._age:
                    if len(self._kept) >= _MOST:
                        self._kept.clear()
                    self._kept[key] = (now + self._seconds, value)
        return value

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._age += 1
            self._kept.clear()
