"""Connections: the one place that knows which database is behind the ledger.

Durability. SQLite runs with a write-ahead log and ``synchronous=FULL``: a committed spend survives
the death of the process, of the system and of the power supply, at the cost of one flush to disk a
commit. (``NORMAL`` would be faster, but a power cut could undo the last commits, and with them the
spend of an answer already sent.) PostgreSQL's default, ``synchronous_commit=on``, is the same.

Races. Every transaction that decides something locks first and reads afterwards: ``BEGIN
IMMEDIATE`` in SQLite (one writer a file), ``SELECT ... FOR UPDATE`` on the dataset's row in
PostgreSQL (one writer a dataset).
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from whitecrow.errors import InvalidInput, LedgerCorrupt, Unavailable, WhitecrowError

__all__ = ["Database"]

_WAIT_SECONDS = 120
"""How long a transaction waits for its turn before it gives up."""


class Database:
    """A store that hands out transactions and speaks in whitecrow's errors.

    Parameters
    ----------
    url : str or Path
        ``sqlite:///file``, ``sqlite://`` (in memory), ``postgresql+psycopg://...``, or a file name.
    """

    def __init__(self, url: str | Path) -> None:
        self.url = _parse(url)
        self.in_memory = self.url.get_backend_name() == "sqlite" and self.path is None
        self._engine = _engine(self.url, self.in_memory)
        self._process = os.getpid()
        # One connection serves all threads of an in-memory store; they take turns.
        self._turn = threading.RLock() if self.in_memory else nullcontext()

    @property
    def path(self) -> Path | None:
        """The file of an SQLite store; None for others."""
        database = self.url.database
        if self.url.get_backend_name() != "sqlite" or database in (None, "", ":memory:"):
            return None
        return Path(str(database))

    @property
    def name(self) -> str:
        """How to call the store in messages; without a password."""
        return self.url.render_as_string(hide_password=True)

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[Connection]:
        """Run one transaction; it is durable when the block is left without an error."""
        failure: WhitecrowError | None = None
        try:
            with self._turn, self.engine.connect() as connection:
                connection = connection.execution_options(whitecrow_write=write)
                with connection.begin():
                    yield connection
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            failure = _translated(error, self.name)
        # Raised outside the handler: the driver's error names statements, and stays behind.
        if failure is not None:
            raise failure

    @property
    def engine(self) -> Engine:
        """The engine, renewed in a forked process: connections must not be shared across a fork."""
        if os.getpid() != self._process:
            self._process = os.getpid()
            if self.in_memory:
                raise Unavailable(
                    "A ledger in memory cannot be used by a second process; give the ledger a file."
                )
            self._engine.dispose(close=False)
            self._engine = _engine(self.url, self.in_memory)
        return self._engine

    def close(self) -> None:
        """Give all connections back."""
        self._engine.dispose()


def _parse(url: str | Path) -> URL:
    if isinstance(url, Path) or "://" not in str(url):
        return URL.create("sqlite", database=str(url))
    try:
        return make_url(url)
    except ArgumentError:
        raise InvalidInput(
            "The ledger's address is not a database URL; write sqlite:///file, sqlite:// (in "
            "memory) or postgresql+psycopg://user@host/name."
        ) from None


def _engine(url: URL, in_memory: bool) -> Engine:
    backend = url.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise InvalidInput(f"A ledger is kept in SQLite or PostgreSQL; {backend!r} is neither.")
    # Statements carry questions and answers: they stay out of every error message.
    options: dict[str, Any] = {"hide_parameters": True}
    if backend == "postgresql":
        # An ask holds a second connection for its claim: a bounded pool could lock itself up.
        options |= {"max_overflow": -1, "connect_args": {"connect_timeout": 10}}
    else:
        options["connect_args"] = {"timeout": _WAIT_SECONDS, "check_same_thread": False}
        if in_memory:
            options["poolclass"] = StaticPool
    try:
        engine = create_engine(url, **options)
    except (ImportError, NoSuchModuleError):
        raise Unavailable(
            "The driver for PostgreSQL is missing: pip install 'whitecrow[postgres]'."
        ) from None
    if backend == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, record: object) -> None:
    connection.isolation_level = None  # the driver must not open transactions of its own
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_sqlite(connection: Connection) -> None:
    write = connection.get_execution_options().get("whitecrow_write", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


_SQLITE_ERRORS = (
    ("malformed", LedgerCorrupt, "is damaged"),
    ("not a database", LedgerCorrupt, "is not a ledger (not an SQLite file, or damaged)"),
    ("readonly", Unavailable, "cannot be written: the file or its folder is read-only"),
    (
        "unable to open",
        Unavailable,
        "cannot be opened: does its folder exist, and is it writable?",
    ),
    ("full", Unavailable, "cannot grow: the disk is full"),
    ("disk i/o", Unavailable, "cannot be written: the disk reports an error"),
    ("locked", Unavailable, "is busy: another process has held it for too long"),
)


def _translated(error: Exception, name: str) -> WhitecrowError:
    """Say in a sentence what failed, without the driver's words."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    said = str(cause).lower()
    for clue, kind, words in _SQLITE_ERRORS:
        if isinstance(cause, sqlite3.Error | OSError) and clue in said:
            return kind(f"The ledger {name} {words}. Nothing was released.")
    if isinstance(cause, sqlite3.Error | OSError):
        return Unavailable(f"The ledger {name} cannot be used. Nothing was released.")
    return Unavailable(
        f"The ledger {name} cannot be reached, or the connection was lost. Nothing was released; "
        "ask again when it is back: a question that was already charged is not charged twice."
    )
