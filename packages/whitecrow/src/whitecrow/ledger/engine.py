"""Engines: the one place that knows how to connect to the database behind ledger and service.

Durability. SQLite runs with a write-ahead log and ``synchronous=FULL``: a committed spend survives
the death of the process, of the system and of the power supply, at the cost of one flush to disk a
commit. (``NORMAL`` would be faster, but a power cut could undo the last commits, and with them the
spend of an answer already sent.) PostgreSQL's default, ``synchronous_commit=on``, is the same.

Races. Every transaction that decides something locks first and reads afterwards: ``BEGIN
IMMEDIATE`` in SQLite (one writer a file), ``SELECT ... FOR UPDATE`` on the dataset's row in
PostgreSQL (one writer a dataset).
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.pool import StaticPool

from whitecrow.errors import (
    InvalidInput,
    LedgerBusy,
    LedgerCorrupt,
    LedgerUnusable,
    MissingExtra,
    Unreachable,
    WhitecrowError,
)

READ_ONLY = {"whitecrow_write": False}
"""Execution options of a connection whose transaction only reads; others begin for writing."""


_POSTGRESQL = {
    "connect_timeout": 10,
    # A server that has vanished without a word is noticed within half a minute.
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}  # how connections notice that nobody is at their other end

_STATEMENTS = "-c statement_timeout=120s"
"""No statement takes as long, unless its server hangs; changes of the schema may."""


def parsed(url: str | Path) -> URL:
    """Read a database URL, or a file name as the SQLite store in that file."""
    if isinstance(url, Path) or "://" not in str(url):
        return URL.create("sqlite", database=str(url))
    try:
        return make_url(url)
    except ArgumentError:
        raise InvalidInput(
            "The ledger's address is not a database URL; write sqlite:///file, sqlite:// (in "
            "memory) or postgresql+psycopg://user@host/name."
        ) from None


def is_in_memory(url: URL) -> bool:
    """Whether a store is SQLite's and has no file."""
    return url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:")


def sqlite_file(url: URL) -> Path | None:
    """Return the file of an SQLite store; None for others."""
    named = url.get_backend_name() == "sqlite" and not is_in_memory(url)
    return Path(str(url.database)) if named else None


def engine_for(url: URL, *, patience: float = 0.0, tried: bool = True) -> Engine:
    """Return an engine whose transactions are durable and begin as they must.

    SQLite waits ``patience`` seconds for another writer. PostgreSQL's connections are ``tried``
    before each use, or transactions and whether a connection still lives are left to who uses it.
    """
    backend = url.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise InvalidInput(f"A ledger is kept in SQLite or PostgreSQL; {backend!r} is neither.")
    # Statements carry questions and answers: they stay out of every error message.
    options: dict[str, Any] = {"hide_parameters": True}
    if backend == "postgresql":
        options |= {
            # An ask holds a second connection for its claim: a bounded pool could lock itself up.
            "max_overflow": -1,
            # A connection that the server has ended meanwhile is replaced before it is used.
            "pool_pre_ping": tried,
            "connect_args": {
                "autocommit": not tried,
                **{name: setting for name, setting in _POSTGRESQL.items() if name not in url.query},
                "options": f"{_STATEMENTS} {url.query.get('options', '')}".strip(),
            },
        }
    else:
        options["connect_args"] = {"timeout": patience, "check_same_thread": False}
        if is_in_memory(url):
            options["poolclass"] = StaticPool
    try:
        engine = create_engine(url, **options)
    except (ImportError, NoSuchModuleError):
        raise MissingExtra(
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
    # Pages that every ask writes go from the log to the file once for many asks.
    connection.execute("PRAGMA wal_autocheckpoint=4000")


def _begin_sqlite(connection: Connection) -> None:
    write = connection.get_execution_options().get("whitecrow_write", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


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


def translated(error: Exception, name: str) -> WhitecrowError:
    """Say in a sentence what failed, without the driver's words."""
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    cause_text = str(cause).lower()
    for clue, kind, words in _SQLITE_ERRORS:
        if isinstance(cause, sqlite3.Error | OSError) and clue in cause_text:
            return kind(f"The ledger {name} {words}. Nothing was released.")
    if isinstance(cause, sqlite3.Error | OSError):
        return LedgerUnusable(f"The ledger {name} cannot be used. Nothing was released.")
    return Unreachable(
        f"The ledger {name} cannot be reached, or the connection was lost. Nothing was released; "
        "ask again when it is back: a question that was already charged is not charged twice."
    )
