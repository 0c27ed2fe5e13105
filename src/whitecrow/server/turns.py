"""A ledger for many threads and workers: writers take turns, and share their flushes to disk.

SQLite lets one transaction write at a time and a durable commit costs a flush. Left to itself a
waiting writer polls, and late-comers may pass it. Here the threads of a worker queue in order, and
whoever finds others waiting leaves the commit to them: a group of transactions, each in a savepoint
of its own, becomes durable with one flush. Nobody's transaction is done before the flush is.
Workers queue for a lock on a file beside the store, which the system hands on at once.

PostgreSQL queues and groups by itself; there this changes nothing.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from whitecrow.errors import Unavailable, WhitecrowError
from whitecrow.ledger import Ledger
from whitecrow.ledger.atlases import AtlasMaker
from whitecrow.ledger.database import Database

__all__ = ["GroupingDatabase", "SharedLedger"]

_MOST = 32
"""How many transactions share a flush at most, so that the first of them is not kept waiting."""


class SharedLedger(Ledger):
    """A ledger whose writers take turns.

    Parameters
    ----------
    url : str or Path
        As for :class:`whitecrow.ledger.Ledger`.
    atlas : callable
        As there.
    """

    def __init__(self, url: str | Path, *, atlas: AtlasMaker) -> None:
        super().__init__(url, atlas=atlas)
        self.database.close()
        # A group that is lost takes with it entries that the charts may have read.
        self.database = GroupingDatabase(url, lost=self._libraries.clear)


class GroupingDatabase(Database):
    """A store whose writing transactions are committed in groups.

    Parameters
    ----------
    url : str or Path
        As for :class:`whitecrow.ledger.database.Database`.
    lost : callable
        Called when a group could not be committed.
    """

    def __init__(self, url: str | Path, *, lost: Callable[[], None]) -> None:
        super().__init__(url)
        self._lost = lost
        self._queue = _Queue()
        self._group: _Group | None = None
        self._workers = None if self.path is None else _FileTurn(self.path)

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[Connection]:
        """Run one transaction; it is durable when the block is left without an error."""
        if not write or self._workers is None:
            with super().transaction(write=write) as connection:
                yield connection
            return
        self._queue.take()
        try:
            group = self._group = self._group or self._begun(self._workers)
        except BaseException:
            self._queue.hand_on()
            raise
        raised: BaseException | None = None
        try:
            with group.connection.begin_nested():
                yield group.connection
        except BaseException as error:  # noqa: BLE001 - raised again below, after the hand-over
            raised = error
        self._leave(group, raised)
        if group.failure is not None:
            raise type(group.failure)(str(group.failure))
        if raised is not None:
            raise raised

    def _begun(self, workers: _FileTurn) -> _Group:
        workers.take()
        try:
            context = super().transaction()
            return _Group(context, context.__enter__())
        except BaseException:
            workers.hand_on()
            raise

    def _leave(self, group: _Group, raised: BaseException | None) -> None:
        """Commit, or leave that to the next in the queue and wait until it is done."""
        group.size += 1
        broken = raised if isinstance(raised, SQLAlchemyError | sqlite3.Error) else None
        if broken is None and group.size < _MOST and self._queue.waiting:
            self._queue.hand_on()
            if raised is None:
                group.done.wait()
            return
        try:
            group.end(broken)
        except WhitecrowError as failure:
            group.failure = failure
        except BaseException:  # noqa: BLE001 - whatever it was, nobody's spend is durable
            group.failure = Unavailable("The ledger failed. Nothing was released.")
        self._group = None
        if group.failure is not None:
            with suppress(Exception):
                self._lost()
        assert self._workers is not None
        self._workers.hand_on()
        group.done.set()
        self._queue.hand_on()


class _Group:
    """Transactions that become durable together."""

    def __init__(self, context: AbstractContextManager[Connection], connection: Connection) -> None:
        self._context = context
        self.connection = connection
        self.size = 0
        self.done = threading.Event()
        self.failure: WhitecrowError | None = None

    def end(self, broken: BaseException | None) -> None:
        """Commit, or roll everything back and say why."""
        if broken is None:
            self._context.__exit__(None, None, None)
        else:
            self._context.__exit__(type(broken), broken, broken.__traceback__)


class _Queue:
    """A lock that is handed on in the order of arrival."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._tickets: deque[threading.Lock] = deque()
        self._busy = False

    @property
    def waiting(self) -> bool:
        return bool(self._tickets)

    def take(self) -> None:
        with self._mutex:
            if not self._busy:
                self._busy = True
                return
            ticket = threading.Lock()
            ticket.acquire()
            self._tickets.append(ticket)
        ticket.acquire()

    def hand_on(self) -> None:
        with self._mutex:
            if self._tickets:
                self._tickets.popleft().release()
            else:
                self._busy = False


class _FileTurn:
    """The same between processes: the system wakes the next one when the file is unlocked.

    It only spares polling. Who may write is decided by SQLite, as ever: a process that does not
    know of this file, such as the terminal, is as safe beside it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(f"{path.name}-turn")
        self._process = -1
        self._descriptor = -1

    def take(self) -> None:
        if self._process != os.getpid():  # a fork shares the lock of the file it opened
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o600)
            self._process = os.getpid()
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def hand_on(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
