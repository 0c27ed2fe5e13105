"""Reading records from files, frames, Arrow tables and databases, checked against the card.

Each record is kept, mended or left out by looking at that record alone, and of a person with too
many records those are kept that :mod:`whitecrow.data._selection` says, whatever the order of rows.
How many were left out is a fact, for the custodian only; an error an analyst might see speaks of
names and types, never values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.card import Card, Column, CsvFormat, TableChoice
from whitecrow.data._columns import as_read, check_schema, convert, decoded, decoded_type, dtype
from whitecrow.data._csvfile import guessed_schema
from whitecrow.data._dataset import Dataset, Rejections
from whitecrow.data._saved import keep, keepable, kept, state_of
from whitecrow.data._selection import also_selected, exact_ids, selected
from whitecrow.data._sources import Opened, data_file, open_source
from whitecrow.errors import InvalidInput

__all__ = ["bare_card", "drafted_card", "read", "read_and_keep"]

Progress = Callable[[int, int, str], None]


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
        Parquet (``.parquet``, ``.pq``), CSV (``.csv``) or DuckDB (``.duckdb``) by their ending; a
        folder of Parquet files, a Delta or an Iceberg table; any frame that narwhals knows.
    card : Card or path, optional
        Without one, names and types come from the schema, and no bounds are known; the columns of a
        CSV or of a query are text then.
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
    if known is not None and (file := data_file(source)) is not None:
        found = kept(file, known)
        if found is not None:
            return found
    opened = open_source(source, known)
    if watch is not None:
        opened = _watched(opened, watch)
    return _loaded(opened, known or bare_card(opened.schema, opened.name), progress)


def _watched(opened: Opened, watch: Callable[[Any], None]) -> Opened:
    def batches(names: list[str], *how: Any) -> Iterator[Any]:
        for batch in opened.batches(list(opened.schema.names), *how):
            watch(batch)
            yield batch.select(names)

    return replace(opened, batches=batches)


def _loaded(opened: Opened, card: Card, progress: Progress | None) -> Dataset:
    import pyarrow

    check_schema(card, opened.schema)
    loader = _Loader(card)
    _fill(loader, opened, progress)
    # Now that no batch is held, what Arrow keeps for the next ones goes back to the system.
    pyarrow.default_memory_pool().release_unused()
    return loader.finish(origin=opened.name)


def _fill(loader: _Loader, opened: Opened, progress: Progress | None) -> None:
    done = 0
    for batch in opened.batches(list(loader.card.names), loader.leave_out):
        loader.add(batch)
        done += batch.num_rows
        if progress is not None:
            progress(done, max(opened.rows, done), "reading")


def read_and_keep(source: str | Path, card: Card, *, progress: Progress | None = None) -> Dataset:
    """Read a data file anew and keep its checked columns beside it, for the next reading."""
    file = Path(source)
    if not file.exists():
        raise InvalidInput(f"There is no file {str(file)!r}.")
    if not keepable(file):
        raise InvalidInput(
            f"Columns are kept beside CSV and Parquet files; whether {file.name!r} changed since "
            "could not be told at a glance."
        )
    state = state_of(file)
    dataset = _loaded(open_source(file, card), card, progress)
    keep(dataset, file, state)
    return dataset


def bare_card(schema: Any, name: str) -> Card:
    """Make a card from column names and types alone; nothing in it comes from records."""
    columns = tuple(Column(field.name, _kind(field.type), source="schema") for field in schema)
    return Card(name, columns)


def drafted_card(
    source: object, *, csv: CsvFormat | None = None, table: TableChoice | None = None
) -> tuple[Card, bool]:
    """Return a card for a custodian to complete, and whether its types are guesses.

    The types of a CSV are guessed from its first rows: this is for the custodian's eyes, and
    nothing that an analyst sees may rest on it.
    """
    # Of this card no more is looked at than how the source is written.
    how = Card("new", (Column("none"),), csv=csv or CsvFormat(), table=table or TableChoice())
    opened = open_source(source, how)
    file = data_file(source)
    guessed = file is not None and file.suffix.lower() == ".csv"
    schema = guessed_schema(file, how.csv) if guessed and file is not None else opened.schema
    found = bare_card(schema, opened.name)
    return replace(found, csv=how.csv, table=how.table), guessed


def _kind(arrow: Any) -> str:
    from pyarrow import types

    arrow = decoded_type(arrow)
    if types.is_boolean(arrow) or types.is_integer(arrow):
        return "integer"
    if types.is_floating(arrow) or types.is_decimal(arrow):
        return "number"
    if types.is_date(arrow) or types.is_timestamp(arrow):
        return "date"
    return "text"


class _Loader:
    """Collects checked batches; every decision looks at one record alone."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.parts: dict[str, list[npt.NDArray[Any]]] = {c.name: [] for c in card.columns}
        self.left: dict[str, list[npt.NDArray[Any]]] = {c.name: [] for c in card.columns}
        self.ids: list[Any] = []
        self.left_ids: list[Any] = []
        self.reasons: dict[str, int] = {}
        self.mended: dict[str, int] = {}
        self.read = 0

    def leave_out(self) -> None:
        """Count a row that could not be told into columns."""
        self.read += 1
        self._count("wrong number of fields", 1)

    def add(self, batch: Any) -> None:
        keep = np.ones(batch.num_rows, dtype=bool)
        found = {}
        ids = None
        mended: list[tuple[str, npt.NDArray[Any]]] = []
        for place, column in enumerate(self.card.columns):
            array = decoded(batch.column(place))
            notes: dict[str, npt.NDArray[Any]] = {}
            values, bad = convert(array, column, notes)
            mended += [(f"{column.name}: {reason}", mask) for reason, mask in notes.items()]
            if column.name == self.card.user_column:
                ids = exact_ids(array, column)
                bad["names nobody"] = ids.is_null().to_numpy(zero_copy_only=False)
            for reason, mask in bad.items():
                self._count(f"{column.name}: {reason}", int((mask & keep).sum()))
                keep &= ~mask
            found[column.name] = values
        self.read += batch.num_rows
        for reason, mask in mended:
            _add(self.mended, reason, int((mask & keep).sum()))
        whole = bool(keep.all())
        for name, values in found.items():
            self.parts[name].append(values if whole else values[keep])
        if ids is not None:
            self.ids.append(ids if whole else ids.take(np.flatnonzero(keep)))
        if not whole:
            self._set_aside(batch, ids, ~keep)

    def _set_aside(self, batch: Any, ids: Any, wrong: npt.NDArray[np.bool_]) -> None:
        """Keep what can be read of records that are left out, for what describes a table."""
        if ids is not None:
            wrong = wrong & ids.is_valid().to_numpy(zero_copy_only=False)
            self.left_ids.append(ids.take(np.flatnonzero(wrong)))
        rows = np.flatnonzero(wrong)
        for place, column in enumerate(self.card.columns):
            self.left[column.name].append(as_read(decoded(batch.column(place)).take(rows), column))

    def _count(self, reason: str, records: int) -> None:
        _add(self.reasons, reason, records)

    def finish(self, *, origin: str) -> Dataset:
        # One column after the other, so that the data are not held twice.
        columns = {
            c.name: np.concatenate(self.parts.pop(c.name) or [np.empty(0, dtype(c))])
            for c in self.card.columns
        }
        left = {name: np.concatenate(parts) for name, parts in self.left.items() if parts}
        if self.ids:
            columns, left = self._bound_contributions(columns, left)
        kept = len(next(iter(columns.values())))
        self.card.check_size(kept)
        rejections = Rejections(self.read, kept, dict(self.reasons), dict(self.mended))
        return Dataset(self.card, columns, rejections=rejections, left_out=left, origin=origin)

    def _bound_contributions(
        self, columns: dict[str, npt.NDArray[Any]], left: dict[str, npt.NDArray[Any]]
    ) -> tuple[dict[str, npt.NDArray[Any]], dict[str, npt.NDArray[Any]]]:
        import pyarrow

        ids = pyarrow.concat_arrays(self.ids)
        keep = selected(self.card, ids, columns)
        self._count("over the contribution bound", int((~keep).sum()))
        if left:
            theirs = pyarrow.concat_arrays(self.left_ids)
            also = also_selected(self.card, ids.filter(pyarrow.array(keep)), theirs, left)
            left = {name: values[also] for name, values in left.items()}
        return {name: values[keep] for name, values in columns.items()}, left


def _add(counted: dict[str, int], reason: str, records: int) -> None:
    if records:
        counted[reason] = counted.get(reason, 0) + records
