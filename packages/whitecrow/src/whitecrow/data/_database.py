"""Databases that hold records: a custodian's query, and connections that read and nothing else.

A query is one SELECT, checked by a parser before a database sees it. What is sent is not the text
that was given but what the parser wrote back from what it understood; comments and second
statements have no way through. Functions are allowed by name: those that
compute on values. Whatever else a query needs belongs in a view, which the database's owner makes.
The second belt is the connection, which only reads, and the third the role it signs in with.
"""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import quote

from whitecrow.data.opened import BATCH
from whitecrow.errors import InvalidInput, MissingExtra, Unreachable

_TABLE = re.compile(r"\w+(\.\w+)?")
_SAME = ("sqlite", "mysql", "oracle", "duckdb", "snowflake", "bigquery", "redshift", "trino")
_OTHER = {"postgresql": "postgres", "mariadb": "mysql", "mssql": "tsql"}
_DIALECTS = {name: name for name in _SAME} | _OTHER
_COMPUTING = """
abs acos and asin atan atan2 avg case cast cbrt ceil chr coalesce collate concat concat_ws corr
cos count covar_pop covar_samp cume_dist date date_add datediff date_sub date_trunc day
day_of_month day_of_week dayofweek_iso day_of_year degrees dense_rank exists exp extract
first_value floor greatest group_concat hour if initcap is_inf is_nan json_extract
json_extract_scalar jsonb_extract jsonb_extract_scalar lag last_day last_value lead least left
length ln log logical_and logical_or lower max median min minute mode month nth_value ntile nullif
nvl2 or pad percent_rank percentile_cont percentile_disc pi power quarter radians rank
regexp_extract regexp_i_like regexp_like regexp_replace repeat replace reverse right round
row_number second sign sin split_part sqrt starts_with stddev stddev_pop stddev_samp str_position
str_to_date str_to_time substring sum tan time_to_str timestamp timestamp_trunc to_char to_number
translate trim trunc try_cast ts_or_ds_to_date ts_or_ds_to_timestamp unicode upper var_map
variance variance_pop week week_of_year width_bucket xor year
"""
# By the parser's names. Left out on purpose: whatever draws, waits, numbers or reads elsewhere.

_OTHERWISE_NAMED = """
age bool_and bool_or btrim date_part every instr iif isfinite julianday ltrim make_date printf
rtrim strftime to_date to_timestamp total
"""
# Functions of a database that the parser has no name for, and that compute on values too.


def select_only(query: str, backend: str) -> str:
    """Return a query as one SELECT, written by the parser; the name of a table means all of it.

    The ``backend`` is what SQLAlchemy calls the database. Refused is what is not one SELECT, could
    write, or calls a function that is not known to only compute.
    """
    import sqlglot
    from sqlglot import exp

    # It would write the query into the log.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    dialect = _DIALECTS.get(backend, "")
    table = query.strip()
    if _TABLE.fullmatch(table):
        schema, _, name = table.rpartition(".")
        named = exp.table_(name, db=schema or None, quoted=True)
        return exp.select("*").from_(named).sql(dialect=dialect)
    if "\0" in query:
        raise _refused("it holds a zero byte")
    try:
        statements = [each for each in sqlglot.parse(query, read=dialect) if each is not None]
    except (sqlglot.errors.SqlglotError, RecursionError):
        raise _refused("it cannot be understood") from None
    if len(statements) != 1:
        raise _refused(f"it is {len(statements)} statements")
    _check(statements[0])
    text = statements[0].sql(dialect=dialect, comments=False)
    if sqlglot.parse_one(text, read=dialect) != statements[0]:
        raise _refused("it cannot be written back alike")
    return text


def _check(statement: object) -> None:
    from sqlglot import exp

    if not isinstance(statement, exp.Select | exp.SetOperation):
        raise _refused("it is no SELECT")
    acts = (
        *(exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock, exp.Pragma, exp.Set, exp.Attach),
        *(exp.Detach, exp.Copy, exp.Use, exp.Transaction, exp.Commit, exp.Rollback, exp.Kill),
        *(exp.Drop, exp.Alter, exp.TruncateTable, exp.Parameter, exp.SessionParameter),
        *(exp.Placeholder, exp.TableSample),
        exp.Operator,  # OPERATOR(schema.name): a function under another name
    )
    for node in statement.walk():
        if isinstance(node, acts):
            raise _refused(f"it holds {node.key.upper()}")
        if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
            name = str(node.this).lower()
            if name not in _OTHERWISE_NAMED.split():
                raise _refused(f"it calls {name}()")
        elif isinstance(node, exp.Func) and node.sql_name().lower() not in _COMPUTING.split():
            raise _refused(f"it calls {node.sql_name().lower()}()")
        if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Func):
            raise _refused("it calls a function of a schema")
        if isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier):
            raise _refused("it reads from a function")
        if isinstance(node, exp.Table) and re.search(r"[/\\.:]", node.name):
            # DuckDB reads files by such names; others hold no table of this kind.
            raise _refused("it reads from a file")


def _refused(why: str) -> InvalidInput:
    return InvalidInput(
        f"The query is not taken: {why}. Give one SELECT over tables or views, or the name of one "
        "table; what else it needs belongs in a view."
    )


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
            file = address.database
            if not file.startswith("file:"):
                address = address.set(database=f"file:{quote(file)}")
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
    with _streamed(connection, query) as result:
        codes = [column[1] for column in result.cursor.description]
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
    backend = connection.dialect.name
    if backend in ("postgresql", "sqlite"):
        listed = ", ".join(f"c{column}" for column in range(len(columns)))
        fetched = [f"c{column}" for column in places]
        if backend == "postgresql":
            # A single float is first the double that it is; its own shortest digits are others.
            kinds = ["::double precision" if columns[column][1] else "" for column in places]
            fetched = [f"CAST({c}{kind} AS text)" for c, kind in zip(fetched, kinds, strict=True)]
        named = ", ".join(fetched) or "1"
        query = f"WITH source ({listed}) AS ({query}) SELECT {named} FROM source"  # noqa: S608
        places = list(range(len(places)))
    decode = _as_bytes(connection)
    with _streamed(connection, query) as result:
        for part in result.partitions():
            yield [[decode(row[column]) for column in places] for row in part]


def _streamed(connection: Any, query: str) -> Any:
    formats = connection.dialect.paramstyle in ("format", "pyformat")
    escaped = query.replace("%", "%%") if formats else query
    return closing(connection.execution_options(yield_per=BATCH).exec_driver_sql(escaped))


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
