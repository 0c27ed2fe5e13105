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
from collections import deque
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


class Claim(Protocol):
    """A lock that is held."""

    def release(self) -> None:
        """Give it up; twice does no harm."""


class Claims(Protocol):
    """The locks of one store."""

    def take(self, dataset: int, seq: int) -> Claim | None:
        """Take the lock on a reservation, or return None while somebody holds it."""

    def close(self) -> None:
        """Give back what the locks are kept with."""


def claims_of(database: Database) -> Claims:
    """Return the locks that fit a store."""
    if database.path is not None:
        return _FileClaims(database.path)
    return _MemoryClaims() if database.in_memory else _ServerClaims(database)


class _MemoryClaims:
    """For a store in memory: the threads of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: set[tuple[int, int]] = set()

    def take(self, dataset: int, seq: int) -> Claim | None:
        with self._lock:
            if (dataset, seq) in self._held:
                return None
            self._held.add((dataset, seq))
        return _MemoryClaim(self._held, (dataset, seq))

    def close(self) -> None:
        pass


class _MemoryClaim:
    def __init__(self, held: set[tuple[int, int]], key: tuple[int, int]) -> None:
        self._held, self._key = held, key

    def release(self) -> None:
        self._held.discard(self._key)


class _FileClaims:
    """For SQLite: bytes of a file beside the store, locked through one open file description.

    Such locks exclude other descriptions, those of other processes and of other ledgers; among the
    threads that share this one, a set does.
    """

    def __init__(self, path: Path) -> None:
        self._store = path
        self._path = path.with_name(f"{path.name}-claims")
        self._lock = threading.Lock()
        self._process = -1

    def take(self, dataset: int, seq: int) -> Claim | None:
        place = (dataset << 40) + seq
        with self._lock:
            if self._process != os.getpid():
                self._open()
            if place in self._held or not take(self._file, place):
                return None
            self._held.add(place)
        return _FileClaim(self, place)

    def _open(self) -> None:
        """Open the file; a fork leaves the description it inherits, and its locks, alone."""
        mode = self._store.stat().st_mode & 0o777  # whoever may use the store may use its claims
        self._file = opened(self._path, mode)
        self._held: set[int] = set()
        self._process = os.getpid()

    def release(self, place: int, process: int) -> None:
        """Give a claim up, if it was taken in this process."""
        with self._lock:
            if process == self._process == os.getpid():
                free(self._file, place)
                self._held.discard(place)

    def close(self) -> None:
        """Give the file back, unless somebody still computes."""
        with self._lock:
            if self._process == os.getpid() and not self._held:
                os.close(self._file)
                self._process = -1


class _FileClaim:
    def __init__(self, claims: _FileClaims, place: int) -> None:
        self._claims, self._place = claims, place
        self._process = os.getpid()
        self._given_up = False

    def release(self) -> None:
        if not self._given_up:
            self._given_up = True
            self._claims.release(self._place, self._process)


class _ServerClaims:
    """For PostgreSQL: advisory locks, each held by a connection that serves no other claim."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._free: deque[PoolProxiedConnection] = deque()
        self._process = os.getpid()

    def take(self, dataset: int, seq: int) -> Claim | None:
        if self._process != os.getpid():  # a fork has connections of its own
            self._free, self._process = deque(), os.getpid()
        while self._free:
            # One that was kept may have been cut since; a new one is taken then.
            with contextlib.suppress(*self.database.failures):
                return self._take(self._free.pop(), dataset, seq)
        connection = self.database.engine.raw_connection()
        driver: Any = connection.driver_connection
        driver.autocommit = True
        return self._take(connection, dataset, seq)

    def _take(self, connection: PoolProxiedConnection, dataset: int, seq: int) -> Claim | None:
        claim = _ServerClaim(self, connection, (dataset, seq))
        try:
            if claim.taken():
                return claim
        except BaseException:
            connection.invalidate()
            raise
        self.put_back(connection)
        return None

    def put_back(self, connection: PoolProxiedConnection) -> None:
        """Keep a connection for the next claim."""
        self._free.append(connection)

    def close(self) -> None:
        """Give the connections back."""
        while self._process == os.getpid() and self._free:
            self._free.pop().invalidate()  # no other use wants it without transactions


class _ServerClaim:
    def __init__(
        self, claims: _ServerClaims, connection: PoolProxiedConnection, key: tuple[int, int]
    ) -> None:
        self._claims, self._key = claims, key
        self._connection: PoolProxiedConnection | None = connection

    def taken(self) -> bool:
        """Try to take the lock."""
        assert self._connection is not None
        cursor = self._connection.cursor()
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", self._key)
        found = bool(cursor.fetchall()[0][0])
        cursor.close()
        return found

    def release(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            cursor = connection.cursor()
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", self._key)
            cursor.close()
        except self._claims.database.failures:
            connection.invalidate()  # the server has dropped the lock with the connection
        else:
            self._claims.put_back(connection)
