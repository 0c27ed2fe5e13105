"""The record a question is about: one canonical spelling, and its place among the data."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Card, Column
from whitecrow.errors import invalid

__all__ = ["Value", "as_json", "canonical", "encoded", "from_json"]

Value = int | float | str
"""A value of a record as JSON: a number, a category, or a date as ISO text."""

_EPOCH = datetime.date(1970, 1, 1).toordinal()


def canonical(record: object, *, owner: str, keep_order: bool = False) -> dict[str, Value]:
    """Return the record with plain values and sorted columns, so that it has one spelling.

    Parameters
    ----------
    record : mapping of column to value
        Numbers, text, booleans or dates.
    keep_order : bool
        Keep the columns as given, for the one metric (haversine) to which their order matters.

    Examples
    --------
    >>> canonical({"bmi": 24.0, "age": 61}, owner="Identify")
    {'age': 61, 'bmi': 24}
    """
    if not isinstance(record, Mapping) or not record:
        raise invalid(owner, "record", "a mapping of at least one column to its value", record)
    for name in record:
        if not isinstance(name, str):
            raise invalid(owner, "record", "a mapping whose keys are column names", name)
    names = list(record) if keep_order else sorted(record)
    return {name: _plain(record[name], name, owner) for name in names}


def as_json(record: Mapping[str, Value], model: DistanceAnomaly) -> dict[str, Any]:
    """Return what a question's JSON says of its record.

    The keys of a JSON object have no order and the identity of a question sorts them, so where
    the order means something (which column is the latitude) it is written down.

    Examples
    --------
    >>> as_json({"north": 52, "east": 13}, DistanceAnomaly(3, 1.0, "haversine"))
    {'record': {'north': 52, 'east': 13}, 'columns': ['north', 'east']}
    """
    found: dict[str, Any] = {"record": dict(record)}
    return found | {"columns": list(record)} if model.metric == "haversine" else found


def from_json(data: Mapping[str, Any]) -> Any:
    """Return the record of a question's JSON, in the order that is written down, if one is."""
    record, columns = data["record"], data.get("columns")
    if columns is None:
        return record
    if not isinstance(record, Mapping) or not isinstance(columns, list | tuple):
        raise invalid("a question", "columns", "the list of the record's columns", columns)
    if sorted(map(str, columns)) != sorted(map(str, record)):
        raise invalid("a question", "columns", "the record's columns, in their order", columns)
    return {name: record[name] for name in columns}


def _plain(value: object, name: str, owner: str) -> Value:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, datetime.date):
        return value.isoformat()[:10]
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, str):
        return value
    if not isinstance(value, int) and not (isinstance(value, float) and math.isfinite(value)):
        hint = f"That is its value for {name!r}; every value must be known."
        raise invalid(owner, "record", "finite numbers, texts and dates", value, hint)
    # 61 and 61.0 are one number, and so are 0.0 and -0.0.
    return int(value) if isinstance(value, float) and value.is_integer() else value


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
