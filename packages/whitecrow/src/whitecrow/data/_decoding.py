"""Canonical columns: what a record is, on every engine.

A batch as a source stores it becomes canonical columns here, and nowhere else: float64 without NaN
and without -0.0 for numbers and integers, codes in the card's order for categories, days since
1970-01-01 for dates, texts. Each record is kept, mended or left out by looking at that record and
the card alone. Every engine counts canonical columns: in memory, in a folder of files, or in the
workers of a cluster, which run this code. So no dialect, statistic, zone or collation decides what
a record is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.card import Card, Column
from whitecrow.data._selection import exact_ids
from whitecrow.data.columns import as_read, convert, decoded

Matrix = npt.NDArray[np.float64]


class Decoded:
    """One batch of records, decoded and checked.

    Parameters
    ----------
    batch : Arrow record batch
        The card's columns as stored, in the card's order.
    card : Card
        The public facts.

    Attributes
    ----------
    columns : dict of str to array
        The canonical values of each column; of no meaning where the record is left out.
    keep : bool array
        Which records pass the card.
    whole : bool
        Whether all of them do.
    passes : dict of str to bool array
        Which records pass by each column alone.
    wrong, mended : list of (str, bool array)
        By reason, which records are to be left out, and which values were filled or moved.
    ids : Arrow array of text or None
        Whose each record is, where the unit of privacy is a person.
    """

    def __init__(self, batch: Any, card: Card) -> None:
        self.card = card
        self.size: int = batch.num_rows
        self.keep = np.ones(self.size, dtype=bool)
        self.columns: dict[str, npt.NDArray[Any]] = {}
        self.passes: dict[str, npt.NDArray[np.bool_]] = {}
        self.wrong: list[tuple[str, npt.NDArray[np.bool_]]] = []
        self.mended: list[tuple[str, npt.NDArray[np.bool_]]] = []
        self.ids: Any = None
        self._arrays = [decoded(batch.column(place)) for place in range(len(card.columns))]
        for column, array in zip(card.columns, self._arrays, strict=True):
            notes: dict[str, npt.NDArray[Any]] = {}
            values, bad = convert(array, column, notes)
            self.mended += [(f"{column.name}: {reason}", mask) for reason, mask in notes.items()]
            if column.name == card.user_column:
                self.ids = exact_ids(array, column)
                bad["names nobody"] = self.ids.is_null().to_numpy(zero_copy_only=False)
            self.wrong += [(f"{column.name}: {reason}", mask) for reason, mask in bad.items()]
            self.passes[column.name] = ~np.logical_or.reduce(list(bad.values()))
            self.keep &= self.passes[column.name]
            self.columns[column.name] = values
        self.whole = bool(self.keep.all())

    def wrong_first(self) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
        """Yield the records that are left out, each by its first reason."""
        still = np.ones(self.size, dtype=bool)
        for reason, mask in self.wrong:
            yield reason, mask & still
            still &= ~mask

    def kept(self, name: str) -> npt.NDArray[Any]:
        """Return a column of the records that pass the card."""
        values = self.columns[name]
        return values if self.whole else values[self.keep]

    def left(self, name: str, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return what can be read of a column of records that are left out."""
        place = self.card.names.index(name)
        return as_read(self._arrays[place].take(rows), self.card.columns[place])

    def matrix(self, columns: Sequence[str], checked: Sequence[str]) -> Matrix:
        passing = [self.passes[name] for name in checked]
        rows = slice(None) if self.whole or not passing else np.logical_and.reduce(passing)
        found = np.empty((self.size, len(columns)))[rows]
        for place, name in enumerate(columns):
            found[:, place] = self.columns[name][rows]
        return found

    def every_matrix(self, columns: Sequence[str]) -> Matrix:
        rows = np.flatnonzero(~self.keep)
        found = np.empty((self.size, len(columns)))
        for place, name in enumerate(columns):
            found[: self.size - len(rows), place] = self.kept(name)
            found[self.size - len(rows) :, place] = self.left(name, rows)
        return found

    def every_text(self, name: str) -> Counter[str | None]:
        column, rows = self.card.column(name), np.flatnonzero(~self.keep)
        counts: Counter[str | None] = Counter(_texts(self.kept(name), column))
        counts.update(self.left(name, rows).tolist())
        return counts


def _texts(values: npt.NDArray[Any], column: Column) -> list[str]:
    """Return canonical values of a category or text column as texts."""
    if column.categories is None:
        return list(values.tolist())
    return [column.categories[int(code)] for code in values.tolist()]
