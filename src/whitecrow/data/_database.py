"""Connections to databases that hold records: they read, and nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from whitecrow.errors import InvalidInput, MissingExtra, Unreachable

__all__ = ["backend_name", "read_only_engine", "reading_connection"]

_SQLITE_READS = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_TRANSACTION,
    }
)
_POSTGRES_SETTINGS = (
    "SET default_transaction_read_only = on",
    # Strings as the parser wrote them, dates and doubles as they are read here.
    "SET standard_conforming_strings = on",
    "SET datestyle = 'ISO'",
    "SET extra_float_digits = 1",
)


def backend_name(url: str) -> str:
    """Return what kind of database an address names: "postgresql", "sqlite", ..."""
    import sqlalchemy

    try:
        return str(sqlalchemy.engine.make_url(url).get_backend_name())
    except sqlalchemy.exc.ArgumentError:
        raise InvalidInput("The database address is not a SQLAlchemy URL.") from None


def read_only_engine(url: str, *, pooled: bool = True) -> Any:
    """Return a SQLAlchemy engine whose connections cannot write.

    SQLite is opened in its mode ``ro``, with its own check of every operation; PostgreSQL in
    transactions that only read. Of other databases that is left to the role that the URL names.
    Connections that are not ``pooled`` are closed after each use.

    Raises
    ------
    InvalidInput
        The address is no SQLAlchemy URL.
    Unavailable
        Its driver is not installed.
    """
    import sqlalchemy

    try:
        address = sqlalchemy.engine.make_url(url)
        backend = address.get_backend_name()
        if backend == "postgresql":
            address = address.set(drivername="postgresql+psycopg")
        elif backend == "sqlite" and address.database not in (None, "", ":memory:"):
            place = address.database
            if not place.startswith("file:"):
                address = address.set(database=f"file:{quote(place)}")
            address = address.update_query_dict({"mode": "ro", "uri": "true"})
        pool = {} if pooled else {"poolclass": sqlalchemy.NullPool}
        engine = sqlalchemy.create_engine(address, **pool)
    except ModuleNotFoundError as error:
        extra = ": pip install 'whitecrow[postgres]'" if error.name == "psycopg" else ""
        raise MissingExtra(f"Reading this database needs the module {error.name}{extra}.") from None
    except sqlalchemy.exc.ArgumentError:
        raise InvalidInput("The database address is not a SQLAlchemy URL.") from None
    if backend == "postgresql":
        sqlalchemy.event.listen(engine, "connect", _only_read_postgres)
    return engine


@contextmanager
def reading_connection(engine: Any) -> Iterator[Any]:
    """Connect for reading; the driver's own text of a failure may quote values and is dropped."""
    import sqlalchemy

    try:
        with engine.connect() as connection:
            if engine.dialect.name == "sqlite":
                _only_read_sqlite(connection)
            yield connection
    except sqlalchemy.exc.SQLAlchemyError:
        raise Unreachable("The database did not answer the query.") from None


def _only_read_postgres(connection: Any, _: object) -> None:
    from psycopg.types.string import TextLoader

    # Text: a date before the year 1 or an infinite one would otherwise end the reading.
    for name in ("date", "timestamp", "timestamptz"):
        connection.adapters.register_loader(name, TextLoader)
    connection.autocommit = True
    for setting in _POSTGRES_SETTINGS:
        connection.execute(setting)
    connection.autocommit = False
    connection.read_only = True


def _only_read_sqlite(connection: Any) -> None:
    def allowed(action: int, *about: str | None) -> int:
        reads = action in _SQLITE_READS and "load_extension" not in about
        return sqlite3.SQLITE_OK if reads else sqlite3.SQLITE_DENY

    driver = connection.connection.driver_connection
    driver.set_authorizer(None)
    driver.execute("PRAGMA query_only = ON")
    driver.set_authorizer(allowed)
