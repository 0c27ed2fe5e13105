"""The service's own tables: a connection of their own to the database the ledger is in.

Every transaction that decides something locks first and reads afterwards, as in the ledger. Each
that writes also counts up a version, so that all workers know at once when what they remember of
people, tokens and access is out of date.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Float,
    Integer,
    MetaData,
    Table,
    create_engine,
    event,
    update,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import PoolProxiedConnection, StaticPool

from whitecrow.errors import InvalidInput, Unavailable
from whitecrow.server.refusals import NotReady

__all__ = ["Store", "changes", "probes"]

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
        self._looking = threading.Lock()
        self._looker: PoolProxiedConnection | None = None

    def version(self) -> int:
        """How often the service's tables were changed, by whichever worker; cheap to ask."""
        with self._looking:
            # Twice: a connection that is kept for long may have been cut since it was last used.
            for _ in range(2):
                try:
                    cursor = self._look().cursor()
                    cursor.execute(_VERSION)
                    found = cursor.fetchall()
                    cursor.close()
                    return int(found[0][0])
                except (SQLAlchemyError, self._engine.dialect.loaded_dbapi.Error, IndexError):
                    looker, self._looker = self._looker, None
                    if looker is not None:
                        looker.invalidate()
        # Raised outside the handler: the driver's error names statements, and stays behind.
        raise NotReady(_AWAY)

    def _look(self) -> PoolProxiedConnection:
        """A connection of its own for looking, which no transaction keeps in the past."""
        if self._looker is None:
            self._looker = self._engine.raw_connection()
            if self._engine.dialect.name == "postgresql":
                driver: Any = self._looker.driver_connection
                driver.autocommit = True
        return self._looker

    @contextmanager
    def transaction(self, *, write: bool = True, counted: bool = True) -> Iterator[Connection]:
        """Run one transaction; it is durable when the block is left without an error.

        What is written counts up the version, unless ``counted`` is False.
        """
        away = False
        try:
            with self._engine.connect() as connection:
                connection = connection.execution_options(whitecrow_write=write)
                with connection.begin():
                    yield connection
                    if write and counted:
                        connection.execute(_COUNT)
        except (SQLAlchemyError, self._engine.dialect.loaded_dbapi.Error):
            away = True
        if away:  # outside the handler, as above
            raise NotReady(_AWAY)

    def probe(self) -> None:
        """Write a little, and have it on disk; raises if that cannot be done.

        Asked often, it neither changes what workers remember nor grows the store.
        """
        with self.transaction(counted=False) as connection:
            connection.execute(update(probes).values(at=time.time()))

    def close(self) -> None:
        """Give all connections back."""
        with self._looking:
            if self._looker is not None:
                self._looker.close()
                self._looker = None
        self._engine.dispose()


changes = Table("service_changes", MetaData(), Column("number", Integer, nullable=False))
"""One row: how often the service's tables were changed."""

probes = Table("service_probe", MetaData(), Column("at", Float, nullable=False))
"""One row: when it was last tried whether the database can be written."""

_COUNT = update(changes).values(number=changes.c.number + 1)
_VERSION = "SELECT number FROM service_changes"


def _engine(url: str) -> Engine:
    try:
        found = make_url(url)
    except ArgumentError:
        raise InvalidInput(
            "The ledger's address is not a database URL; write sqlite:///file or "
            "postgresql+psycopg://user@host/name."
        ) from None
    # Pinged before each use: a connection that was cut while it lay in the pool is replaced.
    options: dict[str, Any] = {"hide_parameters": True, "pool_pre_ping": True}
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
