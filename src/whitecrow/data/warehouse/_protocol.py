"""What a warehouse is: a place that keeps the records and answers queries about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from whitecrow.data._dialect import Dialect, Query

__all__ = [
    "BATCH",
    "InOneProcess",
    "Matrix",
    "Warehouse",
    "Work",
    "Yields",
    "doubles",
    "gathered",
]

Matrix = npt.NDArray[np.float64]
Work = Callable[[Iterator[Matrix]], Iterator[Matrix]]
"""A part of a computation: takes the records of a partition in batches, yields rows of doubles.

It is a picklable object, and what all partitions yield together must not depend on how the records
are divided among them.
"""

BATCH = 131_072
"""Records that travel together."""


@dataclass(frozen=True)
class Yields:
    """What a work yields.

    Parameters
    ----------
    width : int
        How many columns.
    totals : bool
        Whether they are two, a place and a number, of which only the sum for each place matters.
    most : int, optional
        Where several processes work, at most so many totals come back, whichever they are.
    """

    width: int
    totals: bool = False
    most: int | None = None


class Warehouse(Protocol):
    """Holds the records; queries and parts of computations go to it, small results come back.

    Attributes
    ----------
    dialect : Dialect
        How it writes SQL.
    name : str
        What the data are called, in words.
    source : str
        What to write after FROM for the records as they are stored.
    spread : bool
        Whether work runs in several processes at once, each of which should use one core.
    """

    dialect: Dialect
    name: str
    source: str
    spread: bool

    def schema(self) -> Any:
        """Return the Arrow schema of the stored records."""

    def number(self, query: Query) -> int:
        """Return how many rows a result has."""

    def stored(self, query: Query) -> int | None:
        """Return how many rows the cards' checks may leave of it, if that is known unread."""

    def glance(self, query: Query, number: int) -> Matrix | None:
        """Return about so many records if they can be read here at once, the best of it."""

    def rows(self, query: Query, width: int) -> Matrix:
        """Return a result of ``width`` columns, all doubles; it is held in memory."""

    def texts(self, query: Query) -> list[tuple[str | None, int]]:
        """Return a result of two columns: a text, and a whole number as a double."""

    def work(self, query: Query, work: Work, yields: Yields) -> Iterator[Matrix]:
        """Do the work where the records are, on each partition of a result of doubles."""

    def close(self) -> None:
        """Let go of connections."""


class InOneProcess:
    """What warehouses have alike whose results come here, batch by batch, to be worked on."""

    dialect: Dialect
    spread = False

    def _batches(self, query: Query) -> Iterator[Matrix]:
        """Yield a result; all its columns are doubles."""
        raise NotImplementedError

    def number(self, query: Query) -> int:
        """Return how many rows a result has."""
        return int(self.rows(query.number(self.dialect), 1)[0, 0])

    def stored(self, query: Query) -> int | None:
        """Return None: how many there are is not known without counting."""
        return None

    def glance(self, query: Query, number: int) -> Matrix | None:
        """Return None: its own sampling is quick."""
        return None

    def rows(self, query: Query, width: int) -> Matrix:
        """Return a result of ``width`` columns, all doubles."""
        return np.concatenate([np.empty((0, width)), *self._batches(query)])

    def work(self, query: Query, work: Work, yields: Yields) -> Iterator[Matrix]:
        """Do the work here, on batches as they arrive."""
        yield from work(self._batches(query))


def doubles(batch: Any) -> Matrix:
    """Return an Arrow batch or table of doubles without nulls as a row-major matrix."""
    found = np.empty((batch.num_rows, batch.num_columns))
    for place, column in enumerate(batch.columns):
        first = 0
        for chunk in getattr(column, "chunks", [column]):
            # Not pyarrow's to_numpy, which imports pandas where that is installed.
            found[first : first + len(chunk), place] = np.from_dlpack(chunk)
            first += len(chunk)
    return found


def gathered(batches: Iterator[Matrix], records: int) -> Iterator[Matrix]:
    """Join small batches to some of at least so many records, but for the last."""
    waiting: list[Matrix] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= records:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)
