"""Contexts: sets of attribute values that always contain the record's own.

A context is a whole number whose bits are the *free* values, one for each attribute value that is
not the record's own (docs/mechanisms.md 4.2: only these may be flipped). 0 is the record's own
values and nothing else; all ones is the whole data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whitecrow.data import Card
from whitecrow.errors import InvalidInput, invalid
from whitecrow.explain._attributes import Attribute

MOST_BITS = 4096
"""The most free bits any search takes."""


@dataclass(frozen=True)
class Space:
    """All contexts of one record: attributes, and which values are the record's own.

    Examples
    --------
    >>> employer = Attribute("Employer", ("A", "B", "C"))
    >>> space = Space((Attribute("Year", ("2003", "2004")), employer), (1, 0))
    >>> space.bits, space.words(0b001)
    (3, 'Year in {2004} and Employer in {A, B}')
    >>> print(space.where(0b001))
    "Year" IN ('2004') AND "Employer" IN ('A', 'B')
    """

    attributes: tuple[Attribute, ...]  # smallest first; the first holds the highest bits
    own: tuple[int, ...]  # the record's value of each attribute

    @classmethod
    def of(cls, names: Sequence[str], record: Mapping[str, Any], card: Card) -> Space:
        """Read attributes from the card and the record's own values from the record."""
        attributes = sorted(
            (Attribute.of(name, card) for name in names), key=lambda a: (a.size, a.name)
        )
        own = tuple(attribute.code(record[attribute.name]) for attribute in attributes)
        found = cls(tuple(attributes), own)
        if found.bits > MOST_BITS:
            raise invalid(
                "Explain",
                "attributes",
                f"attributes with at most {MOST_BITS} values beside the record's own",
                found.bits,
                "Group the values on the card, or leave an attribute out.",
            )
        return found

    @cached_property
    def bits(self) -> int:
        """The number of free bits; there are ``2**bits`` contexts."""
        return sum(attribute.size - 1 for attribute in self.attributes)

    @cached_property
    def shifts(self) -> tuple[int, ...]:
        """Where the bits of each attribute begin."""
        found, place = [], self.bits
        for attribute in self.attributes:
            place -= attribute.size - 1
            found.append(place)
        return tuple(found)

    @property
    def whole(self) -> int:
        return (1 << self.bits) - 1

    def needs(self, columns: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """Return for each record and attribute the free bit it needs, -1 for the record's own."""
        return self.needs_of([a.codes(columns[a.name]) for a in self.attributes])

    def needs_of(self, places: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        """Return the same from the places of the values, one array an attribute."""
        found = np.empty((len(places[0]), len(self.attributes)), dtype=np.int64)
        for place, (codes, own, shift) in enumerate(
            zip(places, self.own, self.shifts, strict=True)
        ):
            bit = shift + codes - (codes > own)
            found[:, place] = np.where(codes == own, -1, bit)
        return found

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
        found = 0
        for attribute, own, shift in zip(self.attributes, self.own, self.shifts, strict=True):
            chosen = values.get(attribute.name)
            if chosen is None:
                found |= ((1 << (attribute.size - 1)) - 1) << shift
                continue
            listed = chosen if isinstance(chosen, list | tuple | set | frozenset) else [chosen]
            for value in listed:
                code = attribute.label_code(value)
                if code != own:
                    found |= 1 << (shift + code - (code > own))
        return found

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
