"""Locks that end with their holder: who computes which answer.

Bytes of a file are locked through an open file description; the system takes a lock away when its
holder dies, and no clock decides. Such locks do not belong to a process: two threads that each open
the file exclude each other, and closing one descriptor frees its own locks only.

Claims. Two processes may hold the same reservation: one that paid and one that asks the same
question a moment later, or after a crash. Only one of them may draw an answer: were both to draw
and the faster to win, the released answer would depend on the time each took. So whoever computes
holds a claim: a byte of a file beside an SQLite store, an advisory lock of a PostgreSQL server.
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy.pool import PoolProxiedConnection

from whitecrow.errors import NeedsLinux

try:
    import fcntl

    fcntl.F_OFD_SETLK  # noqa: B018 - other systems have the module without these locks
except (ImportError, AttributeError):
    raise NeedsLinux(
        "The ledger, and with it the curator and the service, runs on Linux only: it locks open "
        "file descriptions. Detectors, cards, questions, guarantees and the client work here."
    ) from None

if TYPE_CHECKING:
    from whitecrow.ledger.database import Database

# Bytes of a file


def opened(path: Path, mode: int = 0o600) -> int:
    """Open a file to hold locks on; made if missing, closed on exec."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)


def take(descriptor: int, place: int) -> bool:
    """Lock a byte, or say that somebody else has."""
    try:
        _set(descriptor, fcntl.F_OFD_SETLK, fcntl.F_WRLCK, place)
    except (BlockingIOError, PermissionError):
        return False
    return True


def wait_for(descriptor: int, place: int) -> None:
    """Lock a byte as soon as whoever has it lets go."""
    _set(descriptor, fcntl.F_OFD_SETLKW, fcntl.F_WRLCK, place)


def free(descriptor: int, place: int) -> None:
    """Let go of a byte."""
    _set(descriptor, fcntl.F_OFD_SETLK, fcntl.F_UNLCK, place)


def _set(descriptor: int, command: int, kind: int, place: int) -> None:
    # struct flock of Linux: type, whence, start, length, pid (0 for these locks).
    wanted = struct.pack("hhqqi4x", kind, os.SEEK_SET, place, 1, 0)
    fcntl.fcntl(descriptor, command, wanted)


# Claims

_PAUSES_SECONDS = (0.002, 0.1)
"""How long to wait before another process's claim is tried again: at first, and at the most."""


class Claim:
    """The right to compute an answer, held until it is given up or its holder dies."""

    def __init__(self, claims: Claims, key: tuple[int, int], unlock: Callable[[], None]) -> None:
        self._claims, self._key, self._process = claims, key, os.getpid()
        self._unlock: Callable[[], None] | None = unlock

    def release(self) -> None:
        """Give it up; twice does no harm, and in a fork it stays with the process that took it."""
        unlock, self._unlock = self._unlock, None
        if unlock is None or self._process != os.getpid():
            return
        try:
            unlock()
        finally:
            self._claims.forget(self._key)


class Claims:
    """Who computes which answer of one store.

    Among the threads of a process a set decides, and whoever waits is told when a claim is given
    up. Among processes the locks of the store do.

    Parameters
    ----------
    locks : Locks, optional
        What other processes see; None for a store in memory, which no other process uses.
    """

    def __init__(self, locks: Locks | None) -> None:
        self._locks = locks
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._held: set[tuple[int, int]] = set()
        self._given_up = threading.Condition()

    def take(self, dataset: int, seq: int) -> Claim | None:
        """Take the claim on a reservation, or return None while somebody holds it."""
        if self._process != os.getpid():  # a fork holds none of what it inherits
            self._begin()
        key = dataset, seq
        with self._given_up:
            if key in self._held:
                return None
            self._held.add(key)
        unlock = None
        try:
            unlock = _nothing if self._locks is None else self._locks.take(dataset, seq)
        finally:
            if unlock is None:
                self.forget(key)
        return None if unlock is None else Claim(self, key, unlock)

    def forget(self, key: tuple[int, int]) -> None:
        """Note that a claim was given up."""
        with self._given_up:
            self._held.discard(key)
            self._given_up.notify_all()

    def wait(self, dataset: int, seq: int, seconds: float) -> None:
        """Wait until nobody holds a claim, so long at the most; the store is left in peace."""
        until = time.monotonic() + seconds
        pause, longest = _PAUSES_SECONDS
        while True:
            with self._given_up:
                self._given_up.wait_for(
                    lambda: (dataset, seq) not in self._held, max(0.0, until - time.monotonic())
                )
            claim = self.take(dataset, seq)
            if claim is not None:
                return claim.release()
            left = until - time.monotonic()
            if left <= 0:
                return None
            time.sleep(min(pause, left))
            pause = min(2 * pause, longest)

    def close(self) -> None:
        """Give back what the locks are kept with, unless somebody still computes."""
        with self._given_up:
            if self._locks is not None and self._process == os.getpid() and not self._held:
                self._locks.close()


def _nothing() -> None:
    """Unlock what only a set holds."""


class Locks(Protocol):
    """Locks that end with the process that holds them."""

    def take(self, dataset: int, seq: int) -> Callable[[], None] | None:
        """Lock a reservation and return what unlocks it; None while another process has it."""

    def close(self) -> None:
        """Give back what the locks are kept with; none is held."""


def claims_of(database: Database) -> Claims:
    """Return the claims of a store."""
    if database.path is not None:
        return Claims(_FileLocks(database.path))
    return Claims(None if database.in_memory else _ServerLocks(database))


class _FileLocks:
    """For SQLite: bytes of a file beside the store, locked through one open file description."""

    def __init__(self, path: Path) -> None:
        self._store = path
        self._opening = threading.Lock()
        self._process = -1

    def take(self, dataset: int, seq: int) -> Callable[[], None] | None:
        with self._opening:
            if self._process != os.getpid():
                self._open()
        place = (dataset << 40) + seq
        return partial(free, self._file, place) if take(self._file, place) else None

    def _open(self) -> None:
        """Open the file; a fork leaves the description it inherits, and its locks, alone."""
        mode = self._store.stat().st_mode & 0o777  # whoever may use the store may use its claims
        self._file = opened(self._store.with_name(f"{self._store.name}-claims"), mode)
        self._process = os.getpid()

    def close(self) -> None:
        with self._opening:
            if self._process == os.getpid():
                os.close(self._file)
                self._process = -1


class _ServerLocks:
    """For PostgreSQL: advisory locks, each held by a connection that serves no other."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._free: deque[PoolProxiedConnection] = deque()
        self._process = os.getpid()

    def take(self, dataset: int, seq: int) -> Callable[[], None] | None:
        if self._process != os.getpid():  # a fork has connections of its own
            self._free, self._process = deque(), os.getpid()
        while self._free:
            # One that was kept may have been cut since; a new one is taken then.
            with contextlib.suppress(*self._database.failures):
                return self._take(self._free.pop(), (dataset, seq))
        connection = self._database.engine.raw_connection()
        driver: Any = connection.driver_connection
        driver.autocommit = True
        return self._take(connection, (dataset, seq))

    def _take(
        self, connection: PoolProxiedConnection, key: tuple[int, int]
    ) -> Callable[[], None] | None:
        try:
            cursor = connection.cursor()
            cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", key)
            taken = bool(cursor.fetchall()[0][0])
            cursor.close()
        except BaseException:
            connection.invalidate()
            raise
        if taken:
            return partial(self._unlock, connection, key)
        self._free.append(connection)
        return None

    def _unlock(self, connection: PoolProxiedConnection, key: tuple[int, int]) -> None:
        try:
            cursor = connection.cursor()
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", key)
            cursor.close()
        except self._database.failures:
            connection.invalidate()  # the server has dropped the lock with the connection
        else:
            self._free.append(connection)

    def close(self) -> None:
        while self._process == os.getpid() and self._free:
            self._free.pop().invalidate()  # no other use wants it without transactions
