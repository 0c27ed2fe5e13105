"""Connections to databases that hold records: they read, and nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import quote

from whitecrow.data._opened import BATCH
from whitecrow.errors import InvalidInput, MissingExtra, Unreachable

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
    "SET client_encoding = 'UTF8'",
    "SET standard_conforming_strings = on",
    "SET datestyle = 'ISO'",
    "SET extra_float_digits = 1",
    "SET intervalstyle = 'postgres'",
    "SET bytea_output = 'hex'",
    # Else the day of a moment would be that of whoever starts the process.
    "SET timezone = 'UTC'",
)
_POSTGRES_FLOATS = (700, 701)
_POSTGRES_TEXT = 25


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
        # Before SQLAlchemy asks for its version, which it reads as a text.
        sqlalchemy.event.listen(engine, "connect", _only_read_postgres, insert=True)
    return engine


Columns = list[tuple[str, bool]]
"""The names of a query's columns, and whether each is known to hold doubles."""


def described(connection: Any, query: str) -> Columns:
    """Return the columns of a query; no row is fetched."""
    postgres = connection.dialect.name == "postgresql"
    if postgres:
        query = f"SELECT * FROM ({query}) AS described WHERE false"  # noqa: S608 - one SELECT
    _as_bytes(connection)
    streamed = connection.execution_options(yield_per=BATCH)
    with closing(streamed.exec_driver_sql(_escaped(connection, query))) as result:
        codes = [one[1] for one in result.cursor.description]
        return [
            (name, postgres and code in _POSTGRES_FLOATS)
            for name, code in zip(result.keys(), codes, strict=True)
        ]


def selected_rows(
    connection: Any, query: str, columns: Columns, places: list[int]
) -> Iterator[list[Any]]:
    """Yield rows of some columns of a query, by their places; others are not fetched.

    Each value comes as it is stored, or as its text in bytes, so that no value makes the driver
    fail.
    """
    if _wrapped(connection):
        listed = ", ".join(f"c{place}" for place in range(len(columns)))
        named = ", ".join(_fetched(connection, place, columns[place][1]) for place in places)
        query = f"WITH source ({listed}) AS ({query}) SELECT {named or '1'} FROM source"  # noqa: S608
        places = list(range(len(places)))
    decode = _as_bytes(connection)
    streamed = connection.execution_options(yield_per=BATCH)
    with closing(streamed.exec_driver_sql(_escaped(connection, query))) as result:
        for part in result.partitions():
            yield [[decode(row[place]) for place in places] for row in part]


def _wrapped(connection: Any) -> bool:
    return connection.dialect.name in ("postgresql", "sqlite")


def _fetched(connection: Any, place: int, floating: bool) -> str:
    if connection.dialect.name != "postgresql":
        return f"c{place}"
    # A single float is first the double that it is; its own shortest digits are others.
    return f"CAST(c{place}{'::double precision' if floating else ''} AS text)"


def _escaped(connection: Any, query: str) -> str:
    formats = connection.dialect.paramstyle in ("format", "pyformat")
    return query.replace("%", "%%") if formats else query


def _as_bytes(connection: Any) -> Callable[[Any], Any]:
    """Have a connection give texts undecoded, and return what decodes each of them alone."""
    driver = connection.connection.driver_connection
    encoding = "utf-8"
    if connection.dialect.name == "sqlite":
        driver.text_factory = _Undecoded
    elif connection.dialect.name == "postgresql":
        from psycopg.adapt import Loader

        class AsBytes(Loader):
            def load(self, data: Any) -> _Undecoded:
                return _Undecoded(data)

        # Undecoded and not converted: the server would refuse all rows for one character.
        stored = driver.info.parameter_status("server_encoding")
        driver.execute(f"SET client_encoding = '{stored}'")
        encoding = driver.info.encoding if stored != "SQL_ASCII" else encoding
        driver.adapters.register_loader(_POSTGRES_TEXT, AsBytes)

    def decode(value: Any) -> Any:
        if not isinstance(value, _Undecoded):
            return value
        try:
            return value.decode(encoding)
        except UnicodeDecodeError:
            return None

    return decode


class _Undecoded(bytes):
    """A text as it is stored; bytes that are no text are of another type."""


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
