"""The card's checks as SQL: the same records are kept, mended or left out as by a reading here.

Each column becomes one expression that is NULL where its record is to be left out. What
:mod:`whitecrow.data._reading` does to text that stands for a number or a date has no equal in SQL;
such columns are refused by their type, before a record is read.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from whitecrow.card import Card, Column
from whitecrow.data._columns import FIRST_DAY, LAST_DAY, decoded_type
from whitecrow.data._dialect import Dialect
from whitecrow.data._selection import check_id_type, compared
from whitecrow.errors import InvalidInput

__all__ = ["checked", "every", "is_float"]

_WHOLE_FROM = 2.0**53
"""From here on every double is a whole number."""


def checked(card: Card, schema: Any, source: str, dialect: Dialect) -> str:
    """Return a SELECT of the records that pass the card: columns ``c0``, ``c1``, ... in its order.

    Numbers and integers are doubles, categories codes in the card's order, dates days since
    1970-01-01. Whose a record is and which of a person's records count is said in
    :mod:`whitecrow.data._selection`.

    Raises
    ------
    InvalidInput
        The data lack a column, or it cannot be read as the card says.
    """
    names = [f"c{place}" for place in range(len(card.columns))]
    values = ", ".join(
        f"{_value(column, schema, dialect)} AS {name}"
        for column, name in zip(card.columns, names, strict=True)
    )
    listed = ", ".join(names)
    present = " AND ".join(f"{name} IS NOT NULL" for name in names)
    if card.user_column is None:
        return f"SELECT {listed} FROM (SELECT {values} FROM {source}) read_rows WHERE {present}"  # noqa: S608 - names are quoted, numbers exact
    user = card.column(card.user_column)
    person = _person(user, schema.field(user.name).type, dialect)
    kept = (
        f"SELECT {listed}, person FROM (SELECT {values}, {person} AS person FROM {source}) "  # noqa: S608 - as above
        f"read_rows WHERE {present} AND person IS NOT NULL"
    )
    order = [
        _compared(names[card.names.index(name)], card.column(name), dialect)
        for name in compared(card)
    ] or ["person"]
    return (
        f"SELECT {listed} FROM (SELECT {listed}, ROW_NUMBER() OVER "  # noqa: S608 - as above
        f"(PARTITION BY person ORDER BY {', '.join(order)}) AS place FROM ({kept}) kept_rows) "
        f"ranked_rows WHERE place <= {card.contribution}"
    )


def every(card: Card, schema: Any, source: str, dialect: Dialect) -> str:
    """Return a SELECT of all records, with what can be read of them: ``e0``, ``e1``, ...

    Numbers and dates are doubles, filled and clipped, NaN where they are missing. Categories and
    texts are texts, NULL where missing; stored as floats they are doubles (:func:`is_float`), not
    filled, NaN where missing.
    Of a person those records come first that pass the card, as in :func:`checked`; others fill
    what room is left (:func:`whitecrow.data._selection.also_selected`).
    """
    read = ", ".join(
        f"{_as_read(column, schema, dialect)} AS e{place}"
        for place, column in enumerate(card.columns)
    )
    listed = ", ".join(f"e{place}" for place in range(len(card.columns)))
    if card.user_column is None:
        return f"SELECT {read} FROM {source}"  # noqa: S608 - names are quoted, numbers exact
    values = ", ".join(
        f"{_value(column, schema, dialect)} AS c{place}"
        for place, column in enumerate(card.columns)
    )
    user = card.column(card.user_column)
    person = _person(user, schema.field(user.name).type, dialect)
    wrong = " OR ".join(f"c{place} IS NULL" for place in range(len(card.columns)))
    order = [f"CASE WHEN {wrong} THEN 1 ELSE 0 END"]
    places = [(card.names.index(name), card.column(name)) for name in compared(card)]
    for place, column in places:
        order.append(_compared(f"CASE WHEN {wrong} THEN NULL ELSE c{place} END", column, dialect))
    for place, column in places:
        by_text = not column.numeric and column.type != "date"
        if by_text and not is_float(column, schema):
            order.append(f"CASE WHEN e{place} IS NULL THEN 1 ELSE 0 END")
            order.append(dialect.exact_text.format(f"e{place}"))
        else:
            order.append(f"e{place}")
    return (
        f"SELECT {listed} FROM (SELECT {listed}, ROW_NUMBER() OVER "  # noqa: S608 - as above
        f"(PARTITION BY person ORDER BY {', '.join(order)}) AS place FROM "
        f"(SELECT {values}, {read}, {person} AS person FROM {source}) read_rows "
        f"WHERE person IS NOT NULL) ranked_rows WHERE place <= {card.contribution}"
    )


def is_float(column: Column, schema: Any) -> bool:
    """Whether a column's categories are stored as floats, which SQL cannot write as text here."""
    from pyarrow import types

    arrow = decoded_type(schema.field(column.name).type)
    return column.type == "category" and bool(types.is_floating(arrow))


def _compared(value: str, column: Column, dialect: Dialect) -> str:
    """Write a checked value as it is compared: texts code point by code point."""
    return dialect.exact_text.format(value) if column.type == "text" else value


def _as_read(column: Column, schema: Any, dialect: Dialect) -> str:
    arrow = decoded_type(schema.field(column.name).type)
    raw = dialect.named(column.name)
    nothing = dialect.number(math.nan)
    if column.type == "text":
        return _or_filled(f"CAST({raw} AS {dialect.text})", column, dialect)
    if is_float(column, schema):
        return f"COALESCE({dialect.to_double(raw)}, {nothing})"
    if column.type == "category":
        text = dialect.exact_text.format(raw)
        if column.missing != "fill":
            return text
        return f"COALESCE({text}, {dialect.string(str(column.fill))})"
    if column.type == "date":
        value = _days(raw, arrow, column, dialect)
    else:
        value = _number(raw, arrow, column, dialect)
    filled = _or_filled(value, column, dialect)
    if column.outside == "clip" and column.lower is not None and column.upper is not None:
        clipped = dialect.clipped(filled, column.lower, column.upper)
        filled = f"CASE WHEN {filled} IS NULL THEN NULL ELSE {clipped} END"
    return f"(COALESCE({filled}, {nothing}) + {dialect.number(0.0)})"


def _person(column: Column, arrow: Any, dialect: Dialect) -> str:
    """Return the exact id as text, NULL where a record names nobody."""
    from pyarrow import types

    arrow = decoded_type(arrow)
    check_id_type(column, arrow)
    raw = dialect.named(column.name)
    if types.is_decimal(arrow):
        return dialect.whole.format(raw)
    return dialect.exact_text.format(raw)


def _value(column: Column, schema: Any, dialect: Dialect) -> str:
    if column.name not in schema.names:
        raise InvalidInput(
            f"The card lists the column {column.name!r}, which the data do not have."
        )
    arrow = decoded_type(schema.field(column.name).type)
    raw = dialect.named(column.name)
    if column.type == "text":
        return _or_filled(f"CAST({raw} AS {dialect.text})", column, dialect)
    if column.type == "category":
        return _category(raw, arrow, column, dialect)
    if column.type == "date":
        return _bounded(_days(raw, arrow, column, dialect), column, dialect)
    # One zero: -0.0 and 0.0 are one value, to every comparison and on every engine.
    number = _bounded(_number(raw, arrow, column, dialect), column, dialect)
    return f"({number} + {dialect.number(0.0)})"


def _or_filled(expression: str, column: Column, dialect: Dialect) -> str:
    if column.missing != "fill":
        return expression
    fill = column.fill
    written = dialect.string(str(fill)) if column.type == "text" else dialect.number(_float(fill))
    return f"COALESCE({expression}, {written})"


def _number(raw: str, arrow: Any, column: Column, dialect: Dialect) -> str:
    """Return a double, NULL where it is missing, NaN or not whole as it should be."""
    from pyarrow import types

    if types.is_boolean(arrow):
        return (
            f"CASE WHEN {raw} THEN {dialect.number(1)} WHEN NOT {raw} THEN {dialect.number(0)} END"
        )
    if not (types.is_integer(arrow) or types.is_floating(arrow) or types.is_decimal(arrow)):
        raise _unreadable(column, arrow)
    value = dialect.of_decimal.format(raw) if types.is_decimal(arrow) else dialect.to_double(raw)
    wrong = []
    if types.is_floating(arrow) or types.is_decimal(arrow):
        # In all three dialects NaN equals itself.
        wrong.append(f"{value} = {dialect.number(math.nan)}")
        if column.type == "integer":
            small = f"ABS({value}) < {dialect.number(_WHOLE_FROM)}"
            # NaN is the largest of all numbers in the three dialects, hence not small.
            wrong.append(f"({small} AND {value} <> FLOOR({value}))")
    return f"CASE WHEN {' OR '.join(wrong)} THEN NULL ELSE {value} END" if wrong else value


def _days(raw: str, arrow: Any, column: Column, dialect: Dialect) -> str:
    from pyarrow import types

    if types.is_integer(arrow):
        days = dialect.to_double(raw)
    elif types.is_date(arrow) or (types.is_timestamp(arrow) and arrow.tz is None):
        days = dialect.to_double(dialect.days.format(raw))
    else:
        raise _unreadable(column, arrow)
    known = f"{days} BETWEEN {dialect.number(FIRST_DAY)} AND {dialect.number(LAST_DAY)}"
    return f"CASE WHEN {known} THEN {days} END"


def _bounded(value: str, column: Column, dialect: Dialect) -> str:
    """Fill what is missing, then move what is outside to the bound, or leave it out (NULL)."""
    if column.absent is not None:
        stands, kept = dialect.number(column.absent), replace(column, missing="reject")
        missing = f"({value} IS NULL OR {value} = {stands})"
        return f"CASE WHEN {missing} THEN {stands} ELSE {_bounded(value, kept, dialect)} END"
    filled = _or_filled(value, column, dialect)
    lower, upper = column.lower, column.upper
    if lower is None or upper is None:
        infinite = f"ABS({filled}) = {dialect.number(math.inf)}"
        return f"CASE WHEN {infinite} THEN NULL ELSE {filled} END"
    inside = f"{filled} BETWEEN {dialect.number(lower)} AND {dialect.number(upper)}"
    if column.outside == "clip":
        return (
            f"CASE WHEN {filled} IS NULL THEN NULL ELSE {dialect.clipped(filled, lower, upper)} END"
        )
    return f"CASE WHEN {inside} THEN {filled} END"


def _category(raw: str, arrow: Any, column: Column, dialect: Dialect) -> str:
    """Return the place of a value among the categories as a double, NULL if it has none."""
    from pyarrow import types

    categories = column.categories or ()
    missing = f"{raw} IS NULL"
    if types.is_floating(arrow):
        value = dialect.to_double(raw)
        missing = f"({missing} OR {value} = {dialect.number(math.nan)})"
        known = [
            f"WHEN {value} BETWEEN {dialect.number(low)} AND {dialect.number(high)} "
            f"THEN {dialect.number(code)}"
            for code, written in enumerate(categories)
            for low, high in _written_so(written)
        ]
    elif types.is_boolean(arrow):
        known = [
            f"WHEN {'' if written == 'true' else 'NOT '}{raw} THEN {dialect.number(code)}"
            for code, written in enumerate(categories)
            if written in ("true", "false")
        ]
    elif types.is_integer(arrow) or types.is_string(arrow):
        text = dialect.exact_text.format(raw)
        known = [
            f"WHEN {text} = {dialect.string(written)} THEN {dialect.number(code)}"
            for code, written in enumerate(categories)
        ]
    else:
        raise _unreadable(column, arrow)
    first = f"WHEN {missing} THEN NULL"
    if column.missing == "fill":
        first = f"WHEN {missing} THEN {dialect.number(categories.index(str(column.fill)))}"
    elif column.absent is not None:
        first = f"WHEN {missing} THEN {dialect.number(column.absent)}"
    return f"CASE {first} {' '.join(known)} END"


def _written_so(written: str) -> list[tuple[float, float]]:
    """Return the interval of doubles that are written in this way to 15 digits, if there is one."""
    try:
        value = float(written)
    except ValueError:
        return []
    if math.isnan(value) or f"{value:.15g}" != written:
        return []
    low = high = value
    while math.isfinite(low) and f"{(below := math.nextafter(low, -math.inf)):.15g}" == written:
        low = below
    while math.isfinite(high) and f"{(above := math.nextafter(high, math.inf)):.15g}" == written:
        high = above
    return [(low, high)]


def _float(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)


def _unreadable(column: Column, arrow: Any) -> InvalidInput:
    return InvalidInput(
        f"The column {column.name!r} holds {arrow} in the data; the engines sql and spark do not "
        f"read that as the card's {column.type!r}. Store it as that type, or use engine='local'."
    )
