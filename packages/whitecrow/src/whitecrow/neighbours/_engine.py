"""What an engine must offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from whitecrow._arrays import Floats, Ints
from whitecrow.neighbours.relation import NeighbourRelation


class LocalRecords(Protocol):
    """The little that an engine in this process asks of records at hand."""

    def matrix(self, columns: Sequence[str]) -> Floats:
        """Return the columns as a C-contiguous matrix of doubles, one row a record."""

    def rows(self, columns: Sequence[str], rows: Ints) -> Floats:
        """Return some rows of the columns."""


@runtime_checkable
class Engine(Protocol):
    """Computes facts about neighbourhoods; every engine returns the same integers.

    The numbers are private facts: they go to a mechanism and nowhere else.
    """

    def neighbours(
        self, records: ArrayLike, neighbour_relation: NeighbourRelation, cap: int | None = None
    ) -> Ints:
        """Return min(number of data records close to it, cap) for each record of a batch."""

    def copies(
        self, records: ArrayLike, neighbour_relation: NeighbourRelation, cap: int | None = None
    ) -> Ints:
        """Return min(number of data records at the same place, cap) for each record.

        The same place: within radius 0 by the metric, whatever the relation's radius.
        """

    def degrees(self, neighbour_relation: NeighbourRelation, cap: int | None = None) -> Ints:
        """Return min(number of close records, itself included, cap) for each data record."""

    def sparse(self, neighbour_relation: NeighbourRelation, cap: int) -> tuple[Floats, Ints]:
        """Return the records with fewer than ``cap`` close ones, itself included, and how many.

        Few of many, as a rule: what counting outliers needs. They come in no order.
        """


def sparse_rows(
    records: LocalRecords, neighbour_relation: NeighbourRelation, degrees: Ints, cap: int
) -> tuple[Floats, Ints]:
    """Return what :meth:`Engine.sparse` does, from the degrees of records that are at hand."""
    below = np.flatnonzero(degrees < cap)
    return records.rows(neighbour_relation.columns, below), degrees[below]
