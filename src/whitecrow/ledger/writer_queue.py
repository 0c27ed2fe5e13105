"""Processes take turns at writing to one SQLite file.

SQLite lets one transaction write at a time, and whoever finds it busy polls, with pauses that grow:
between busy processes some wait for seconds while others go on. Here they queue for two locks that
the system hands on at once. Who may write is still decided by SQLite: this only spares the polling.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from whitecrow.errors import LedgerBusy
from whitecrow.ledger import locks

__all__ = ["WriterQueue"]

_GATE, _ROOM = 0, 1


class WriterQueue:
    """A queue of processes, kept by locks on a file beside the store.

    Parameters
    ----------
    path : Path or None
        The store's file; a store without one has no queue.
    patience : float
        How many seconds to wait for a turn.
    """

    def __init__(self, path: Path | None, patience: float) -> None:
        self._path = None if path is None else path.with_name(f"{path.name}-turn")
        self._patience = patience
        self._process = -1
        self._file = -1

    @contextlib.contextmanager
    def take(self) -> Iterator[None]:
        """Wait for this process' turn; one thread at a time may call it.

        Raises
        ------
        LedgerBusy
            If whoever has the turn does not give it up in time.
        """
        file = self._entered()
        try:
            yield
        finally:
            if file is not None:
                locks.free(file, _ROOM)

    def _entered(self) -> int | None:
        """Enter the room; None where there is no queue."""
        if self._path is None:
            return None
        try:
            file = self._opened(self._path)
            if not _enter_at_once(file):
                self._wait(file)
        except OSError:  # a folder that cannot be written: SQLite will say so
            self.close()  # and with the file goes whatever lock it had
            return None
        except BaseException:
            self.close()
            raise
        return file

    def _wait(self, file: int) -> None:
        """Wait in a thread of its own, for the system sets no limit to waiting for a lock."""
        wait = _Wait(file)
        try:
            if wait.ended(self._patience):
                return
        finally:
            if wait.given_up:
                self._process = -1  # the file is left to the thread that waits with it
        raise LedgerBusy(
            "The ledger is busy: another process has held it for too long. Nothing was spent and "
            "nothing released; ask again later."
        )

    def _opened(self, path: Path) -> int:
        if self._process != os.getpid():  # a fork would share the locks of the file it inherits
            self._file = locks.opened(path)
            self._process = os.getpid()
        return self._file

    def close(self) -> None:
        """Give the file back."""
        if self._process == os.getpid():
            os.close(self._file)
            self._process = -1


def _enter_at_once(file: int) -> bool:
    """Enter an empty room through an open gate, if that is how things are."""
    if not locks.take(file, _GATE):
        return False
    try:
        return locks.take(file, _ROOM)
    finally:
        locks.free(file, _GATE)


class _Wait:
    """A wait for the room that its owner may give up."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._over = threading.Event()
        self._lock = threading.Lock()
        self.given_up = False
        self._error: OSError | None = None
        threading.Thread(target=self._run, name="whitecrow-turn", daemon=True).start()

    def _run(self) -> None:
        try:
            # Whoever leaves the room finds the next one in the gate, and queues behind it: without
            # the gate a busy process could take the room again and again.
            locks.wait_for(self._file, _GATE)
            try:
                locks.wait_for(self._file, _ROOM)
            finally:
                locks.free(self._file, _GATE)
        except OSError as error:
            self._error = error
        with self._lock:
            self._over.set()
            if self.given_up:
                os.close(self._file)

    def ended(self, patience: float) -> bool:
        """Wait for the end; False, and the file is the thread's to close, if it takes too long."""
        over = False
        try:
            over = self._over.wait(patience)
        finally:
            if not over:
                with self._lock:
                    self.given_up = not self._over.is_set()
        if self._error is not None:
            raise self._error
        return not self.given_up
