"""Locks that end with their holder: who computes which answer, and whose turn it is to write.

Bytes of a file are locked through an open file description; the system takes a lock away when its
holder dies, and no clock decides. Such locks do not belong to a process: two threads that each open
the file exclude each other, and closing one descriptor frees its own locks only.

Claims. Two processes may hold the same reservation: one that paid and one that asks the same
question a moment later, or after a crash. Only one of them may draw an answer: were both to draw
and the faster to win, the released answer would depend on the time each took. So whoever computes
holds a claim: a byte of a file beside an SQLite store, an advisory lock of a PostgreSQL server.

Turns. SQLite lets one transaction write at a time, and whoever finds it busy polls, with pauses
that grow: between busy processes some wait for seconds while others go on. Here they queue for two
locks that the system hands on at once. Who may write is still decided by SQLite: this only spares
the polling (benchmarks.ledger, the rows with several processes).
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy.pool import PoolProxiedConnection

from whitecrow.errors import LedgerBusy, NeedsLinux

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

__all__ = [
    "Claim",
    "Claims",
    "WriterQueue",
    "claims_of",
]

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


# Turns

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
                free(file, _ROOM)

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
            self._file = opened(path)
            self._process = os.getpid()
        return self._file

    def close(self) -> None:
        """Give the file back."""
        if self._process == os.getpid():
            os.close(self._file)
            self._process = -1


def _enter_at_once(file: int) -> bool:
    """Take the lock at once if nobody holds it and nobody waits; False if somebody does."""
    if not take(file, _GATE):
        return False
    try:
        return take(file, _ROOM)
    finally:
        free(file, _GATE)


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
            wait_for(self._file, _GATE)
            try:
                wait_for(self._file, _ROOM)
            finally:
                free(self._file, _GATE)
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
