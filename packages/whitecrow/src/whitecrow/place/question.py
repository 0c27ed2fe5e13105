"""What the questions about one place share: parameters, limits, the ball, and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Protocol

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.card import Card
from whitecrow.declaration import (
    Declared,
    Epsilon,
    Exact,
    Maybe,
    Names,
    Nested,
    Record,
    Value,
    Whole,
)
from whitecrow.errors import InvalidInput, invalid
from whitecrow.limits import Limits, sorting, worst_case
from whitecrow.neighbours import NeighbourRelation, relation_on
from whitecrow.place.balls import Location, ball

FLOOR = Fraction(1, 10**12)
"""Errors rarer than this are not worth counting more neighbours for."""


class ErrorFloor(Exact):
    """An error probability that is not worth going below."""

    def __init__(self, *, default: Fraction = FLOOR) -> None:
        super().__init__(
            below=Fraction(1, 2),
            must="a probability above 0 and below 1/2",
            help="The smallest error worth counting for: neighbours are counted only so far.",
            label="Smallest error",
            default=default,
            group="details",
            former="floor",
        )


def checked_floor(value: object, owner: str) -> Fraction:
    """Check an argument called ``floor``."""
    return ErrorFloor().called("floor").parse(value, owner)


def whole(value: object, owner: str, parameter: str) -> int:
    """Check an argument that is a whole number of at least 1."""
    return Whole(help="").called(parameter).parse(value, owner)


class Order(Names):
    """Which column is the latitude and which the longitude."""

    def __init__(self) -> None:
        super().__init__(
            ordered=True,
            help="For haversine in JSON: the latitude's column, then the longitude's.",
            group="details",
        )


def several_records(card: Card, owner: str, instead: str) -> InvalidInput:
    """Refuse sensitive privacy where one person may have several records.

    Its promise is about single records; several records of one person are a path in the graph of
    databases that need not stay inside the promise (docs/mechanisms.md 6, rule 7).
    """
    return InvalidInput(
        f"The card protects users with up to {card.contribution} records each, and sensitive "
        f"privacy protects single records. Ask {owner} with {instead}."
    )


def in_order(
    record: Mapping[str, Value],
    order: Sequence[str] | None,
    model: DistanceAnomaly,
    owner: str,
) -> tuple[dict[str, Value], tuple[str, ...] | None]:
    """Return the record in its one order, and the order to write down where it means something.

    The keys of a JSON object have no order and the identity of a question sorts them, so for the
    one metric to which the order matters (which column is the latitude) it is written down.

    Examples
    --------
    >>> in_order({"b": 1, "a": 2}, None, DistanceAnomaly(3, 1.0), "Identify")
    ({'a': 2, 'b': 1}, None)
    >>> globe = DistanceAnomaly(3, 1.0, "haversine")
    >>> in_order({"north": 52, "east": 13}, None, globe, "Identify")
    ({'north': 52, 'east': 13}, ('north', 'east'))
    """
    if order is not None and sorted(order) != sorted(record):
        raise invalid(owner, "order", "the record's columns, in their order", list(order))
    if model.metric != "haversine":
        return {name: record[name] for name in sorted(record)}, None
    names = tuple(order or record)
    return {name: record[name] for name in names}, names


class _AboutOnePlace(Protocol):
    @property
    def columns(self) -> tuple[str, ...]: ...


def cost(question: _AboutOnePlace, card: Card, records: int) -> Limits:
    """The worst case of a question about one place: an index of the records, or a pass over all."""
    width = len(question.columns)
    return worst_case(sorting(records, width), values=records * width, kept=records)


class AtPlace(Declared):
    """What questions about one place are asked with; an answer looks at the records of its ball."""

    record: Record = Record(
        help="The record; the columns named are the ones compared.",
        more="For haversine the first is the latitude and the second the longitude.",
        kw_only=False,
    )
    model: Nested[DistanceAnomaly] = Nested(DistanceAnomaly, help="What an anomaly is.")
    epsilon: Epsilon = Epsilon()
    error_floor: Exact = ErrorFloor(default=FLOOR)
    order: Maybe[tuple[str, ...], Sequence[str]] = Maybe(Order(), default=None, former="columns")

    def settle(self) -> None:
        """Put the columns into their one order."""
        record, order = in_order(self.record, self.order, self.model, type(self).__name__)
        self.put("record", record)
        self.put("order", order)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are compared."""
        return tuple(self.record)

    def neighbour_relation(self, card: Card) -> NeighbourRelation:
        """Return the relation "within the radius" on this card."""
        return relation_on(card, self.columns, self.model.metric, self.model.radius)

    def place(self, card: Card) -> list[float]:
        """Return the record's coordinates as the data hold them."""
        return card.encode(self.record, owner=type(self).__name__)

    def location(self, card: Card) -> Location:
        """Return the ball the answer depends on, for spatial accounting."""
        known: tuple[Card, Location] | None = vars(self).get("_found")
        if known is None or known[0] is not card:  # checked, priced and charged with one card
            known = card, ball(self.neighbour_relation(card), self.place(card), card)
            vars(self)["_found"] = known
        return known[1]


TIME = "Response time can leak. Use the service if analysts can time answers."
"""Said of every answer whose counting stops early: where more neighbours would change nothing."""


def chance(probability: float) -> str:
    """Say a probability so that people can picture it.

    Examples
    --------
    >>> chance(0.475), chance(0.00214547), chance(0.0), chance(1e-20)
    ('47.5 %', '1 in 466', 'never', 'less than 1 in a billion')
    """
    if probability == 0:
        return "never"
    if probability >= 0.01:
        return f"{100 * probability:.3g} %"
    if probability < 1e-9:
        return "less than 1 in a billion"
    return f"1 in {round(1 / probability):,}"
