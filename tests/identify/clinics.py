"""A small clinic, for questions about one place."""

from __future__ import annotations

import datetime

import pyarrow

from whitecrow.data import Card, Column, read

CARD = Card(
    "clinic",
    (
        Column("age", lower=0, upper=120),
        Column("bmi", lower=10, upper=80),
        Column("ward", "category", categories=("A", "B", "C")),
        Column("visits", "integer", lower=0, upper=9),
        Column("seen", "date", lower="2020-01-01", upper="2024-12-31"),
        Column("free", "number"),
        Column("note", "text"),
    ),
)


def clinic(ages, **others):
    size = len(ages)
    table = {
        "age": [float(a) for a in ages],
        "bmi": [24.0] * size,
        "ward": ["A"] * size,
        "visits": [1] * size,
        "seen": [datetime.date(2022, 1, 1)] * size,
        "free": [0.0] * size,
        "note": ["-"] * size,
    }
    return read(pyarrow.table({**table, **others}), CARD)
