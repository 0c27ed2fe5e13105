"""A dataset that stays where it is: the card's checks and all counting go to the warehouse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from whitecrow.card import Card
from whitecrow.data._dataset import Rejections
from whitecrow.data._dialect import Query
from whitecrow.data._keys import Key
from whitecrow.data.warehouse._checks import checked, every, is_float
from whitecrow.data.warehouse._files import Reading
from whitecrow.data.warehouse._protocol import Warehouse
from whitecrow.errors import InvalidInput, RecordsElsewhere

__all__ = ["RemoteDataset"]


class RemoteDataset:
    """Private records in a warehouse, beside their public card.

    It has the methods of :class:`whitecrow.data.Dataset` that need no copy of the records.

    Parameters
    ----------
    card : Card
        The public facts.
    warehouse : Warehouse
        Where the records are.
    """

    def __init__(self, card: Card, warehouse: Warehouse) -> None:
        self.card = card
        self.warehouse = warehouse
        self.origin = warehouse.name
        self._checked = checked(card, warehouse.schema(), warehouse.source, warehouse.dialect)
        self._size: int | None = None
        if card.most_records is not None:
            card.check_size(self.size)

    def __repr__(self) -> str:
        return f"<RemoteDataset {self.card.name!r}: {len(self.card.columns)} columns, elsewhere>"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError("a dataset is never pickled: it leads to private records")

    @property
    def size(self) -> int:
        """The number of records that pass the card. A fact, unless the card says it is public."""
        if self._size is None:
            self._size = self.warehouse.number(self._read((), self._checked))
        return self._size

    def remember_size(self, size: int) -> None:
        """Take note of the size that another reading of all records has found."""
        self._size = size

    @property
    def size_known(self) -> bool:
        """Whether the size needs no reading."""
        return self._size is not None

    @property
    def rejections(self) -> Rejections:
        """How many records the card leaves out; without the reasons, which are not counted."""
        every = Query(f"SELECT * FROM {self.warehouse.source}")  # noqa: S608 - no text from outside
        return Rejections(self.warehouse.number(every), self.size, {})

    def records(self, columns: Sequence[str]) -> Query:
        """Return a query for the checked records: the columns as doubles ``x0``, ``x1``, ..."""
        listed = ", ".join(f"x{place}" for place in range(len(columns)))
        return self._read(columns, f"SELECT {listed} FROM {self.relation(columns)} kept")  # noqa: S608 - as above

    def relation(self, columns: Sequence[str]) -> str:
        """Return a subquery of the checked records: the columns as doubles ``x0``, ``x1``, ..."""
        chosen = ", ".join(
            f"{self._expression(name)} AS x{place}" for place, name in enumerate(columns)
        )
        return f"(SELECT {chosen} FROM ({self._checked}) kept)"  # noqa: S608 - no text from outside

    def every_relation(self, columns: Sequence[str]) -> str:
        """Return a subquery of all records: numbers or days ``x0``, ...; NaN where missing."""
        chosen = ", ".join(
            f"e{self.card.names.index(name)} AS x{place}" for place, name in enumerate(columns)
        )
        return f"(SELECT {chosen} FROM ({self._every()}) read_rows)"  # noqa: S608 - as above

    def every_text(self, column: str) -> dict[str | None, int]:
        """Count all records by a column of categories or texts; None is a missing value."""
        dialect = self.warehouse.dialect
        value = f"e{self.card.names.index(column)}"
        query = Query(
            f"SELECT {value}, {dialect.to_double('COUNT(*)')} AS records FROM "  # noqa: S608 - as above
            f"({self._every()}) read_rows GROUP BY {value}"
        )
        if not is_float(self.card.column(column), self.warehouse.schema()):
            return dict(self.warehouse.texts(query))
        mended = self.card.column(column)
        fill = str(mended.fill) if mended.missing == "fill" else None
        counts: dict[str | None, int] = {}
        for number, records in self.warehouse.rows(query, 2).tolist():
            text = fill if math.isnan(number) else f"{number:.15g}"
            counts[text] = counts.get(text, 0) + int(records)
        return counts

    def _read(self, columns: Sequence[str], text: str) -> Query:
        # Which of a person's records count is not to be seen from one record.
        by_itself = self.card.user_column is None
        return Query(text, reading=Reading(self.card, tuple(columns)) if by_itself else None)

    def _every(self) -> str:
        warehouse = self.warehouse
        return every(self.card, warehouse.schema(), warehouse.source, warehouse.dialect)

    def tally(
        self, keys: Sequence[Key]
    ) -> tuple[tuple[npt.NDArray[np.float64], ...], npt.NDArray[np.int64]]:
        """Group the records by keys where they are; return the groups and their sizes."""
        dialect = self.warehouse.dialect
        names = [f"k{place}" for place in range(len(keys))]
        chosen = ", ".join(
            f"{key.sql(self._expression(key.column), dialect)} AS {name}"
            for key, name in zip(keys, names, strict=True)
        )
        listed = ", ".join(names)
        found = self.warehouse.rows(
            Query(
                f"SELECT {listed}, {dialect.to_double('COUNT(*)')} AS records FROM "  # noqa: S608 - as above
                f"(SELECT {chosen} FROM ({self._checked}) kept) keyed GROUP BY {listed}"
            ),
            len(keys) + 1,
        )
        columns = tuple(np.ascontiguousarray(column) for column in found.T)
        return columns[:-1], columns[-1].astype(np.int64)

    def values(self, column: str) -> NoReturn:
        """Refuse: a whole column would be copied here."""
        raise _elsewhere(column)

    def matrix(self, columns: Sequence[str]) -> NoReturn:
        """Refuse: whole columns would be copied here."""
        raise _elsewhere(", ".join(columns))

    def mark(self) -> str:
        """Return what the stored records are recognised by, see :mod:`whitecrow.data._marks`.

        The sums are taken modulo 2^48, which a double holds exactly.
        """
        dialect = self.warehouse.dialect
        sums = ", ".join(
            dialect.to_double(f"COALESCE(MOD(SUM({dialect.row_hash.format(lane)}), {1 << 48}), 0)")
            + f" AS s{lane}"
            for lane in (1, 2)
        )
        found = self.warehouse.rows(
            Query(
                f"SELECT {dialect.to_double('COUNT(*)')} AS records, {sums} FROM "  # noqa: S608 - no text from outside
                f"(SELECT * FROM {self.warehouse.source}) r"
            ),
            3,
        )[0]
        return f"{dialect.name}:" + ":".join(str(int(number)) for number in found)

    def close(self) -> None:
        """Let go of the warehouse."""
        self.warehouse.close()

    def _expression(self, column: str) -> str:
        if self.card.column(column).type == "text":
            raise InvalidInput(f"The column {column!r} is text; distances need numbers.")
        return f"c{self.card.names.index(column)}"


def _elsewhere(columns: str) -> RecordsElsewhere:
    return RecordsElsewhere(
        f"This needs a copy of the column {columns}, and these records stay where they are. "
        "Use engine='local' for it."
    )
