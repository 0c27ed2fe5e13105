"""What the three questions of this folder check alike."""

from __future__ import annotations

from fractions import Fraction

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Card
from whitecrow.errors import InvalidInput, invalid
from whitecrow.neighbours import Closeness
from whitecrow.privacy import exact

__all__ = ["FLOOR", "check_model", "checked_floor", "metric_name", "refuse_many", "whole"]

FLOOR = Fraction(1, 10**12)
"""Errors rarer than this are not worth counting more neighbours for."""


def whole(value: object, owner: str, parameter: str) -> int:
    """Read a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise invalid(owner, parameter, "a whole number of at least 1", value)
    return value


def check_model(model: object, owner: str) -> None:
    """Refuse anything but the distance model."""
    if not isinstance(model, DistanceAnomaly):
        hint = "Write DistanceAnomaly(beta=..., radius=...)."
        raise invalid(owner, "model", "a DistanceAnomaly", model, hint)


def checked_floor(value: object, owner: str) -> Fraction:
    """Read an error probability that is not worth going below."""
    floor = exact(value, owner=owner, parameter="floor")
    if floor >= Fraction(1, 2):
        raise invalid(owner, "floor", "a probability above 0 and below 1/2", value)
    return floor


def refuse_many(card: Card, owner: str, instead: str) -> None:
    """Refuse sensitive privacy where one person may have several records.

    Its promise is about single records; several records of one person are a path in the graph of
    databases that need not stay inside the promise (mechanisms 6, rule 7).
    """
    if card.contribution > 1:
        raise InvalidInput(
            f"The card protects users with up to {card.contribution} records each, and sensitive "
            f"privacy protects single records. Ask {owner} with {instead}."
        )


def metric_name(closeness: Closeness) -> str:
    """Return the metric's name for a guarantee, whose columns are kept sorted.

    Latitude and longitude are not interchangeable, so an unsorted pair names its latitude.
    """
    if closeness.metric == "haversine" and list(closeness.columns) != sorted(closeness.columns):
        return f"haversine with latitude {closeness.columns[0]}"
    return closeness.metric
