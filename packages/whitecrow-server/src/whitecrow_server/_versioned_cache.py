"""Remember what was read for as long as nothing was changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_MOST = 10_000


class VersionedCache(Generic[K, V]):
    """Values that hold as long as a version stands still; errors are never remembered.

    Parameters
    ----------
    version : callable
        Returns a number that grows with every change of what is read.

    Examples
    --------
    >>> versions = iter([1, 1, 2])
    >>> memory = VersionedCache(lambda: next(versions))
    >>> [memory.get("a", lambda word=word: word) for word in ("old", "unread", "new")]
    ['old', 'old', 'new']
    """

    def __init__(self, version: Callable[[], int]) -> None:
        self._version = version
        self._lock = threading.Lock()
        self._at = -1
        self._kept: dict[K, V] = {}

    def get(self, key: K, read: Callable[[], V]) -> V:
        """Return what is remembered, or read it."""
        version = self._version()  # first: what is read afterwards is at least as new
        with self._lock:
            if version != self._at:
                self._at, self._kept = version, {}
            elif key in self._kept:
                return self._kept[key]
        value = read()
        with self._lock:
            if version == self._at:
                if len(self._kept) >= _MOST:
                    self._kept.clear()
                self._kept[key] = value
        return value
