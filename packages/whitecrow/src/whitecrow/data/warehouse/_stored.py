"""Canonical columns as bytes: of a block of records, each column apart."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.card import Card, Column
from whitecrow.data.warehouse._protocol import BATCH, Matrix


@dataclass(frozen=True, repr=False)
class Stored:
    """A block of records of one kind: such as pass the card, or such as it leaves out.

    Parameters
    ----------
    card : Card
        The public facts.
    kept : bool
        Whether these records pass the card.
    size : int
        How many there are.
    octets : callable
        Takes the place of a column on the card, returns its bytes.
    """

    card: Card
    kept: bool
    size: int
    octets: Callable[[int], bytes]

    def matrix(self, columns: Sequence[str]) -> Matrix:
        """Return columns of the records that pass the card, side by side."""
        return self.every_matrix(columns) if self.kept else np.empty((0, len(columns)))

    def every_matrix(self, columns: Sequence[str]) -> Matrix:
        """Return columns of numbers or dates of all records; NaN is a missing value."""
        values = np.empty((self.size, len(columns)))
        for place, name in enumerate(columns):
            values[:, place] = self._values(name)
        return values

    def every_text(self, name: str) -> Counter[str | None]:
        """Count all records by a column of categories or texts; None is a missing value."""
        values, categories = self._values(name).tolist(), self.card.column(name).categories
        if self.kept and categories is not None:
            values = [categories[int(code)] for code in values]
        return Counter(values)

    def _values(self, name: str) -> npt.NDArray[Any]:
        place = self.card.names.index(name)
        octets = self.octets(place)
        if _is_text(self.card.columns[place], kept=self.kept):
            return np.array(json.loads(octets), dtype=object)
        return np.frombuffer(octets)


def blocks(
    card: Card, kept: dict[str, npt.NDArray[Any]], left: dict[str, npt.NDArray[Any]]
) -> Iterator[tuple[bool, int, list[bytes]]]:
    """Divide canonical columns into blocks: whether they pass the card, how many, and the bytes.

    Parameters
    ----------
    card : Card
    kept, left : dict of str to array
        Records that pass the card, and what can be read of others; empty where there are none.
    """
    for passes, columns in ((True, kept), (False, left)):
        size = len(next(iter(columns.values()))) if columns else 0
        for first in range(0, size, BATCH):
            part = [columns[name][first : first + BATCH] for name in card.names]
            packed = [
                _packed(values, text=_is_text(column, kept=passes))
                for column, values in zip(card.columns, part, strict=True)
            ]
            yield passes, len(part[0]), packed


def _is_text(column: Column, *, kept: bool) -> bool:
    """Whether a column is stored as texts: a category that is none of the card's has no code."""
    return column.type == "text" or (column.type == "category" and not kept)


def _packed(values: npt.NDArray[Any], *, text: bool) -> bytes:
    return json.dumps(values.tolist()).encode() if text else values.astype(np.float64).tobytes()
