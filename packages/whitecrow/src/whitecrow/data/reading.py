"""Reading records from files, frames, Arrow tables and databases, checked against the card.

Each record is kept, mended or left out by looking at that record alone, and of a person with too
many records those are kept that :mod:`whitecrow.data.columns` says, whatever the order of rows.
How many were left out is a fact, for the custodian only; an error an analyst might see speaks of
names and types, never values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow._arrays import Array
from whitecrow.card import Card, Column, CsvFormat, TableChoice
from whitecrow.data._csvfile import guessed_schema
from whitecrow.data.columns import Decoded, also_selected, check_schema, dtype, selected
from whitecrow.data.dataset import Dataset, Rejections
from whitecrow.data.opened import Opened
from whitecrow.data.sources import csv_format, data_file, open_source
from whitecrow.data.values import decoded_type
from whitecrow.errors import InvalidInput

Progress = Callable[[int, int, str], None]
Columns = dict[str, Array]


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
    import pyarrow

    given = Card.load(card) if isinstance(card, str | Path) else card
    opened, given = open_checked(source, given, watch)
    loader = Loader(given)
    for batch in stored_batches(opened, loader, progress):
        loader.add(batch)
    # Now that no batch is held, what Arrow keeps for the next ones goes back to the system.
    pyarrow.default_memory_pool().release_unused()
    columns, left = loader.take()
    rejections = loader.rejections(len(next(iter(columns.values()))))
    dataset = Dataset(given, columns, rejections=rejections, left_out=left, origin=opened.name)
    given.check_size(dataset.count(()))
    return dataset


def open_checked(
    source: object, card: Card | None, watch: Callable[[Any], None] | None = None
) -> tuple[Opened, Card]:
    """Open a source and see that it can be read as its card says; see :func:`read`."""
    opened = open_source(source, card)
    checked = card or replace(bare_card(opened.schema, opened.name), csv=csv_format(source))
    check_schema(checked, opened.schema)
    return opened if watch is None else _watched(opened, watch), checked


def _watched(opened: Opened, watch: Callable[[Any], None]) -> Opened:
    def batches(names: list[str], *how: Any) -> Iterator[Any]:
        for batch in opened.batches(list(opened.schema.names), *how):
            watch(batch)
            yield batch.select(names)

    return replace(opened, batches=batches)


def stored_batches(opened: Opened, loader: Loader, progress: Progress | None) -> Iterator[Any]:
    """Yield the card's columns of a source as they are stored; tell how far it is."""
    done = 0
    for batch in opened.batches(list(loader.card.names), loader.leave_out):
        yield batch
        done += batch.num_rows
        if progress is not None:
            progress(done, max(opened.rows, done), "reading")


def bare_card(schema: Any, name: str) -> Card:
    """Make a card from column names and types alone; nothing in it comes from records.

    A column without a name is not on it.
    """
    named = [field for field in schema if field.name.strip()]
    twice = [field.name for field in named if len(schema.get_all_field_indices(field.name)) > 1]
    if twice:
        raise InvalidInput(
            f"The data have more than one column {twice[0]!r}. Give each a name of its own."
        )
    if not named:
        raise InvalidInput("The data have no column with a name.")
    return Card(name, tuple(Column(each.name, _kind(each.type), source="schema") for each in named))


def schema_card(source: object, how: Card | None = None) -> Card:
    """Return the card that a source's schema alone makes: names, and types where it has them.

    How it is written is what the card ``how`` says, of which no more is looked at, or its header.
    """
    opened = open_source(source, how)
    card = bare_card(opened.schema, opened.name)
    how = how or replace(card, csv=csv_format(source))
    return replace(card, csv=how.csv, table=how.table)


def drafted_card(
    source: object, *, csv: CsvFormat | None = None, table: TableChoice | None = None
) -> tuple[Card, bool]:
    """Return a card for a custodian to complete, and whether its types are guesses.

    The types of a CSV are guessed from its first rows: this is for the custodian's eyes, and
    nothing that an analyst sees may rest on it.
    """
    # Of this card no more is looked at than how the source is written.
    form = csv or csv_format(source)
    how = Card("new", (Column("none"),), csv=form, table=table or TableChoice())
    opened = open_source(source, how)
    file = data_file(source)
    guessed = file is not None and file.suffix.lower() in (".csv", ".tsv")
    schema = guessed_schema(file, how.csv) if guessed and file is not None else opened.schema
    card = bare_card(schema, opened.name)
    return replace(card, csv=how.csv, table=how.table), guessed


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


class Loader:
    """Collects the canonical columns of batches; every decision looks at one record alone."""

    def __init__(self, card: Card) -> None:
        self.card = card
        self.rows_read = 0
        self._reasons: Counter[str] = Counter()
        self._mended: Counter[str] = Counter()
        self._clear()

    def _clear(self) -> None:
        self._kept: dict[str, list[Array]] = {name: [] for name in self.card.names}
        self._left: dict[str, list[Array]] = {name: [] for name in self.card.names}
        self._kept_ids: list[Any] = []
        self._left_ids: list[Any] = []
        self.waiting = 0
        """Records that were added and not yet taken."""

    def leave_out(self) -> None:
        """Count a row that could not be told into columns."""
        self.rows_read += 1
        self._reasons["wrong number of fields"] += 1

    def add(self, batch: Any) -> None:
        """Decode a batch of the card's columns, in the card's order."""
        decoded = Decoded(batch, self.card)
        self.rows_read += decoded.size
        self.waiting += decoded.size
        for reason, mask in decoded.wrong_first():
            self._reasons[reason] += int(mask.sum())
        for reason, mask in decoded.mended:
            self._mended[reason] += int((mask & decoded.keep).sum())
        for name, parts in self._kept.items():
            parts.append(decoded.kept(name))
        rows = np.flatnonzero(~decoded.keep)
        if decoded.ids is not None:
            self._kept_ids.append(decoded.ids.take(np.flatnonzero(decoded.keep)))
            # A record that names nobody counts nowhere.
            rows = rows[decoded.ids.take(rows).is_valid().to_numpy(zero_copy_only=False)]
            self._left_ids.append(decoded.ids.take(rows))
        if len(rows):
            for name, parts in self._left.items():
                parts.append(decoded.left(name, rows))

    def take(self) -> tuple[Columns, Columns]:
        """Return what was added since the last time: records that pass the card, and others.

        Of a person at most as many records as the card allows, so all of a person's records have to
        be added before.
        """
        # One column after the other, so that the data are not held twice.
        kept = {
            column.name: np.concatenate([np.empty(0, dtype(column)), *self._kept.pop(column.name)])
            for column in self.card.columns
        }
        left = {name: np.concatenate(parts) for name, parts in self._left.items() if parts}
        if self._kept_ids:
            kept, left = self._bound_contributions(kept, left)
        self._clear()
        return kept, left

    def rejections(self, kept: int) -> Rejections:
        """Return what became of the rows, of which so many were kept."""
        return Rejections(self.rows_read, kept, dict(+self._reasons), dict(+self._mended))

    def _bound_contributions(self, kept: Columns, left: Columns) -> tuple[Columns, Columns]:
        import pyarrow

        ids = pyarrow.concat_arrays(self._kept_ids)
        keep = selected(self.card, ids, kept)
        self._reasons["over the contribution bound"] += int((~keep).sum())
        if left:
            theirs = pyarrow.concat_arrays(self._left_ids)
            also = also_selected(self.card, ids.filter(pyarrow.array(keep)), theirs, left)
            left = {name: values[also] for name, values in left.items()}
        return {name: values[keep] for name, values in kept.items()}, left


# Whom to tell how far a long computation is, for code that is far from who asked

_LISTENER: ContextVar[Progress | None] = ContextVar("whitecrow progress", default=None)


@contextmanager
def reporting(progress: Progress | None) -> Iterator[None]:
    """Let everything that is called from here report to ``progress``."""
    token = _LISTENER.set(progress)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def listener() -> Progress | None:
    return _LISTENER.get()
