"""Records that an analyst asks about, from a file: read as the data's own records are read.

The file is the analyst's, not the data: its rows are as public as a question is. What the card
says of a column (a fill, a clip, the categories) holds for them as it does for the records of the
data, so that a member's row asks about the record that the data hold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from whitecrow.card import Card, Column, date_text
from whitecrow.data.columns import Decoded, check_schema
from whitecrow.data.sources import open_source
from whitecrow.data.values import decoded, plain_text, text_array
from whitecrow.errors import InvalidInput

_LINES = (".jsonl", ".ndjson")
_SHOWN = 5


@dataclass(frozen=True)
class Asked:
    """Records to ask about."""

    keys: list[Any]  # what each row is called: its value of the key column, or its number from 1
    # Each as a question takes it; None for a row that the card cannot read.
    records: list[dict[str, Any] | None]
    columns: list[str]  # the columns that the records have

    @property
    def left_out(self) -> list[Any]:
        """The keys of rows that cannot be asked about."""
        return [key for key, record in zip(self.keys, self.records, strict=True) if record is None]


def read_asked(
    source: object,
    card: Card,
    *,
    key: str | None = None,
    columns: Sequence[str] | None = None,
    leave_out: bool = False,
) -> Asked:
    """Read records from CSV, Parquet or JSON lines, or from a frame.

    The column ``key`` names a row and is not compared; without one rows are numbered from 1. The
    records have the given columns, by default all of the file but the key. Rows with a missing or
    unreadable value are refused, unless they are to be left out.
    """
    file = Path(source) if isinstance(source, str | Path) else Path("the frame")
    if isinstance(source, str | Path) and not file.is_file():
        raise InvalidInput(f"There is no file {str(file)!r} with records.")
    if file.suffix.lower() in _LINES:
        table: Any = _from_lines(file)
    else:
        table = open_source(file if isinstance(source, str | Path) else source)
    names = list(table.schema.names)
    if key is not None and key not in names:
        raise InvalidInput(f"The file {file.name!r} has no column {key!r} to be the key.")
    wanted = [name for name in names if name != key] if columns is None else list(columns)
    _check_names(file, names, wanted, card)
    asked = Card("asked", tuple(map(card.column, wanted)))
    check_schema(asked, table.schema)
    keys: list[Any] = []
    records: list[dict[str, Any] | None] = []
    why: list[str] = []

    def refuse() -> None:
        raise InvalidInput(f"A row of {file.name!r} has more or fewer fields than its heading.")

    named = [] if key is None else [key]
    for batch in table.batches([*named, *wanted], refuse):
        compared = batch.select(range(len(named), batch.num_columns))
        read, reasons = _read(compared, asked, len(keys))
        if key is None:
            keys += range(len(keys) + 1, len(keys) + batch.num_rows + 1)
        else:
            try:
                keys += decoded(batch.column(0)).to_pylist()
            except (ValueError, OverflowError):
                raise InvalidInput(
                    f"The key {key!r} holds what is no name; make it text."
                ) from None
        records += read
        why += reasons
    if not records:
        raise InvalidInput(f"The file {file.name!r} has no rows to ask about.")
    if why and not leave_out:
        raise InvalidInput(
            f"{len(why)} of {len(records)} rows of {file.name!r} cannot be asked about: "
            f"{'; '.join(why[:_SHOWN])}{'; ...' if len(why) > _SHOWN else ''}. Mend them, or leave "
            "them out (--leave-out). Nothing was asked."
        )
    if key is not None and len(set(map(str, keys))) < len(keys):
        raise InvalidInput(f"The key {key!r} names more than one row alike; name another.")
    return Asked(keys, records, wanted)


def _check_names(file: Path, names: list[str], wanted: list[str], card: Card) -> None:
    for name in wanted:
        if name not in names:
            raise InvalidInput(f"The file {file.name!r} has no column {name!r}.")
    unknown = [name for name in wanted if name not in card.names]
    if unknown:
        raise InvalidInput(
            f"The card does not list {', '.join(map(repr, unknown[:_SHOWN]))} of {file.name!r}. "
            "Name the key of the rows (--key) and the columns to ask about (--only)."
        )
    if not wanted:
        raise InvalidInput(f"The file {file.name!r} has no column to ask about.")


def _read(batch: Any, card: Card, before: int) -> tuple[list[dict[str, Any] | None], list[str]]:
    """The records of a batch, None for those that cannot be read, and why."""
    checked = Decoded(batch, card)
    why = {
        row: f"row {before + row + 1}, {reason}"
        for reason, mask in checked.wrong_first()
        for row in np.flatnonzero(mask).tolist()
    }
    values = [map(_writer(column), checked.kept(column.name)) for column in card.columns]
    readable = (dict(zip(card.names, record, strict=True)) for record in zip(*values, strict=True))
    rows = [next(readable) if whole else None for whole in checked.keep]
    return rows, [why[row] for row in sorted(why)]


def _writer(column: Column) -> Callable[[Any], Any]:
    """From the values that the data hold to those that a question takes."""
    if column.type == "category":
        categories = column.categories or ()
        return lambda code: categories[int(code)]
    if column.type == "date":
        return date_text
    if column.type == "text":
        return str
    return int if column.type == "integer" else float


def _from_lines(file: Path) -> Any:
    """Read one JSON object a line; every value as text, to be read as the card says."""
    import pyarrow

    try:
        lines = file.read_text(encoding="utf-8").split("\n")
        rows = [json.loads(line) for line in lines if line.strip()]
    except (ValueError, UnicodeDecodeError):
        rows = [None]
    if not all(isinstance(row, dict) for row in rows):
        raise InvalidInput(f"The file {file.name!r} must hold one JSON object on each line.")
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = [[plain_text(row.get(name)) for row in rows] for name in names]
    return open_source(pyarrow.table(list(map(text_array, columns)), names=names))
