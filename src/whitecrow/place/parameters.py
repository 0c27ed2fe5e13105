"""Parameters and checks that the questions about one place have alike."""

from __future__ import annotations

from fractions import Fraction

from whitecrow.data import Card
from whitecrow.declaration import Exact, Names, Whole
from whitecrow.errors import InvalidInput
from whitecrow.neighbours import NeighbourRelation

__all__ = [
    "FLOOR",
    "ErrorFloor",
    "Order",
    "checked_floor",
    "metric_name",
    "refuse_many",
    "whole",
]

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


def refuse_many(card: Card, owner: str, instead: str) -> None:
    """Refuse sensitive privacy where one person may have several records.

    Its promise is about single records; several records of one person are a path in the graph of
    databases that need not stay inside the promise (docs/mechanisms.md 6, rule 7).
    """
    if card.contribution > 1:
        raise InvalidInput(
            f"The card protects users with up to {card.contribution} records each, and sensitive "
            f"privacy protects single records. Ask {owner} with {instead}."
        )


def metric_name(neighbour_relation: NeighbourRelation) -> str:
    """Return the metric's name for a guarantee, whose columns are kept sorted.

    Latitude and longitude are not interchangeable, so an unsorted pair names its latitude.
    """
    if neighbour_relation.metric == "haversine" and list(neighbour_relation.columns) != sorted(
        neighbour_relation.columns
    ):
        return f"haversine with latitude {neighbour_relation.columns[0]}"
    return neighbour_relation.metric
