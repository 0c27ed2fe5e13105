"""Contexts: sets of attribute values that always contain the record's own; the metric in steps.

A context is a whole number whose bits are the *free* values, one for each attribute value that is
not the record's own (docs/mechanisms.md 4.2: only these may be flipped). 0 is the record's own
values and nothing else; all ones is the whole data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow.data import Card
from whitecrow.data.dataset import Cut, Key, Plain, Rounded
from whitecrow.errors import InvalidInput, invalid

_MOST_WHOLE = 64

MOST_BITS = 4096
"""The most free bits any search takes."""

Label = str | int


@dataclass(frozen=True)
class Attribute:
    """One attribute of contexts and every value it may take, whether or not it occurs."""

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
        lower, upper = column.lower, column.upper
        if column.type == "category":
            return cls(name, tuple(column.categories or ()))
        if column.numeric and column.edges is not None:
            if lower is None or upper is None:
                return cls(name, _intervals(column.edges, None), column.edges)
            bounds = (float(lower), float(upper))
            inner = tuple(edge for edge in column.edges if bounds[0] < edge <= bounds[1])
            return cls(name, _intervals(inner, bounds), inner, bounds)
        if column.type == "integer" and lower is not None and upper is not None:
            first, last = math.ceil(lower), math.floor(upper)
            if last - first < _MOST_WHOLE:
                return cls(name, tuple(range(first, last + 1)), lowest=first)
        need = {
            "text": 'List its values on the card as type = "category".',
            "date": "Dates cannot be attributes; add a column with the year or month.",
        }.get(column.type, "Give 'edges' on the card: public cuts that make intervals of it.")
        raise InvalidInput(f"The column {name!r} cannot be an attribute of contexts. {need}")

    @property
    def size(self) -> int:
        return len(self.labels)

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
        if self.lowest is None and not self.intervals:  # texts from the card's list
            for text in (str(value), _whole(value)):
                if text in self.labels:
                    return self.labels.index(text)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            if self.lowest is not None and float(value).is_integer() and value in self.labels:
                return self.labels.index(int(value))
            low, high = self.bounds or (-math.inf, math.inf)
            if self.intervals and low <= value <= high:
                return int(self.codes(np.array([float(value)]))[0])
        shown = ", ".join(str(label) for label in self.labels[:8])
        more = f" and {self.size - 8} more" if self.size > 8 else ""
        raise InvalidInput(
            f"The attribute {self.name!r} has no value {value!r}; the card knows {shown}{more}."
        )

    def label_code(self, value: object) -> int:
        """Return the place of a label: an interval is written like its label or by a number."""
        if self.intervals and value in self.labels:
            return self.labels.index(value)
        return self.code(value)

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
        labels = (self.labels[code] for code in chosen)
        texts = (x if isinstance(x, int) else "'" + x.replace("'", "''") + "'" for x in labels)
        return f"{column} IN ({', '.join(map(str, texts))})"

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


@dataclass(frozen=True)
class Space:
    """All contexts of one record: attributes, and which values are the record's own."""

    attributes: tuple[Attribute, ...]  # smallest first; the first holds the highest bits
    own: tuple[int, ...]  # the record's value of each attribute

    @classmethod
    def of(cls, names: Sequence[str], record: Mapping[str, Any], card: Card) -> Space:
        """Read attributes from the card and the record's own values from the record."""
        attributes = sorted(
            (Attribute.of(name, card) for name in names), key=lambda a: (a.size, a.name)
        )
        own = tuple(attribute.code(record[attribute.name]) for attribute in attributes)
        space = cls(tuple(attributes), own)
        if space.bits > MOST_BITS:
            must = f"attributes with at most {MOST_BITS} values beside the record's own"
            hint = "Group the values on the card, or leave an attribute out."
            raise invalid("Explain", "attributes", must, space.bits, hint)
        return space

    @cached_property
    def bits(self) -> int:
        """The number of free bits; there are ``2**bits`` contexts."""
        return sum(attribute.size - 1 for attribute in self.attributes)

    @cached_property
    def shifts(self) -> tuple[int, ...]:
        """Where the bits of each attribute begin."""
        shifts, shift = [], self.bits
        for attribute in self.attributes:
            shift -= attribute.size - 1
            shifts.append(shift)
        return tuple(shifts)

    def needs(self, places: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return for each record and attribute the free bit it needs, -1 for the record's own.

        ``places`` has for each attribute where the records' values stand among its labels.
        """
        columns = [
            np.where(codes == own, -1, shift + codes - (codes > own))
            for codes, own, shift in zip(places, self.own, self.shifts, strict=True)
        ]
        return np.stack(columns, axis=1)

    def context(self, values: Mapping[str, Any]) -> int:
        """Return the context of these values; the record's own are always part of it.

        An attribute that is not named contributes all its values.
        """
        names = [attribute.name for attribute in self.attributes]
        for name in values:
            if name not in names:
                raise InvalidInput(
                    f"The start names {name!r}, which is no attribute of the question; "
                    f"there are {', '.join(names)}."
                )
        context = 0
        for attribute, own, shift in zip(self.attributes, self.own, self.shifts, strict=True):
            codes, chosen = set(range(attribute.size)), values.get(attribute.name)
            if chosen is not None:
                listed = chosen if isinstance(chosen, list | tuple | set | frozenset) else [chosen]
                codes = set(map(attribute.label_code, listed))
            context |= sum(1 << (shift + code - (code > own)) for code in codes - {own})
        return context

    def chosen(self, context: int) -> list[list[int]]:
        """Return the places of the chosen values of each attribute, in the card's order."""
        return [
            [
                code
                for code in range(attribute.size)
                if code == own or context >> (shift + code - (code > own)) & 1
            ]
            for attribute, own, shift in zip(self.attributes, self.own, self.shifts, strict=True)
        ]

    def labels(self, context: int) -> dict[str, list[str | int]]:
        """Return the chosen values of each attribute as plain JSON."""
        return {
            attribute.name: [attribute.labels[code] for code in codes]
            for attribute, codes in zip(self.attributes, self.chosen(context), strict=True)
        }

    def words(self, context: int) -> str:
        """Say a context: ``"Employer in {A, B} and Year in {2004}"``."""
        pairs = zip(self.attributes, self.chosen(context), strict=True)
        return " and ".join(attribute.words(codes) for attribute, codes in pairs)

    def where(self, context: int) -> str:
        """Write a context as the condition of a standard SQL ``WHERE``.

        Names are quoted with double quotes and texts with single quotes, both doubled inside.
        """
        pairs = zip(self.attributes, self.chosen(context), strict=True)
        parts = [part for part in (attribute.where(codes) for attribute, codes in pairs) if part]
        return " AND ".join(parts) or "1 = 1"


_FINE = 2**30
_TINIEST = 1e-290
_MOST = 2**36  # sums of 2^26 offsets and products with a million bins stay below 2^63


@dataclass(frozen=True)
class Grid:
    """A public rounding of the metric: ``rint((x - origin) / step)``, a function of x alone."""

    origin: float  # the card's lower bound, or 0
    # The card's resolution; without one, 1 for integers and otherwise the largest power of ten that
    # cuts the card's bounds into at least 2^30 steps.
    step: Fraction

    @classmethod
    def of(cls, name: str, card: Card) -> Grid:
        """Read the grid of a metric from the card."""
        column = card.column(name)
        if not column.numeric:
            raise InvalidInput(
                f"The metric {name!r} is {column.type} on the card; outliers are found on a "
                "number or an integer."
            )
        bounds = None
        if column.lower is not None and column.upper is not None:
            bounds = (float(column.lower), float(column.upper))
        if column.resolution is not None:
            step = Fraction(repr(float(column.resolution)))
        elif column.type == "integer":
            step = Fraction(1)
        elif bounds is not None:
            width = float((Fraction(bounds[1]) - Fraction(bounds[0])) / _FINE)
            step = Fraction(10) ** math.floor(math.log10(max(width, _TINIEST)))
        else:
            raise InvalidInput(
                f"The metric {name!r} has neither bounds nor a resolution on the card. Give "
                "'lower' and 'upper', or the 'resolution' to which values are rounded."
            )
        if bounds is not None and (bounds[1] - bounds[0]) / step > _MOST:
            raise InvalidInput(
                f"The resolution of the metric {name!r} cuts its bounds into more than 2^36 "
                "steps; give a coarser one on the card."
            )
        return cls(bounds[0] if bounds else 0.0, step)

    def key(self, metric: str) -> Rounded:
        """Return what records are grouped by; what lies beyond 2^36 steps is moved there."""
        return Rounded(metric, self.origin, float(self.step), float(_MOST))

    def cells(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        return self.key("").of(values).astype(np.int64)
