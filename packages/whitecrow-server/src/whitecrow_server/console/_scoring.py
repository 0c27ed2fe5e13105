"""Records dropped on a page, and their scores: the detector is public, and nothing is kept."""

from __future__ import annotations

import csv
import io
from typing import Any

from whitecrow.detector import Detector
from whitecrow.detector.top_outliers import Strangest
from whitecrow.errors import InvalidInput

MOST_ROWS = 20_000
_SHOWN = 100


def scored(detector: Detector, text: str) -> tuple[Strangest, list[str]]:
    """Score the records of a CSV text; return the strangest, and for each its telling values.

    Raises
    ------
    InvalidInput
        It is no CSV with a heading, has too many rows, or lacks a column of the detector.
    """
    table = _table(text)
    found = detector.strangest(table, top=_SHOWN)
    values = [
        ", ".join(f"{name} = {table[name][one.row - 1].as_py()}" for name, _ in one.reasons)
        for one in found.rows
    ]
    return found, [words or "no column alone" for words in values]


def _table(text: str) -> Any:
    """Read CSV with a heading; every value is text, and empty ones are missing."""
    import pyarrow

    try:
        heading, *rows = csv.reader(io.StringIO(text.strip()), strict=True)
    except (csv.Error, ValueError):
        raise InvalidInput("The text is no CSV: a heading, then one line a record.") from None
    if len(set(heading)) < len(heading):
        raise InvalidInput("The heading names a column twice.")
    if len(rows) > MOST_ROWS:
        raise InvalidInput(
            f"There are {len(rows):,} records; a page scores {MOST_ROWS:,} at the most. "
            "Download the detector and use `whitecrow score` for more."
        )
    if any(len(row) != len(heading) for row in rows):
        raise InvalidInput("A line does not have as many fields as the heading.")
    columns = zip(*rows, strict=True) if rows else [()] * len(heading)
    return pyarrow.table(
        {
            name: pyarrow.array([value or None for value in column], pyarrow.string())
            for name, column in zip(heading, columns, strict=True)
        }
    )
