"""Where records come from: files, frames, Arrow tables and databases, opened as Arrow batches.

Names and types are known when a source is opened; values are read batch by batch. A type never
depends on values: CSV fields, values of a database and pandas' objects are text until a card says
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow import plugins
from whitecrow.card import Card, TableChoice
from whitecrow.data import _csvfile as csvfile
from whitecrow.data._database import backend_name, read_only_engine, reading_connection
from whitecrow.data._folders import lake_kind, parquet_files
from whitecrow.data._opened import BATCH, Opened
from whitecrow.data._statement import select_only
from whitecrow.data._tables import open_delta, open_duckdb, open_iceberg
from whitecrow.errors import InvalidInput

__all__ = ["Opened", "SourceType", "SqlQuery", "data_file", "open_source"]

_PIECE = 1 << 20
"""Bytes of a column that are read from a Parquet file at once."""
_POSTGRES_REAL, _POSTGRES_DOUBLE, _POSTGRES_CHAR = 700, 701, 1042


@dataclass(frozen=True)
class SqlQuery:
    """Records that a database holds: a SQLAlchemy URL and a query.

    The query is one ``SELECT``, or the name of a table. On the terminal the same is written
    ``URL::SELECT ...``.
    """

    url: str = field(repr=False)  # it may hold a password
    query: str

    def check(self) -> None:
        """Refuse a query that is not one SELECT; the database is not asked.

        Raises
        ------
        InvalidInput
            Says why.
        """
        select_only(self.query, backend_name(self.url))


@dataclass(frozen=True)
class SourceType:
    """Where records come from that another package adds: the group ``whitecrow.sources``.

    The entry point is called by the scheme of the addresses that it opens: ``lake`` opens
    ``lake://...``.

    Parameters
    ----------
    open : callable
        ``open(address)`` returns an :class:`Opened`. A type never depends on values.
    """

    open: Callable[[str], Opened]


def data_file(source: object) -> Path | None:
    """Return the file that a source names; None for an address, a query or a frame."""
    if isinstance(source, str) and "://" in source:
        return None
    return Path(source) if isinstance(source, str | Path) else None


def open_source(source: object, card: Card | None = None) -> Opened:
    """Open a source; the card says how a CSV file is written.

    Raises
    ------
    InvalidInput
        There is none, or it is not readable.
    Unavailable
        A database did not answer.
    """
    if isinstance(source, SqlQuery):
        return _open_sql(source)
    file = data_file(source)
    if file is not None:
        return _open_file(file, card)
    if isinstance(source, str):
        url, query_follows, query = source.partition("::")
        return _open_sql(SqlQuery(url, query)) if query_follows else _open_address(source)
    return _open_frame(source)


def _open_address(address: str) -> Opened:
    scheme = address.partition("://")[0]
    known = plugins.offered(plugins.SOURCES)
    if scheme not in known:
        raise InvalidInput(
            f"No source opens {scheme}://. A database is written URL::SELECT ...; installed "
            f"packages open {', '.join(sorted(known)) or 'nothing else'}."
        )
    return plugins.load(plugins.SOURCES, scheme, SourceType).open(address)


def _open_file(path: Path, card: Card | None) -> Opened:
    if not path.exists():
        raise InvalidInput(f"There is no file {str(path)!r}.")
    chosen = TableChoice() if card is None else card.table
    kind = lake_kind(path) if path.is_dir() else path.suffix.lower()
    if kind in _TABLES:
        return _TABLES[kind](path, chosen)
    if chosen != TableChoice():
        raise InvalidInput(
            f"The card's [table] chooses among tables or versions, and {path.name!r} has none: "
            "leave it out."
        )
    if path.is_dir():
        return _open_folder(path)
    if kind in _FILES:
        return _FILES[kind](path, card)
    raise InvalidInput(
        f"The file {path.name!r} ends in {kind!r}; whitecrow reads .parquet, .pq, .csv and "
        ".duckdb, folders of Parquet files, and Delta and Iceberg tables."
    )


def _open_folder(path: Path) -> Opened:
    """Open all Parquet files below a folder as one table; their schemas must be equal."""
    files = parquet_files(path)
    if not files:
        raise InvalidInput(f"The folder {path.name!r} holds no Parquet file.")
    parts = [_open_parquet(one, None) for one in files]
    for part, file in zip(parts, files, strict=True):
        if not part.schema.equals(parts[0].schema):
            raise InvalidInput(
                f"The files of the folder {path.name!r} differ in names or types: {file.name!r} is "
                f"not like {files[0].name!r}."
            )

    def batches(names: list[str], left_out: Callable[[], None]) -> Iterator[Any]:
        for part in parts:
            yield from part.batches(names, left_out)

    return Opened(path.name, parts[0].schema, sum(part.rows for part in parts), batches)


def _open_parquet(path: Path, card: Card | None) -> Opened:
    import pyarrow
    from pyarrow import parquet

    try:
        # Columns are read in small pieces: a whole row group may be as large as the data.
        file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=_PIECE)
    except (pyarrow.ArrowInvalid, OSError):
        raise InvalidInput(f"The file {path.name!r} is not readable Parquet.") from None

    def batches(names: list[str], left_out: Callable[[], None]) -> Iterator[Any]:
        yield from file.iter_batches(batch_size=BATCH, columns=names)

    return Opened(path.stem, file.schema_arrow, file.metadata.num_rows, batches)


def _open_csv(path: Path, card: Card | None) -> Opened:
    import pyarrow

    form = csvfile.USUAL if card is None else card.csv
    numbers = () if card is None else tuple(c.name for c in card.columns if c.numeric)
    header = csvfile.header(path, form)

    def batches(names: list[str], left_out: Callable[[], None]) -> Iterator[Any]:
        yield from csvfile.batches(path, header, names, left_out, form, numbers)

    schema = pyarrow.schema([(name, pyarrow.string()) for name in header])
    return Opened(path.stem, schema, 0, batches)


_FILES = {".parquet": _open_parquet, ".pq": _open_parquet, ".csv": _open_csv}
"""Who opens files, by their ending; to add a format, write its function and one line here."""

_TABLES = {".duckdb": open_duckdb, "delta": open_delta, "iceberg": open_iceberg}
"""Who opens what holds several tables or versions; the card's ``[table]`` says which."""


def _open_frame(source: object) -> Opened:
    import pyarrow

    table = source if isinstance(source, pyarrow.Table) else _as_table(source)

    def batches(names: list[str], left_out: Callable[[], None]) -> Iterator[Any]:
        yield from table.select(names).to_batches(max_chunksize=BATCH)

    return Opened("frame", table.schema, table.num_rows, batches)


def _as_table(source: object) -> Any:
    import narwhals.stable.v2 as nw
    import pyarrow

    try:
        frame = nw.from_native(source)  # type: ignore[call-overload]
    except TypeError:
        raise InvalidInput(
            f"A source must be a path, a data frame, an Arrow table or a SqlQuery. "
            f"Got {type(source).__name__} instead."
        ) from None
    try:
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect("pyarrow")
        if not frame.implementation.is_pandas_like():
            return frame.to_arrow()
        # Objects may be of any type: a type inferred from them would change with one value.
        objects = [name for name, kind in frame.schema.items() if kind == nw.Object]
        objects += [name for name, kind in frame.schema.items() if kind == nw.String]
        plain = {name: pyarrow.array(_texts(frame[name]), pyarrow.string()) for name in objects}
        rest = frame.select([name for name in frame.columns if name not in plain]).to_arrow()
        parts = {name: plain[name] if name in plain else rest[name] for name in frame.columns}
        return pyarrow.table(parts)
    except pyarrow.ArrowException:
        # Arrow's own text quotes the value it did not understand.
        raise InvalidInput(
            "A column of the frame holds values that have no common type; make it text."
        ) from None


def _texts(series: Any) -> list[str | None]:
    missing = series.is_null().to_list()
    return [
        None if absent else _plain(value)
        for value, absent in zip(series.to_list(), missing, strict=True)
    ]


def _open_sql(source: SqlQuery) -> Opened:
    import pyarrow

    engine = read_only_engine(source.url, pooled=False)
    query = select_only(source.query, engine.dialect.name)
    if engine.dialect.paramstyle in ("format", "pyformat"):
        query = query.replace("%", "%%")

    def answered() -> Generator[tuple[list[tuple[str, int]], list[Any]], None, None]:
        with reading_connection(engine) as connection:
            streamed = connection.execution_options(yield_per=BATCH)
            with closing(streamed.exec_driver_sql(query)) as result:
                described = result.cursor.description
                known = engine.dialect.name == "postgresql"
                codes = [each[1] if known else 0 for each in described]
                columns = list(zip(result.keys(), codes, strict=True))
                yield columns, []
                for part in result.partitions():
                    yield columns, list(part)

    with closing(answered()) as asked:
        columns = next(asked)[0]
    names = [name for name, _ in columns]
    floats = {_POSTGRES_REAL: pyarrow.float32(), _POSTGRES_DOUBLE: pyarrow.float64()}
    schema = pyarrow.schema([(name, floats.get(code, pyarrow.null())) for name, code in columns])

    def batches(wanted: list[str], left_out: Callable[[], None]) -> Iterator[Any]:
        places = [names.index(name) for name in wanted]
        with closing(answered()) as asked:
            for _, part in asked:
                texts = [[_plain(row[i], columns[i][1]) for row in part] for i in places]
                arrays = [pyarrow.array(each, pyarrow.string()) for each in texts]
                yield pyarrow.record_batch(arrays, names=wanted)

    return Opened("query", schema, 0, batches)


def _plain(value: Any, code: int = 0) -> str | None:
    """Write a value as text, so that each is read by the card alone (as in CSV)."""
    if value is None:
        return None
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float):
        if value != value:
            return None
        exact = float(np.float32(value)) if code == _POSTGRES_REAL else value
        # Whole floats without their point: 2004.0 is the category 2004.
        return repr(exact).removesuffix(".0")
    if code == _POSTGRES_CHAR:
        return str(value).rstrip(" ")
    return str(value)
