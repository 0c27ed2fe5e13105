"""Records dropped on a page, and their scores: the detector is public, and nothing is kept."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from whitecrow.detector import Detector
from whitecrow.errors import InvalidInput

__all__ = ["Scored", "scored"]

MOST_ROWS = 20_000
_SHOWN = 100
_REASONS = 3


@dataclass(frozen=True)
class Scored:
    """What a page shows of scored records.

    Parameters
    ----------
    records, unscored : int
        How many there were, and how many of them have a missing value that the card does not fill.
    limit : float or None
        The first threshold that was bought.
    outliers : int
        How many scores are above it.
    rows : list of (int, float, bool, str)
        The strangest: number in the file (the first is 1), score, above the limit, reasons.
    """

    records: int
    unscored: int
    limit: float | None
    outliers: int
    rows: list[tuple[int, float, bool, str]]


def scored(detector: Detector, text: str) -> Scored:
    """Score the records of a CSV text.

    Raises
    ------
    InvalidInput
        It is no CSV with a heading, has too many rows, or lacks a column of the detector.
    """
    table = _table(text)
    parts = list(detector.scored(table, reasons=True))
    scores = np.concatenate([part["score"].to_numpy() for part in parts] or [np.empty(0)])
    added = np.concatenate(
        [
            np.stack([part[f"adds {name}"].to_numpy() for name in detector.columns], axis=1)
            for part in parts
        ]
        or [np.empty((0, len(detector.columns)))]
    )
    limit = next((one.score for one in detector.thresholds if one.score is not None), None)
    known = np.flatnonzero(~np.isnan(scores))
    order = known[np.argsort(-scores[known], kind="stable")][:_SHOWN]
    values = table.to_pydict()
    rows = [
        (
            int(row) + 1,
            float(scores[row]),
            limit is not None and bool(scores[row] > limit),
            _reasons(detector, added[row], {name: values[name][row] for name in detector.columns}),
        )
        for row in order
    ]
    above = 0 if limit is None else int((scores[known] > limit).sum())
    return Scored(len(scores), len(scores) - len(known), limit, above, rows)


def _reasons(detector: Detector, added: Any, record: dict[str, Any]) -> str:
    best = np.argsort(-added, kind="stable")[:_REASONS]
    named = [
        f"{detector.columns[place]} = {record[detector.columns[place]]}"
        for place in best
        if added[place] > 0
    ]
    return ", ".join(named) or "no column alone"


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
