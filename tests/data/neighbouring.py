"""Neighbouring sources: values of every type, ordinary and odd, and every way to store them.

A *kind* is an Arrow type with ordinary values, which any reading must leave as they are, and odd
ones, each of which may be a record that somebody adds. A *writer* stores a table and returns what
:func:`whitecrow.read` takes; some cannot store some values, and say so with :class:`CannotStore`.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet, types

from whitecrow.card import Card, Column, CsvFormat

__all__ = ["KINDS", "ROW", "WRITERS", "CannotStore", "Kind", "card_of", "neighbours", "rows_of"]

ROW = "row"
"""The column that numbers the ordinary records; the odd one has the number of none of them."""
_ODD_ROW = 999

_CATEGORIES = ("0", "1", "2", "-1", "true", "a", "b", "1.5", "1.50", "1970-01-01", "2024-02-29")
_COLUMNS = {
    "number": Column("v"),
    "bounded": Column("v", lower=-10, upper=1e6, outside="clip", missing="fill", fill=3),
    "integer": Column("v", "integer"),
    "category": Column("v", "category", categories=_CATEGORIES),
    "date": Column("v", "date"),
    "text": Column("v", "text"),
}


class CannotStore(Exception):
    """This way of storing has no room for such values."""


@dataclass(frozen=True, eq=False)
class Kind:
    """A type of column.

    Parameters
    ----------
    name : str
    ordinary : Arrow array
        Values that every reading leaves as they are.
    odd : Arrow array
        Of the same type: each of them is a record of its own.
    columns : tuple of Column
        How a card may read them.
    """

    name: str
    ordinary: pa.Array
    odd: pa.Array
    columns: tuple[Column, ...]


def _kind(name: str, ordinary: pa.Array, odd: pa.Array, *columns: str) -> Kind:
    return Kind(name, ordinary, odd, tuple(_COLUMNS[column] for column in columns))


def _ticks(arrow: pa.DataType, values: list[int]) -> pa.Array:
    width = pa.int32() if arrow.bit_width == 32 else pa.int64()
    return pa.array(values, width).view(arrow)


def _octets(arrow: pa.DataType, values: list[bytes | None]) -> pa.Array:
    """Texts that Arrow did not look at."""
    plain = pa.array(values, pa.binary())
    texts = pa.Array.from_buffers(pa.string(), len(plain), plain.buffers())
    return texts if arrow == pa.string() else texts.cast(arrow)


def _whole(arrow: pa.DataType) -> Kind:
    last = np.iinfo(arrow.to_pandas_dtype())
    ordinary = pa.array([1, 2, 0, 5, 100, 7], arrow)
    odd = pa.array([last.min, last.max, None, last.max // 2 + 1], arrow)
    return _kind(str(arrow), ordinary, odd, "number", "bounded", "integer", "category", "date")


def _floating(arrow: pa.DataType) -> Kind:
    width = {16: np.uint16, 32: np.uint32, 64: np.uint64}[arrow.bit_width]
    kind = np.dtype(arrow.to_pandas_dtype())
    ones = np.iinfo(width).max
    # A signalling NaN, one with a sign, the least number, and the largest.
    last = np.finfo(kind)
    nan = int(np.array(np.inf, kind).view(width)) + 1
    bits = np.array([nan, ones, 1, int(np.array(last.max).view(width))], width).view(kind)
    odd = np.concatenate([bits, np.array([np.inf, -np.inf, -0.0, np.nan, 2.5], kind)])
    ordinary = pa.array(np.array([1, 2, 0, 1.5, 100, -1], kind))
    return _kind(
        str(arrow),
        ordinary,
        pa.array(odd, from_pandas=False),
        *("number", "bounded", "integer", "category", "text", "date"),
    )


def _decimals(arrow: pa.DataType) -> Kind:
    last = 10**arrow.precision - 1
    half = 15 * 10 ** (arrow.scale - 1) if arrow.scale else 2
    ordinary = [half, 1, 12_345, 0, -1, 2**29 + 1]
    odd = [last, -last, last // 3, last // 7 * 2, 7, None]

    def exact(steps: int | None) -> Decimal | None:
        return None if steps is None else Decimal(f"{steps}e{-arrow.scale}")

    ordinary, odd = (pa.array(map(exact, steps), arrow) for steps in (ordinary, odd))
    return _kind(str(arrow), ordinary, odd, "number", "bounded", "integer", "category", "text")


def _moments(arrow: pa.DataType) -> Kind:
    day = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
    each = (
        day[arrow.unit]
        if types.is_timestamp(arrow)
        else 86_400_000
        if types.is_date64(arrow)
        else 1
    )
    ordinary = _ticks(arrow, [0, each, 2 * each, 19_782 * each, -each, -3 * each + each // 2])
    last = (1 << (arrow.bit_width - 1)) - 1
    odd = _ticks(arrow, [last, -last - 1, -1, last // 3, each // 2 - 1, -last // 7])
    return _kind(
        str(arrow),
        ordinary,
        pa.concat_arrays([odd, pa.nulls(1, arrow)]),
        "date",
        "category",
        "text",
    )


_TEXTS: list[bytes | None] = [
    b"1",
    b"2",
    b"0",
    b"a",
    b"1.5",
    b"1970-01-01",
    b"2024-02-29 23:59",
    b"true",
]
_ODD_TEXTS: list[bytes | None] = [
    *(b"\xff", b"\xed\xa0\x80", b"a\xc3", b"\xf4\x90\x80\x80", b"\x00", b"", None),
    *(
        b"1" * 5000,
        b"1e400",
        b"-0",
        b"-0.0",
        b"nan",
        b"snan",
        b"inf",
        b"+1",
        b"1_0",
        b" 1 ",
        b"0x1",
    ),
    *("\uff11".encode(), "a\u0301".encode(), "\xe1".encode(), b"true", b"FALSE", b"NA", b"null"),
    *(b"10000-01-01", b"0000-01-01", b"0044-03-15 BC", b"infinity", b"24:00:00", b"2024-02-30"),
    *(b'"', b'a"', b'"a', b"a,b", b"a\nb", b"a\r", b";", b"\t", b"\\", b"'", b"a" * 70_000),
]


def _texts(arrow: pa.DataType) -> Kind:
    columns = ("number", "bounded", "integer", "category", "date", "text")
    return _kind(str(arrow), _octets(arrow, _TEXTS), _octets(arrow, _ODD_TEXTS), *columns)


def _all_kinds() -> Iterator[Kind]:
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        yield _whole(pa.type_for_alias(name))
    for name in ("float16", "float32", "float64"):
        yield _floating(pa.type_for_alias(name))
    for arrow in (
        *(pa.decimal32(9, 2), pa.decimal64(18, 2), pa.decimal128(15, 2), pa.decimal128(38, 10)),
        *(pa.decimal128(38, 0), pa.decimal128(38, 30), pa.decimal256(76, 2), pa.decimal256(76, 0)),
    ):
        yield _decimals(arrow)
    yield _moments(pa.date32())
    yield _moments(pa.date64())
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC", "America/New_York", "+05:30"):
            yield _moments(pa.timestamp(unit, zone))
    for arrow in (pa.string(), pa.large_string(), pa.string_view()):
        yield _texts(arrow)
    truths = pa.array([True, False, True])
    yield _kind("bool", truths, pa.array([None, True]), "number", "integer", "category", "text")
    yield _kind("null", pa.nulls(3), pa.nulls(1), *_COLUMNS)


KINDS = tuple(_all_kinds())


def card_of(column: Column, form: CsvFormat | None = None) -> Card:
    """Return the card of a table that :func:`neighbours` makes."""
    columns = (Column(ROW, "integer", lower=0, upper=10_000), column)
    return Card("neighbours", columns, csv=form or CsvFormat())


def neighbours(
    kind: Kind, odd: int, place: int, encode: Callable[[pa.Array], pa.Array] = lambda array: array
) -> tuple[pa.Table, pa.Table]:
    """Return a table of ordinary records, and the same with one odd record at some place."""
    size = len(kind.ordinary)
    rows = list(range(size))
    parts = [kind.ordinary[:place], kind.odd[odd : odd + 1], kind.ordinary[place:]]
    more = [*rows[:place], _ODD_ROW, *rows[place:]]
    with _storing():
        return (
            pa.table({ROW: rows, "v": encode(kind.ordinary)}),
            pa.table({ROW: more, "v": encode(pa.concat_arrays(parts))}),
        )


def rows_of(dataset: Any) -> dict[int, Any]:
    """Return what was read of the ordinary records: by their numbers, the bits of their values."""
    values = dataset.values("v")
    read = values.view(np.int64) if values.dtype == np.float64 else values
    rows = dataset.values(ROW).astype(int).tolist()
    return {row: value for row, value in zip(rows, read.tolist(), strict=True) if row != _ODD_ROW}


# Encodings of a column


def runs(array: pa.Array) -> pa.Array:
    """One run a value."""
    return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, len(array) + 1), pa.int32()), array)


ENCODINGS: dict[str, Callable[[pa.Array], pa.Array]] = {
    "plain": lambda array: array,
    "dictionary": lambda array: array.dictionary_encode(),
    "runs": runs,
}


# Writers


@contextlib.contextmanager
def _storing() -> Iterator[None]:
    try:
        yield
    except (CannotStore, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - a library in Rust panics beside all exceptions
        raise CannotStore(str(error)) from None


def _in_memory(table: pa.Table, folder: Path) -> object:
    return table


def _without_runs(table: pa.Table) -> pa.Table:
    if types.is_run_end_encoded(table["v"].type):
        raise CannotStore("runs end the process of who makes a frame of them")
    return table


def _pandas(table: pa.Table, folder: Path) -> object:
    with _storing():
        return _without_runs(table).to_pandas()


def _pandas_of_arrow(table: pa.Table, folder: Path) -> object:
    import pandas

    with _storing():
        return _without_runs(table).to_pandas(types_mapper=pandas.ArrowDtype)


def _pandas_objects(table: pa.Table, folder: Path) -> object:
    import pandas

    with _storing():
        # One by one: as a whole, pandas ends the process for some moments.
        objects = pandas.Series(table["v"].to_pylist(), dtype=object)
        return pandas.DataFrame({ROW: table[ROW].to_pylist(), "v": objects})


def _polars(table: pa.Table, folder: Path) -> object:
    import polars

    with _storing():
        table.validate(full=True)  # it takes texts for valid, and knows zones by name alone
        if "+05:30" in str(table.schema) or "decimal256" in str(table.schema):
            raise CannotStore("it ends the process for these")
        return polars.from_arrow(_without_runs(table))


def _parquet(**options: Any) -> Callable[[pa.Table, Path], object]:
    def write(table: pa.Table, folder: Path) -> object:
        with _storing():
            parquet.write_table(table, folder / "table.parquet", **options)
        return folder / "table.parquet"

    return write


def _folder(table: pa.Table, folder: Path) -> object:
    """Two files, in folders whose names say something else of a column."""
    half = table.num_rows // 2
    for number, part in enumerate((table[:half], table[half:])):
        place = folder / "parts" / f"v={number}" / "row=5"
        place.mkdir(parents=True)
        with _storing():
            parquet.write_table(part, place / "part.parquet")
    return folder / "parts"


def _csv(encoding: str) -> Callable[[pa.Table, Path], object]:
    def write(table: pa.Table, folder: Path) -> object:
        octets = [_field(value) for value in _plain(table["v"])]
        lines = [
            b"row,v",
            *(b"%d,%b" % pair for pair in zip(table[ROW].to_pylist(), octets, strict=True)),
        ]
        text = b"\n".join([*lines, b""])
        if encoding != "utf-8":
            with _storing():
                text = text.decode().encode(encoding)
        (folder / "table.csv").write_bytes(text)
        return folder / "table.csv"

    return write


def _field(value: bytes | None) -> bytes:
    if value is None:
        return b""
    return b'"' + value.replace(b'"', b'""') + b'"' if set(value) & set(b'",\r\n') else value


def _plain(column: pa.ChunkedArray) -> list[bytes | None]:
    """Return values as they are written in plain text."""
    array = column.combine_chunks()
    with _storing():
        if types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if not types.is_string_view(array.type):
            array = array.cast(pa.string())
        octets: list[bytes | None] = array.cast(pa.binary()).to_pylist()
        return octets


def _duckdb(table: pa.Table, folder: Path) -> object:
    import duckdb

    with _storing(), duckdb.connect(str(folder / "table.duckdb")) as connection:
        connection.register("given", table)
        connection.execute("CREATE TABLE kept AS SELECT * FROM given")
    return folder / "table.duckdb"


def _sqlite(table: pa.Table, folder: Path) -> object:
    texts = types.is_string(table["v"].type) or types.is_large_string(table["v"].type)
    with _storing():
        values = _plain(table["v"]) if texts else table["v"].to_pylist()
        written = "CAST(? AS TEXT)" if texts else "?"
        with contextlib.closing(sqlite3.connect(folder / "table.db")) as connection, connection:
            # A column that no card names holds what is no text at all.
            connection.execute("CREATE TABLE kept (row, v, other)")
            connection.executemany(
                f"INSERT INTO kept VALUES (?, {written}, CAST(x'ff' AS TEXT))",  # noqa: S608
                list(zip(table[ROW].to_pylist(), values, strict=True)),
            )
    return f"sqlite:///{folder / 'table.db'}::kept"


def _delta(**options: Any) -> Callable[[pa.Table, Path], object]:
    def write(table: pa.Table, folder: Path) -> object:
        import deltalake

        with _storing():
            table["v"].to_pylist()  # what Python cannot say ends the writer's process
            half = table.num_rows // 2
            deltalake.write_deltalake(folder / "lake", table[:half], **options)
            deltalake.write_deltalake(folder / "lake", table[half:], mode="append", **options)
        return folder / "lake"

    return write


def _iceberg(table: pa.Table, folder: Path) -> object:
    from pyiceberg.catalog.sql import SqlCatalog

    with _storing():
        catalog = SqlCatalog("test", uri="sqlite:///:memory:", warehouse=f"file://{folder}")
        try:
            catalog.create_namespace("a")
            stored = catalog.create_table("a.kept", table.schema)
            stored.append(table)
        finally:
            catalog.close()
    return folder / "a" / "kept"


Writer = Callable[[pa.Table, Path], object]
WRITERS: dict[str, Writer] = {
    "arrow": _in_memory,
    "pandas": _pandas,
    "pandas of arrow": _pandas_of_arrow,
    "pandas objects": _pandas_objects,
    "polars": _polars,
    "parquet": _parquet(),
    "parquet, row groups": _parquet(row_group_size=2, use_dictionary=False),
    "parquet, no statistics": _parquet(write_statistics=False),
    "parquet, no arrow schema": _parquet(store_schema=False),
    "parquet, int96": _parquet(use_deprecated_int96_timestamps=True, store_schema=False),
    "parquet, pages": _parquet(data_page_version="2.0", data_page_size=16, compression="zstd"),
    "parquet folder": _folder,
    "csv utf-8": _csv("utf-8"),
    "csv utf-16": _csv("utf-16"),
    "csv latin-1": _csv("latin-1"),
    "csv cp1252": _csv("cp1252"),
    "duckdb": _duckdb,
    "sqlite": _sqlite,
    "delta": _delta(),
    "delta, partitioned": _delta(partition_by=["v"]),
    "iceberg": _iceberg,
}
"""By name, who stores a table in a folder. The CSV ones want a card of that encoding."""


def postgres_writer(url: str) -> Writer:
    """Return a writer to a PostgreSQL server, which keeps what it is given in a table."""

    def write(table: pa.Table, folder: Path) -> object:
        import psycopg

        kinds = [(types.is_floating, "float8"), (types.is_integer, "numeric")]
        kinds += [
            (types.is_decimal, "numeric"),
            (types.is_boolean, "bool"),
            (types.is_date, "date"),
        ]
        arrow = table["v"].type
        kind = next((name for fits, name in kinds if fits(arrow)), "text")
        if types.is_timestamp(arrow):
            kind = "timestamp" if arrow.tz is None else "timestamptz"
        values = _plain(table["v"])
        with _storing(), psycopg.connect(url) as connection:
            connection.execute("DROP TABLE IF EXISTS neighbours")
            connection.execute(f"CREATE TABLE neighbours (row int, v {kind}, other time)")  # type: ignore[arg-type]
            for row, value in zip(table[ROW].to_pylist(), values, strict=True):
                text = None if value is None else value.decode()
                insert = f"INSERT INTO neighbours VALUES (%s, CAST(%s AS {kind}), '24:00')"  # noqa: S608
                connection.execute(insert, (row, text))  # type: ignore[arg-type]
        return f"{url.replace('postgresql://', 'postgresql+psycopg://')}::neighbours"

    return write
