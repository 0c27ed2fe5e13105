"""The service's own tables: a connection of their own to the database the ledger is in.

Every transaction that decides something locks first and reads afterwards, as in the ledger.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from whitecrow.errors import InvalidInput, Unavailable

__all__ = ["Store"]

_AWAY = "The service's database cannot be used at the moment; try again later."
_WAIT_SECONDS = 30


class Store:
    """Hands out transactions.

    Parameters
    ----------
    url : str
        ``sqlite:///file``, ``sqlite://`` (in memory) or ``postgresql+psycopg://...``.
    """

    def __init__(self, url: str) -> None:
        self._engine = _engine(url)

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[Connection]:
        """Run one transaction; it is durable when the block is left without an error."""
        away = False
        try:
            with self._engine.connect() as connection:
                connection = connection.execution_options(whitecrow_write=write)
                with connection.begin():
                    yield connection
        except (SQLAlchemyError, sqlite3.Error):
            away = True
        # Raised outside the handler: the driver's error names statements, and stays behind.
        if away:
            raise Unavailable(_AWAY)

    def close(self) -> None:
        """Give all connections back."""
        self._engine.dispose()


def _engine(url: str) -> Engine:
    try:
        found = make_url(url)
    except ArgumentError:
        raise InvalidInput(
            "The ledger's address is not a database URL; write sqlite:///file or "
            "postgresql+psycopg://user@host/name."
        ) from None
    options: dict[str, Any] = {"hide_parameters": True}
    if found.get_backend_name() == "sqlite":
        options["connect_args"] = {"timeout": _WAIT_SECONDS, "check_same_thread": False}
        if found.database in (None, "", ":memory:"):
            options["poolclass"] = StaticPool
    try:
        engine = create_engine(found, **options)
    except (ImportError, NoSuchModuleError):
        raise Unavailable(
            "The driver for PostgreSQL is missing: pip install 'whitecrow[postgres]'."
        ) from None
    if found.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, record: object) -> None:
    connection.isolation_level = None  # the driver must not open transactions of its own
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


def _begin_sqlite(connection: Connection) -> None:
    write = connection.get_execution_options().get("whitecrow_write", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
