"""Records to be scored: what is read from a frame or a file, and the rules for what does not fit.

* a column of the detector that the records lack: refused; other columns are not looked at;
* a number outside the card's bounds, or infinite: in the outermost cell, so never less strange;
* a category the card does not list: taken as the least common one;
* a missing value, or one of the wrong type: the card's ``fill``, or a value of its own where the
  card says so; else the score is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from whitecrow.card import Card
from whitecrow.data.columns import check_schema, convert
from whitecrow.data.sources import open_source
from whitecrow.data.values import decoded
from whitecrow.declaration import as_mapping
from whitecrow.detector.arithmetic import Flags, Floats
from whitecrow.errors import InvalidInput

Progress = Callable[[int, int, str], None]


def batches(
    data: object,
    card: Card,
    rarest: Mapping[str, int],
    progress: Progress | None = None,
    keep: Sequence[str] = (),
) -> Iterator[tuple[Floats, Flags, Any]]:
    """Yield records as the detector's coordinates want them, which can be scored, and their batch.

    A mapping is one record; an array has the card's columns in their order. ``rarest`` is the code
    of each category column's least common value; the batch has the columns to ``keep`` after the
    card's.
    """
    opened = open_source(_framed(data, card))
    check_schema(card, opened.schema)
    names = [*card.names, *(name for name in keep if name not in card.names)]
    for name in names:
        if name not in opened.schema.names:
            raise InvalidInput(f"The records have no column {name!r} to keep.")
    done = 0
    for batch in opened.batches(names, _refuse_row):
        # Each column lies together, as scoring goes through them.
        rows = np.empty((len(card.columns), batch.num_rows)).T
        whole = np.ones(batch.num_rows, dtype=bool)
        for index, column in enumerate(card.columns):
            values, bad = convert(decoded(batch.column(index)), column)
            missing = next(iter(bad.values()))
            if column.type == "category":
                values = np.where(values < 0, rarest[column.name], values)
            rows[:, index] = values
            whole &= ~missing
        yield rows, whole, batch
        done += batch.num_rows
        if progress is not None:
            progress(done, max(opened.rows, done), "scoring")


def _refuse_row() -> None:
    raise InvalidInput(
        "A row of the file does not have as many fields as its heading, so the rows of scores "
        "would not be those of the file. Mend the file."
    )


def _framed(data: object, card: Card) -> Any:
    import pyarrow

    if getattr(data, "ndim", 2) == 1:  # a row of pandas
        data = as_mapping(data)
    if isinstance(data, Mapping):
        if any(isinstance(value, list | tuple | np.ndarray) for value in data.values()):
            return pyarrow.table(dict(data))
        for name in card.names:
            if name not in data:
                raise InvalidInput(f"The record lacks the column {name!r} of the detector.")
        data = [data]
    if isinstance(data, list) and all(isinstance(item, Mapping) for item in data):
        return pyarrow.table({name: [item.get(name) for item in data] for name in card.names})
    if isinstance(data, np.ndarray):
        if data.ndim != 2 or data.shape[1] != len(card.columns):
            raise InvalidInput(
                f"An array of records must have the detector's {len(card.columns)} columns "
                f"({', '.join(card.names[:5])}{', ...' if len(card.columns) > 5 else ''}); "
                f"got the shape {data.shape}."
            )
        return pyarrow.table(
            {name: np.ascontiguousarray(data[:, index]) for index, name in enumerate(card.names)}
        )
    return data


def one_record(record: Any) -> Mapping[str, Any]:
    """Return a record as a mapping: one itself, a row of pandas, or a frame of one row."""
    values = as_mapping(record)
    if isinstance(values, Mapping):
        return values
    raise InvalidInput(
        "A record is a mapping of columns to values, a row of pandas, or a frame of one row. "
        f"Got {type(record).__name__} instead."
    )


def like(data: Any, table: Any, rows: Sequence[int] | None = None) -> Any:
    """Return a table as the kind of frame that the data are; Arrow where they are none.

    It has the index of pandas; that of some ``rows`` where it is about these only.
    """
    import narwhals.stable.v2 as nw
    import pyarrow

    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) or isinstance(data, pyarrow.Table):
        return table
    framed = nw.from_arrow(table, backend=frame.implementation).to_native()
    if frame.implementation.is_pandas():
        framed.index = data.index if rows is None else data.index[list(rows)]
    return framed


def as_table(rows: Floats, card: Card) -> Any:
    """Return synthetic records as an Arrow table with the card's types, marked by a column."""
    import pyarrow

    table: dict[str, Any] = {}
    for column, drawn in zip(card.columns, rows.T, strict=True):
        missing = drawn == column.absent
        values = np.where(missing, 0.0, drawn)
        if column.type == "category":
            names = np.array([*(column.categories or ()), None], dtype=object)
            chosen = np.where(missing, len(names) - 1, values).astype(np.int64)
            table[column.name] = pyarrow.array(names[chosen].tolist(), pyarrow.string())
        elif column.type == "date":
            days = pyarrow.array(values.astype(np.int32), pyarrow.int32(), mask=missing)
            table[column.name] = days.cast(pyarrow.date32())
        elif column.type == "integer":
            table[column.name] = pyarrow.array(values.astype(np.int64), mask=missing)
        else:
            table[column.name] = pyarrow.array(values, mask=missing)
    return pyarrow.table({**table, "synthetic": np.ones(len(rows), dtype=bool)})
