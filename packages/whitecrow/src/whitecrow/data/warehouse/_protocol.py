"""What a warehouse is: it keeps canonical columns that memory would not hold, and works on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]
Work = Callable[[Iterator[Matrix]], Iterator[Matrix]]
"""A part of a computation: takes the records of a partition in batches, yields rows of doubles.

It is a picklable object, and what all partitions yield together must not depend on how the records
are divided among them.
"""

BATCH = 131_072
"""Records that travel together."""


class Rows(Protocol):
    """Some records as canonical columns: just decoded, or stored and read again."""

    def matrix(self, columns: tuple[str, ...], checked: tuple[str, ...]) -> Matrix:
        """Return columns, side by side, of the records that pass the card by those checked."""

    def every_matrix(self, columns: tuple[str, ...]) -> Matrix:
        """Return columns of numbers or dates of all records; NaN is a missing value."""

    def every_text(self, name: str) -> Counter[str | None]:
        """Count all records by a column of categories or texts; None is a missing value."""


@dataclass(frozen=True, repr=False)
class Asked:
    """Which columns of which records a work is to be given."""

    columns: tuple[str, ...]  # the columns, as doubles
    checked: tuple[str, ...] = ()  # the columns by which the card leaves records out
    every: bool = False  # whether columns are wanted as they were read, NaN where missing
    # Takes rows, returns a whole number for each: rows of one number are worked on together, and
    # those of a negative one are not needed. For warehouses that move records between workers.
    groups: Callable[[Matrix], npt.NDArray[np.int64]] | None = None

    def of(self, rows: Iterable[Rows]) -> Iterator[Matrix]:
        """Yield what is asked, of some records after others; nothing where there is none."""
        for some in rows:
            values = (
                some.every_matrix(self.columns)
                if self.every
                else some.matrix(self.columns, self.checked)
            )
            if len(values):
                yield values


@dataclass(frozen=True)
class Yields:
    """What a work yields."""

    width: int  # how many columns
    # Whether they are two, a place and a number, of which only the sum for each place matters.
    totals: bool = False
    # Where several processes work, at most so many totals come back, whichever they are.
    most: int | None = None


class Warehouse(Protocol):
    """Keeps canonical columns; parts of computations go to them, small results come back.

    Attributes
    ----------
    name : str
        What the data are called, in words.
    spread : bool
        Whether work runs in several processes at once, each of which should use one core.
    rows_stored : int or None
        How many rows the source has, where that is known without reading them.
    """

    name: str
    spread: bool

    @property
    def rows_stored(self) -> int | None:
        """How many rows the source has, where that is known without reading them."""

    def work(self, asked: Asked, work: Work, yields: Yields) -> Iterator[Matrix]:
        """Do the work where the records are, on each partition of them."""

    def texts(self, column: str) -> Counter[str | None]:
        """Count all records by a column of categories or texts; None is a missing value."""

    def peek(self, asked: Asked, number: int) -> Matrix | None:
        """Return about so many records if they can be read here at once, the best of it."""

    def close(self) -> None:
        """Let go of the records."""


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
