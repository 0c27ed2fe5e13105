"""Where records come from: files, frames, Arrow tables and databases, opened as Arrow batches.

Names and types are known when a source is opened; values are read batch by batch. A type never
depends on values: CSV fields, values of a database and pandas' objects are text until a card says
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from whitecrow import plugins
from whitecrow.card import Card, CsvFormat, TableChoice
from whitecrow.data import _csvfile as csvfile
from whitecrow.data._database import (
    backend_name,
    described,
    read_only_engine,
    reading_connection,
    select_only,
    selected_rows,
)
from whitecrow.data._tables import open_delta, open_duckdb, open_iceberg
from whitecrow.data.opened import BATCH, Opened, lake_kind, open_folder, open_parquet
from whitecrow.data.values import numbers, plain_text, text_array
from whitecrow.errors import InvalidInput


@dataclass(frozen=True)
class SqlQuery:
    """Records that a database holds: a SQLAlchemy URL and a query.

    The query is one ``SELECT``, or the name of a table. On the terminal the same is written
    ``URL::SELECT ...``.
    """

    url: str = field(repr=False)  # it may hold a password
    query: str

    def check(self) -> None:
        """Refuse a query that is not one SELECT; the database is not asked."""
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


def csv_format(source: object) -> CsvFormat:
    """Return how a source is written if it is a CSV file, as its header tells."""
    file = data_file(source)
    named = file is not None and _FILES.get(file.suffix.lower()) is _open_csv
    return csvfile.usual(file) if file is not None and named and file.is_file() else CsvFormat()


def open_source(source: object, card: Card | None = None) -> Opened:
    """Open a source; the card says how a CSV file is written."""
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
    schemes = plugins.offered(plugins.SOURCES)
    if scheme not in schemes:
        raise InvalidInput(
            f"No source opens {scheme}://. A database is written URL::SELECT ...; installed "
            f"packages open {', '.join(sorted(schemes)) or 'nothing else'}."
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
        return open_folder(path)
    if kind in _FILES:
        return _FILES[kind](path, card)
    raise InvalidInput(
        f"The file {path.name!r} ends in {kind!r}; whitecrow reads .parquet, .pq, .csv, "
        ".tsv and .duckdb, folders of Parquet files, and Delta and Iceberg tables."
    )


def _open_csv(path: Path, card: Card | None) -> Opened:
    import pyarrow

    form = csvfile.usual(path) if card is None else card.csv
    numbers = () if card is None else tuple(c.name for c in card.columns if c.numeric)
    header = csvfile.header(path, form)

    def batches(names: list[str], left_out: Callable[[], None]) -> Iterator[Any]:
        yield from csvfile.batches(path, header, names, left_out, form, numbers)

    schema = pyarrow.schema([(name, pyarrow.string()) for name in header])
    return Opened(path.stem, schema, 0, batches)


_FILES: dict[str, Callable[[Path, Card | None], Opened]] = {
    ".parquet": open_parquet,
    ".pq": open_parquet,
    ".csv": _open_csv,
    ".tsv": _open_csv,
}  # who opens files, by their ending; to add a format, write its function and one line here

_TABLES = {".duckdb": open_duckdb, "delta": open_delta, "iceberg": open_iceberg}
"""Who opens what holds several tables or versions; the card's ``[table]`` says which."""


def _open_frame(source: object) -> Opened:
    table = table_of(source)

    def batches(names: list[str], left_out: Callable[[], None]) -> Iterator[Any]:
        yield from table.select(names).to_batches(max_chunksize=BATCH)

    return Opened("frame", table.schema, table.num_rows, batches)


def table_of(source: object) -> Any:
    """Return a data frame, an Arrow table or a mapping of names to objects as an Arrow table.

    Objects have no type of their own: they are text, and the card says how it is read.
    """
    import pyarrow

    if isinstance(source, pyarrow.Table):
        return source
    if isinstance(source, dict):
        listed = {name: list(map(plain_text, values)) for name, values in source.items()}
        return pyarrow.table({name: text_array(values) for name, values in listed.items()})
    import narwhals.stable.v2 as nw

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
        readers: dict[Any, Callable[[Any], Any]] = {
            nw.Object: _of_objects,
            nw.String: _of_strings,
            nw.Categorical: _of_categories,
            nw.Enum: _of_categories,
        }
        plain = {
            name: readers[type(kind)](frame[name].to_native())
            for name, kind in frame.schema.items()
            if type(kind) in readers
        }
        rest = frame.select([name for name in frame.columns if name not in plain]).to_arrow()
        parts = {name: plain[name] if name in plain else rest[name] for name in frame.columns}
        return pyarrow.table(parts)
    except Exception:  # noqa: BLE001 - the text of a failure may quote the value it did not understand
        raise InvalidInput(
            "A column of the frame holds values that have no common type; make it text."
        ) from None


def _of_objects(series: Any) -> Any:
    return text_array([plain_text(value) for value in series.to_numpy(dtype=object)])


def _of_strings(series: Any) -> Any:
    import pyarrow

    # Where the frame does not say so itself, that all are texts was told from the values.
    typed = series.dtype != object
    return pyarrow.array(series, from_pandas=True) if typed else _of_objects(series)


def _of_categories(series: Any) -> Any:
    import pyarrow

    if not hasattr(series, "cat"):  # a dictionary of Arrow's own
        return pyarrow.array(series)
    codes = series.cat.codes.to_numpy()
    named = _of_objects(series.cat.categories)
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array(codes, mask=codes < 0), named)


def _open_sql(source: SqlQuery) -> Opened:
    import pyarrow

    engine = read_only_engine(source.url, pooled=False)
    query = select_only(source.query, engine.dialect.name)
    with reading_connection(engine) as connection:
        columns = described(connection, query)
    names = [name for name, _ in columns]

    def batches(wanted: list[str], left_out: Callable[[], None]) -> Iterator[Any]:
        places = [names.index(name) for name in wanted]
        with reading_connection(engine) as connection:
            for rows in selected_rows(connection, query, columns, places):
                fields = [
                    text_array([plain_text(row[at]) for row in rows]) for at in range(len(wanted))
                ]
                arrays = [
                    pyarrow.array(numbers(texts), from_pandas=True) if columns[at][1] else texts
                    for at, texts in zip(places, fields, strict=True)
                ]
                yield pyarrow.record_batch(arrays, names=wanted)

    kinds = {True: pyarrow.float64(), False: pyarrow.null()}
    schema = pyarrow.schema([(name, kinds[floating]) for name, floating in columns])
    return Opened("query", schema, 0, batches)
