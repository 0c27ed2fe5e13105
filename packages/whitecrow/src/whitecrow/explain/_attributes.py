"""The public values of an attribute: categories, whole numbers, or intervals from the card."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow.data import Card, Column
from whitecrow.data.keys import Cut, Key, Plain
from whitecrow.errors import InvalidInput

_MOST_WHOLE = 64

Label = str | int


@dataclass(frozen=True)
class Attribute:
    """One attribute of contexts and every value it may take, whether or not it occurs.

    Examples
    --------
    >>> from whitecrow.data import Card, Column
    >>> card = Card("toy", (Column("age", "integer", lower=18, upper=95, edges=(40, 65)),))
    >>> Attribute.of("age", card).labels
    ('[18, 40)', '[40, 65)', '[65, 95]')
    """

    name: str  # the column
    # How each value is written: a category, a whole number, or an interval such as "[18, 40)".
    labels: tuple[Label, ...]
    # For intervals, the cuts between them; interval ``j`` is ``edges[j-1] <= x < edges[j]``.
    edges: tuple[float, ...] = ()
    # For intervals, the card's bounds (for words; records outside them are not loaded).
    bounds: tuple[float, float] | None = None
    lowest: int | None = None  # for whole numbers, the first

    @classmethod
    def of(cls, name: str, card: Card) -> Attribute:
        column = card.column(name)
        if column.type == "category":
            return cls(name, tuple(column.categories or ()))
        if column.numeric and column.edges is not None:
            return cls._of_edges(column)
        lower, upper = column.lower, column.upper
        if column.type == "integer" and lower is not None and upper is not None:
            first, last = math.ceil(lower), math.floor(upper)
            if last - first < _MOST_WHOLE:
                return cls(name, tuple(range(first, last + 1)), lowest=first)
        need = {
            "text": 'List its values on the card as type = "category".',
            "date": "Dates cannot be attributes; add a column with the year or month.",
        }.get(column.type, "Give 'edges' on the card: public cuts that make intervals of it.")
        raise InvalidInput(f"The column {name!r} cannot be an attribute of contexts. {need}")

    @classmethod
    def _of_edges(cls, column: Column) -> Attribute:
        edges = column.edges or ()
        if column.lower is None or column.upper is None:
            return cls(column.name, _intervals(edges, None), edges)
        bounds = (float(column.lower), float(column.upper))
        inner = tuple(edge for edge in edges if bounds[0] < edge <= bounds[1])
        return cls(column.name, _intervals(inner, bounds), inner, bounds)

    @property
    def size(self) -> int:
        return len(self.labels)

    @property
    def categorical(self) -> bool:
        """Whether values are texts from the card's list."""
        return self.lowest is None and not self.intervals

    @property
    def intervals(self) -> bool:
        return bool(self.edges) or self.bounds is not None

    @property
    def key(self) -> Key:
        """What records are grouped by to count the attribute's values."""
        return Cut(self.name, self.edges) if self.intervals else Plain(self.name)

    def places(self, keys: NDArray[Any]) -> NDArray[np.int64]:
        """Return the place of each key among the labels."""
        return keys.astype(np.int64) - (self.lowest or 0)

    def codes(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return the place of each stored value of the column among the labels."""
        return self.places(self.key.of(values))

    def code(self, value: object) -> int:
        """Return the place of one value as a person writes it."""
        if self.categorical:
            for written in (str(value), _whole(value)):
                if written in self.labels:
                    return self.labels.index(written)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            if self.lowest is not None and float(value).is_integer() and value in self.labels:
                return self.labels.index(int(value))
            low, high = self.bounds or (-math.inf, math.inf)
            if self.intervals and low <= value <= high:
                return int(self.codes(np.array([float(value)]))[0])
        raise self._unknown(value)

    def label_code(self, value: object) -> int:
        """Return the place of a label: an interval is written like its label or by a number."""
        if self.intervals and value in self.labels:
            return self.labels.index(value)
        return self.code(value)

    def _unknown(self, value: object) -> InvalidInput:
        shown = ", ".join(str(label) for label in self.labels[:8])
        more = f" and {self.size - 8} more" if self.size > 8 else ""
        return InvalidInput(
            f"The attribute {self.name!r} has no value {value!r}; the card knows {shown}{more}."
        )

    def words(self, chosen: Sequence[int]) -> str:
        """Say a set of values, in the card's order."""
        if len(chosen) == self.size:
            return f"any {self.name}"
        return f"{self.name} in {{{', '.join(str(self.labels[code]) for code in chosen)}}}"

    def where(self, chosen: Sequence[int]) -> str:
        """Write a set of values as an SQL condition; empty if it restricts nothing."""
        if len(chosen) == self.size:
            return ""
        column = '"' + self.name.replace('"', '""') + '"'
        if self.intervals:
            parts = [self._interval_where(column, code) for code in chosen]
            return parts[0] if len(parts) == 1 else f"({' OR '.join(parts)})"
        values = (_literal(self.labels[code]) for code in chosen)
        return f"{column} IN ({', '.join(values)})"

    def _interval_where(self, column: str, code: int) -> str:
        parts = []
        if code > 0:
            parts.append(f"{column} >= {self.edges[code - 1]:.17g}")
        if code < len(self.edges):
            parts.append(f"{column} < {self.edges[code]:.17g}")
        return f"({' AND '.join(parts)})"


def _intervals(edges: Sequence[float], bounds: tuple[float, float] | None) -> tuple[str, ...]:
    low, high = bounds or (-math.inf, math.inf)
    cuts = [low, *edges, high]
    last = len(cuts) - 2
    return tuple(
        f"{'(' if cuts[j] == -math.inf else '['}{cuts[j]:.17g}, {cuts[j + 1]:.17g}"
        f"{']' if j == last and high < math.inf else ')'}"
        for j in range(last + 1)
    )


def _whole(value: object) -> str:
    """Write 2004.0 as the card writes its category 2004."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _literal(label: Label) -> str:
    return str(label) if isinstance(label, int) else "'" + label.replace("'", "''") + "'"
