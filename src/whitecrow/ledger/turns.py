"""Processes take turns at writing to one SQLite file.

SQLite lets one transaction write at a time, and whoever finds it busy polls, with pauses that grow:
between busy processes some wait for seconds while others go on. Here they queue for two locks that
the system hands on at once. Who may write is still decided by SQLite: this only spares the polling.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path

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
            # Whoever leaves the room finds the next one in the gate, and queues behind it: without
            # the gate a busy process could take the room again and again.
            self._lock(_GATE, fcntl.F_WRLCK)
            self._lock(_ROOM, fcntl.F_WRLCK)
            self._lock(_GATE, fcntl.F_UNLCK)
        except OSError:  # a folder that cannot be written: SQLite will say so
            yield
            return
        try:
            yield
        finally:
            self._lock(_ROOM, fcntl.F_UNLCK)

    def _lock(self, place: int, kind: int) -> None:
        if self._process != os.getpid():  # a fork would share the locks of the file it inherits
            assert self._path is not None
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._process = os.getpid()
        # struct flock of Linux: type, whence, start, length, pid (0 for these locks).
        wanted = struct.pack("hhqqi4x", kind, os.SEEK_SET, place, 1, 0)
        fcntl.fcntl(self._file, fcntl.F_OFD_SETLKW, wanted)

    def close(self) -> None:
        """Give the file back."""
        if self._process == os.getpid():
            os.close(self._file)
            self._process = -1
