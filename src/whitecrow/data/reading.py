"""Reading records from files, frames, Arrow tables and databases, checked against the card.

Each record is kept, mended or left out by looking at that record alone, so that adding or removing
one person's record changes the loaded data by at most that record. How many were left out is a
fact, for the custodian only; an error an analyst might see speaks of names and types, never values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.data.card import Card, Column
from whitecrow.data.dataset import Dataset, Rejections
from whitecrow.data.saved import keep, kept, state_of
from whitecrow.errors import InvalidInput, Unavailable

__all__ = ["SqlQuery", "bare_card", "read", "read_and_keep"]

Progress = Callable[[int, int, str], None]

_BATCH = 262_144
_MISSING, _OUTSIDE, _CATEGORY = (
    "missing or of the wrong type",
    "outside the bounds",
    "not a category",
)


@dataclass(frozen=True)
class SqlQuery:
    """Records that a database holds: a SQLAlchemy URL and a query.

    On the terminal the same is written ``URL::SELECT ...``.
    """

    url: str
    query: str


def read(
    source: object,
    card: Card | str | Path | None = None,
    *,
    progress: Progress | None = None,
    watch: Callable[[Any], None] | None = None,
) -> Dataset:
    """Read records and check them against the card.

    Parameters
    ----------
    source : path, data frame, Arrow table, SqlQuery, or text ``URL::SELECT ...``
        Parquet (``.parquet``, ``.pq``) or CSV (``.csv``) by their ending; any frame that narwhals
        knows.
    card : Card or path, optional
        Without one, names and types come from the schema, and no bounds are known.
    progress : callable, optional
        Called as ``progress(done, total, what)``; sees the number of rows read, so it is for the
        custodian's screen only.
    watch : callable, optional
        Shown every batch of rows as it is read, before the card's checks and with all columns.

    Examples
    --------
    >>> import pyarrow
    >>> card = Card("toy", (Column("age", lower=0, upper=120),))
    >>> read(pyarrow.table({"age": [30.0, None, 500.0]}), card).size
    1
    """
    known = Card.load(card) if isinstance(card, str | Path) else card
    if known is not None and (file := _data_file(source)) is not None:
        found = kept(file, known)
        if found is not None:
            return found
    opened = _open(source)
    if watch is not None:
        opened = _watched(opened, watch)
    return _loaded(opened, known or bare_card(opened.schema, opened.name), progress)


def _watched(opened: _Opened, watch: Callable[[Any], None]) -> _Opened:
    def batches(names: list[str], *how: Any) -> Iterator[Any]:
        for batch in opened.batches(list(opened.schema.names), *how):
            watch(batch)
            yield batch.select(names)

    return replace(opened, batches=batches)


def _loaded(opened: _Opened, card: Card, progress: Progress | None) -> Dataset:
    _check_schema(card, opened.schema)
    loader = _Loader(card)
    done = 0
    for batch in opened.batches(list(card.names)):
        loader.add(batch)
        done += batch.num_rows
        if progress is not None:
            progress(done, max(opened.rows, done), "reading")
    return loader.finish(origin=opened.name)


def read_and_keep(source: str | Path, card: Card, *, progress: Progress | None = None) -> Dataset:
    """Read a data file anew and keep its checked columns beside it, for the next reading."""
    file = Path(source)
    if not file.exists():
        raise InvalidInput(f"There is no file {str(file)!r}.")
    state = state_of(file)
    dataset = _loaded(_open(file), card, progress)
    keep(dataset, file, state)
    return dataset


def bare_card(schema: Any, name: str) -> Card:
    """Make a card from column names and types alone; nothing in it comes from records."""
    columns = tuple(Column(field.name, _kind(field.type), source="schema") for field in schema)
    return Card(name, columns)


def schema_of(source: object) -> tuple[str, Any]:
    """Return a name and the Arrow schema of a source (CSV: types inferred from its start)."""
    opened = _open(source)
    return opened.name, opened.schema


@dataclass(frozen=True)
class _Opened:
    name: str
    schema: Any
    rows: int
    batches: Callable[[list[str]], Iterator[Any]]


def _data_file(source: object) -> Path | None:
    """Return the file that a source names; None for a query or a frame."""
    if isinstance(source, str) and "::" in source and "://" in source:
        return None
    return Path(source) if isinstance(source, str | Path) else None


def _open(source: object) -> _Opened:
    if isinstance(source, SqlQuery):
        return _open_sql(source)
    file = _data_file(source)
    if file is not None:
        return _open_file(file)
    if isinstance(source, str):
        url, _, query = source.partition("::")
        return _open_sql(SqlQuery(url, query))
    return _open_frame(source)


def _open_file(path: Path) -> _Opened:
    if not path.exists():
        raise InvalidInput(f"There is no file {str(path)!r}.")
    ending = path.suffix.lower()
    if ending in (".parquet", ".pq"):
        return _open_parquet(path)
    if ending == ".csv":
        return _open_csv(path)
    raise InvalidInput(
        f"The file {path.name!r} ends in {ending!r}; whitecrow reads .parquet, .pq and .csv."
    )


def _open_parquet(path: Path) -> _Opened:
    import pyarrow
    from pyarrow import parquet

    try:
        file = parquet.ParquetFile(path)
    except (pyarrow.ArrowInvalid, OSError):
        raise InvalidInput(f"The file {path.name!r} is not readable Parquet.") from None

    def batches(names: list[str]) -> Iterator[Any]:
        yield from file.iter_batches(batch_size=_BATCH, columns=names)

    return _Opened(path.stem, file.schema_arrow, file.metadata.num_rows, batches)


def _open_csv(path: Path) -> _Opened:
    import pyarrow
    from pyarrow import csv

    try:
        with csv.open_csv(path) as start:
            schema = start.schema
    except pyarrow.ArrowInvalid:
        raise InvalidInput(f"The file {path.name!r} is not readable CSV with a header.") from None

    def batches(names: list[str]) -> Iterator[Any]:
        # Text first: a type inferred from the values would make the treatment of one record
        # depend on the others.
        convert = csv.ConvertOptions(
            column_types=dict.fromkeys(names, pyarrow.string()),
            include_columns=names,
            strings_can_be_null=True,
        )
        try:
            with csv.open_csv(path, convert_options=convert) as reader:
                yield from reader
        except pyarrow.ArrowInvalid:
            raise InvalidInput(f"The file {path.name!r} has rows of different lengths.") from None

    return _Opened(path.stem, schema, 0, batches)


def _open_frame(source: object) -> _Opened:
    import narwhals.stable.v2 as nw
    import pyarrow

    if isinstance(source, pyarrow.Table):
        table = source
    else:
        try:
            frame = nw.from_native(source)  # type: ignore[call-overload]
        except TypeError:
            raise InvalidInput(
                f"A source must be a path, a data frame, an Arrow table or a SqlQuery. "
                f"Got {type(source).__name__} instead."
            ) from None
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect("pyarrow")
        table = frame.to_arrow()

    def batches(names: list[str]) -> Iterator[Any]:
        yield from table.select(names).to_batches(max_chunksize=_BATCH)

    return _Opened("frame", table.schema, table.num_rows, batches)


def _open_sql(source: SqlQuery) -> _Opened:
    import pyarrow
    import sqlalchemy

    try:
        engine = sqlalchemy.create_engine(source.url)
    except ModuleNotFoundError as error:
        raise Unavailable(f"Reading this database needs the module {error.name}.") from None
    except sqlalchemy.exc.ArgumentError:
        raise InvalidInput("The database address is not a SQLAlchemy URL.") from None

    def rows() -> Iterator[tuple[list[str], list[Any]]]:
        try:
            with engine.connect().execution_options(yield_per=_BATCH) as connection:
                result = connection.execute(sqlalchemy.text(source.query))
                names = list(result.keys())
                yield names, []
                for part in result.partitions():
                    yield names, list(part)
        except sqlalchemy.exc.SQLAlchemyError:
            # The driver's own text may quote values; say only what failed.
            raise Unavailable("The database did not answer the query.") from None

    names = next(rows())[0]
    schema = pyarrow.schema([(name, pyarrow.null()) for name in names])

    def batches(wanted: list[str]) -> Iterator[Any]:
        places = [names.index(name) for name in wanted]
        for _, part in rows():
            if part:
                arrays = [pyarrow.array([_plain(row[i]) for row in part]) for i in places]
                yield pyarrow.record_batch(arrays, names=wanted)

    return _Opened("query", schema, 0, batches)


def _plain(value: Any) -> str | None:
    """Write a database value as text, so that each is read by the card alone (as in CSV)."""
    return None if value is None else str(value)


def _kind(arrow: Any) -> str:
    from pyarrow import types

    if types.is_boolean(arrow) or types.is_integer(arrow):
        return "integer"
    if types.is_floating(arrow) or types.is_decimal(arrow):
        return "number"
    if types.is_date(arrow) or types.is_timestamp(arrow):
        return "date"
    return "text"


def _check_schema(card: Card, schema: Any) -> None:
    from pyarrow import types

    present = set(schema.names)
    for column in card.columns:
        if column.name not in present:
            raise InvalidInput(
                f"The card lists the column {column.name!r}, which the data do not have."
            )
        arrow = schema.field(column.name).type
        unreadable = types.is_nested(arrow) or types.is_binary(arrow)
        if column.numeric:
            unreadable = unreadable or types.is_temporal(arrow)
        if unreadable or (column.type == "date" and types.is_floating(arrow)):
            raise InvalidInput(
                f"The column {column.name!r} holds {arrow} in the data, which cannot be read as "
                f"the card's {column.type!r}."
            )


class _Loader:
    """Collects checked batches; every decision looks at one record alone."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.parts: dict[str, list[npt.NDArray[Any]]] = {c.name: [] for c in card.columns}
        self.reasons: dict[str, int] = {}
        self.read = 0

    def add(self, batch: Any) -> None:
        keep = np.ones(batch.num_rows, dtype=bool)
        found = {}
        for place, column in enumerate(self.card.columns):
            values, bad = _convert(batch.column(place), column)
            for reason, mask in bad.items():
                fresh = mask & keep
                if fresh.any():
                    key = f"{column.name}: {reason}"
                    self.reasons[key] = self.reasons.get(key, 0) + int(fresh.sum())
                keep &= ~mask
            found[column.name] = values
        self.read += batch.num_rows
        whole = bool(keep.all())
        for name, values in found.items():
            self.parts[name].append(values if whole else values[keep])

    def finish(self, *, origin: str) -> Dataset:
        columns = {
            c.name: np.concatenate(self.parts[c.name])
            if self.parts[c.name]
            else np.empty(0, _dtype(c))
            for c in self.card.columns
        }
        if self.card.user_column is not None:
            columns = self._bound_contributions(columns, self.card.user_column)
        kept = len(next(iter(columns.values())))
        if self.card.size is not None and kept > self.card.size:
            raise InvalidInput(
                "The data hold more records than the size on the card. Guarantees that rest on a "
                "public size would be wrong: write the true size, or leave it out."
            )
        rejections = Rejections(self.read, kept, dict(self.reasons))
        return Dataset(self.card, columns, rejections=rejections, origin=origin)

    def _bound_contributions(
        self, columns: dict[str, npt.NDArray[Any]], user: str
    ) -> dict[str, npt.NDArray[Any]]:
        """Keep each person's first records up to the bound: a function of that person alone."""
        _, codes = np.unique(columns[user].astype(str), return_inverse=True)
        order = np.argsort(codes, kind="stable")
        ranked = codes[order]
        starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]]) if len(ranked) else ranked
        rank = np.arange(len(ranked)) - np.repeat(starts, np.diff(np.r_[starts, len(ranked)]))
        keep = np.ones(len(codes), dtype=bool)
        keep[order] = rank < self.card.contribution
        over = int((~keep).sum())
        if over:
            self.reasons["over the contribution bound"] = over
        return {name: values[keep] for name, values in columns.items()}


def _dtype(column: Column) -> Any:
    if column.type in ("number", "integer"):
        return np.float64
    return object if column.type == "text" else np.int64


def _convert(array: Any, column: Column) -> tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]:
    """Return the values of a column and, by reason, which of its records are to be left out."""
    if column.type == "text":
        import pyarrow

        values = array.cast(pyarrow.string()).to_numpy(zero_copy_only=False)
        return _mend_missing(values, values == np.array(None), column)
    if column.type == "category":
        return _convert_category(array, column)
    values = _days(array) if column.type == "date" else _numbers(array)
    missing = np.isnan(values)
    if column.type == "integer":
        missing |= np.isfinite(values) & (values != np.floor(values))
    values, bad = _mend_missing(values, missing, column)
    if column.bounded:
        outside = (values < column.lower) | (values > column.upper)
        if column.outside == "clip":
            values = np.clip(values, column.lower, column.upper)
            outside = np.zeros(len(values), dtype=bool)
    else:
        outside = np.isinf(values)
    bad[_OUTSIDE] = outside
    if column.type == "date":
        values = np.where(np.isfinite(values), values, 0).astype(np.int64)
    return values, bad


def _mend_missing(
    values: npt.NDArray[Any], missing: npt.NDArray[Any], column: Column
) -> tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]:
    if column.missing == "fill":
        values = np.where(missing, column.fill, values)  # type: ignore[arg-type]
        missing = np.zeros(len(values), dtype=bool)
    return values, {_MISSING: missing}


def _convert_category(
    array: Any, column: Column
) -> tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]:
    import pyarrow
    from pyarrow import compute, types

    if types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if types.is_floating(array.type):
        # 2004.0 and 2004 are one category: whole floats are written without their point.
        whole = [None if v is None or v != v else f"{v:.15g}" for v in array.to_pylist()]
        texts = pyarrow.array(whole, pyarrow.string())
    else:
        texts = array.cast(pyarrow.string())
    found = compute.index_in(texts, value_set=pyarrow.array(column.categories, pyarrow.string()))
    missing = texts.is_null().to_numpy(zero_copy_only=False)
    codes = found.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    if column.missing == "fill":
        assert column.categories is not None
        codes = np.where(missing, column.categories.index(str(column.fill)), codes)
        missing = np.zeros(len(codes), dtype=bool)
    return codes, {_MISSING: missing, _CATEGORY: (codes < 0) & ~missing}


def _numbers(array: Any) -> npt.NDArray[np.float64]:
    import pyarrow
    from pyarrow import types

    if (
        types.is_string(array.type)
        or types.is_large_string(array.type)
        or types.is_null(array.type)
    ):
        try:
            array = array.cast(pyarrow.float64())
        except pyarrow.ArrowInvalid:
            array = pyarrow.array([_number_or_none(text) for text in array.to_pylist()])
    doubles = array.type == pyarrow.float64()
    numbers = array if doubles else array.cast(pyarrow.float64(), safe=False)
    if numbers.null_count:
        numbers = numbers.fill_null(float("nan"))
    # Not pyarrow's to_numpy, which imports pandas (half a second) where that is installed.
    return np.asarray(np.from_dlpack(numbers), dtype=np.float64)


def _number_or_none(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _days(array: Any) -> npt.NDArray[np.float64]:
    """Return days since 1970-01-01, NaN where there is none."""
    import datetime

    import pyarrow
    from pyarrow import types

    if (
        types.is_string(array.type)
        or types.is_large_string(array.type)
        or types.is_null(array.type)
    ):
        days = []
        for text in array.to_pylist():
            try:
                days.append(None if text is None else datetime.date.fromisoformat(text[:10]))
            except ValueError:
                days.append(None)
        array = pyarrow.array(days, pyarrow.date32())
    if types.is_timestamp(array.type):
        array = array.cast(pyarrow.timestamp("us", tz=array.type.tz), safe=False)
    if types.is_integer(array.type):
        numbers = array
    else:
        numbers = array.cast(pyarrow.date32(), safe=False).cast(pyarrow.int32())
    return np.asarray(
        numbers.cast(pyarrow.float64()).to_numpy(zero_copy_only=False), dtype=np.float64
    )
