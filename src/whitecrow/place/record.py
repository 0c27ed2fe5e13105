"""The record a question is about: one canonical spelling, and its place among the data."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Card, Column
from whitecrow.declaration import Value
from whitecrow.errors import invalid

__all__ = ["encoded", "in_order"]

_EPOCH = datetime.date(1970, 1, 1).toordinal()


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


def encoded(record: Mapping[str, Value], card: Card, *, owner: str) -> list[float]:
    """Return the record as the data hold it (codes for categories, day numbers for dates).

    Raises
    ------
    InvalidInput
        A column is unknown, or a value is not one that the card allows.
    """
    return [_coordinate(value, card.column(name), owner) for name, value in record.items()]


def _coordinate(value: Value, column: Column, owner: str) -> float:
    where = f"the record of {owner}"
    if column.type == "category":
        categories = column.categories or ()
        if str(value) not in categories:
            raise invalid(where, column.name, "one of the card's categories", value)
        return float(categories.index(str(value)))
    if column.type == "date" and isinstance(value, str):
        try:
            value = datetime.date.fromisoformat(value).toordinal() - _EPOCH
        except ValueError:
            raise invalid(where, column.name, "a date such as '2024-01-31'", value) from None
    if isinstance(value, str) or column.type == "text":
        raise invalid(where, column.name, _wanted(column), value)
    if column.type in ("integer", "date") and not isinstance(value, int):
        raise invalid(where, column.name, "a whole number", value)
    lower, upper = column.lower, column.upper
    if lower is not None and upper is not None and not lower <= value <= upper:
        must = f"between the card's bounds {lower:g} and {upper:g}"
        raise invalid(where, column.name, must, value)
    return _double(value, column.name, where)


def _wanted(column: Column) -> str:
    return "left out, for text has no distances" if column.type == "text" else "a number"


def _double(value: int | float, name: str, where: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise invalid(where, name, "a finite number", "a number too large for the data") from None
