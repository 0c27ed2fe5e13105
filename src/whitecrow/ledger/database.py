"""Transactions of the ledger, each on a connection of its engine.

Speed. Threads of one process that write at the same moment share a transaction, hence a flush, each
in a savepoint of its own (SQLite only; PostgreSQL groups commits itself). Statements are
SQLAlchemy's, compiled once and handed to the driver; one connection is kept for writing.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import PoolProxiedConnection

from whitecrow.errors import (
    LedgerBusy,
    LedgerCorrupt,
    LedgerUnusable,
    Unreachable,
    WhitecrowError,
)
from whitecrow.ledger.engine import engine_for, is_in_memory, parsed
from whitecrow.ledger.group_commit import GroupCommit, Job
from whitecrow.ledger.session import Compiler, Session
from whitecrow.ledger.writer_queue import WriterQueue

__all__ = ["Database"]

PATIENCE_SECONDS = 60.0
"""How long a transaction waits for its turn before it gives up."""

_ONE_MOMENT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
"""What PostgreSQL must be told for all reads of a transaction to see the same moment."""

T = TypeVar("T")


class Database:
    """A store that runs transactions and speaks in whitecrow's errors.

    Parameters
    ----------
    url : str or Path
        ``sqlite:///file``, ``sqlite://`` (in memory), ``postgresql+psycopg://...``, or a file name.
    """

    def __init__(self, url: str | Path) -> None:
        self.url = parsed(url)
        # What messages call the store instead of its address, where strangers may read them.
        self.label: str | None = None
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.in_memory = is_in_memory(self.url)
        if self.path is not None:
            _make_private(self.path)
        self._start()

    def _start(self) -> None:
        self._engine = engine_for(self.url, patience=PATIENCE_SECONDS)
        self._compiler = Compiler(self._engine.dialect)
        self._process = os.getpid()
        self.failures = (SQLAlchemyError, OSError, self._engine.dialect.loaded_dbapi.Error)
        self._turn = threading.RLock()
        self._line = GroupCommit(self._work, PATIENCE_SECONDS)
        self._processes = WriterQueue(self.path, PATIENCE_SECONDS)
        self._writer: tuple[PoolProxiedConnection, Session] | None = None

    @property
    def path(self) -> Path | None:
        """The file of an SQLite store; None for others."""
        if not self.is_sqlite or is_in_memory(self.url):
            return None
        return Path(str(self.url.database))

    @property
    def name(self) -> str:
        """How to call the store in messages; without a password."""
        return self.label or self.url.render_as_string(hide_password=True)

    @property
    def engine(self) -> Engine:
        """The engine, renewed in a forked process: connections must not be shared across a fork."""
        if os.getpid() != self._process:
            if self.in_memory:
                raise LedgerUnusable(
                    "A ledger in memory cannot be used by a second process; give the ledger a file."
                )
            self._engine.dispose(close=False)
            # What belongs to the other process is left alone: not used, and not closed either.
            _NOT_OURS.append(self._writer)
            self._start()
        return self._engine

    # Transactions

    def read(self, act: Callable[[Session], T]) -> T:
        """Run a transaction that changes nothing."""
        # One connection serves all threads of a store in memory; they take turns.
        turn = self._turn if self.in_memory else nullcontext()
        with turn, self._session("BEGIN" if self.is_sqlite else _ONE_MOMENT) as session:
            return act(session)

    def write(self, act: Callable[[Session], T]) -> T:
        """Run a transaction; when this returns, what it did is durable.

        Other writers' acts may run in the same transaction. An act that raises is undone alone.
        """
        engine = self.engine  # first of all: a fork has its own line
        if engine.dialect.name != "sqlite":
            with self._session("") as session:
                return act(session)
        failure: WhitecrowError | None = None
        try:
            return self._line.run(act)
        except self.failures as error:
            failure = _translated(error, self.name)
        raise failure

    def _work(self, fetch: Callable[[], list[Job[Session]]]) -> None:
        """Do all that waits in line in one transaction."""
        with self._turn, self._processes.take(), self._writing() as session:
            session.command("BEGIN IMMEDIATE")
            jobs = fetch()
            if len(jobs) == 1:
                jobs[0].result = jobs[0].act(session)
                return
            for job in jobs:
                _act_apart(job, session)

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        """The connection that is kept for writing, and its transaction."""
        if self._writer is None:
            connection = self.engine.raw_connection()
            self._writer = connection, Session(connection, self._compiler)
        connection, session = self._writer
        try:
            yield session
            connection.commit()
        except BaseException:
            try:
                connection.rollback()
            except self.failures:
                self._writer = None
                connection.invalidate()
            raise

    @contextmanager
    def _session(self, begin: str) -> Iterator[Session]:
        failure: WhitecrowError | None = None
        try:
            raw = self.engine.raw_connection()
            try:
                with self._without_waiting(raw):
                    session = Session(raw, self._compiler)
                    if begin:
                        session.command(begin)
                    yield session
                    raw.commit()
                # Nothing is left to do unless no result had come back to say that a transaction is
                # open: then the commit above was taken for needless.
                raw.commit()
            except BaseException:
                try:
                    raw.rollback()
                except self.failures:
                    raw.invalidate()
                raise
            finally:
                raw.close()
        except self.failures as error:
            failure = _translated(error, self.name)
        # Raised outside the handler: the driver's error names statements, and stays behind.
        if failure is not None:
            raise failure

    def _without_waiting(self, raw: PoolProxiedConnection) -> AbstractContextManager[object]:
        """Send statements to PostgreSQL that return nothing together with the one that follows.

        Whatever fails among them fails at the next query, or at the commit at the latest.
        """
        driver: Any = raw.driver_connection
        return nullcontext() if self.is_sqlite else driver.pipeline()

    def joined(self, connection: Connection) -> Session:
        """The transaction that somebody else has open on a connection to this store."""
        return Session(connection.connection, self._compiler)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A writing transaction as SQLAlchemy has it, for changes of the schema."""
        failure: WhitecrowError | None = None
        try:
            with self._turn, self.engine.begin() as connection:
                yield connection
        except self.failures as error:
            failure = _translated(error, self.name)
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Give all connections back."""
        if self._process == os.getpid():
            with self._turn:
                if self._writer is not None:
                    self._writer[0].close()
                    self._writer = None
        self._engine.dispose()
        self._processes.close()


_NOT_OURS: list[object] = []


def _act_apart(job: Job[Session], session: Session) -> None:
    """Act among others; undo what an act that raises has done, and nothing else."""
    session.command("SAVEPOINT act")
    try:
        job.result = job.act(session)
    except Exception as error:  # noqa: BLE001 - it is raised where the act came from
        job.error = error
        session.command("ROLLBACK TO act")
    session.command("RELEASE act")


def _make_private(path: Path) -> None:
    """Make a new file that its owner alone can read; what fails here fails again, and is told."""
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


_SQLITE_ERRORS = (
    ("malformed", LedgerCorrupt, "is damaged"),
    ("not a database", LedgerCorrupt, "is not a ledger (not an SQLite file, or damaged)"),
    ("readonly", LedgerUnusable, "cannot be written: the file or its folder is read-only"),
    (
        "unable to open",
        LedgerUnusable,
        "cannot be opened: does its folder exist, and is it writable?",
    ),
    ("full", LedgerUnusable, "cannot grow: the disk is full"),
    ("disk i/o", LedgerUnusable, "cannot be written: the disk reports an error"),
    ("locked", LedgerBusy, "is busy: another process has held it for too long"),
)


def _translated(error: Exception, name: str) -> WhitecrowError:
    """Say in a sentence what failed, without the driver's words."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    said = str(cause).lower()
    for clue, kind, words in _SQLITE_ERRORS:
        if isinstance(cause, sqlite3.Error | OSError) and clue in said:
            return kind(f"The ledger {name} {words}. Nothing was released.")
    if isinstance(cause, sqlite3.Error | OSError):
        return LedgerUnusable(f"The ledger {name} cannot be used. Nothing was released.")
    return Unreachable(
        f"The ledger {name} cannot be reached, or the connection was lost. Nothing was released; "
        "ask again when it is back: a question that was already charged is not charged twice."
    )
