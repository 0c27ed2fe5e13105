"""Processes take turns at writing to one SQLite file.

SQLite lets one transaction write at a time, and whoever finds it busy polls, with pauses that grow:
between busy processes some wait for seconds while others go on. Here they queue for two locks that
the system hands on at once. Who may write is still decided by SQLite: this only spares the polling.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from whitecrow.ledger import locks

__all__ = ["Turns"]

_GATE, _ROOM = 0, 1


class Turns:
    """A queue of processes, kept by locks on a file beside the store.

    Parameters
    ----------
    path : Path or None
        The store's file; a store without one has no queue.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = None if path is None else path.with_name(f"{path.name}-turn")
        self._process = -1
        self._file = -1

    @contextlib.contextmanager
    def take(self) -> Iterator[None]:
        """Wait for this process' turn; one thread at a time may call it."""
        if self._path is None:
            yield
            return
        try:
            file = self._opened()
            # Whoever leaves the room finds the next one in the gate, and queues behind it: without
            # the gate a busy process could take the room again and again.
            locks.wait_for(file, _GATE)
            locks.wait_for(file, _ROOM)
            locks.free(file, _GATE)
        except OSError:  # a folder that cannot be written: SQLite will say so
            yield
            return
        try:
            yield
        finally:
            locks.free(file, _ROOM)

    def _opened(self) -> int:
        if self._process != os.getpid():  # a fork would share the locks of the file it inherits
            self._file = locks.opened(self._path or Path())
            self._process = os.getpid()
        return self._file

    def close(self) -> None:
        """Give the file back."""
        if self._process == os.getpid():
            os.close(self._file)
            self._process = -1
