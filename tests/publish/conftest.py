"""A small stream's card, and sources that repeat."""

from __future__ import annotations

import pytest

from whitecrow.data import Card, Column


@pytest.fixture
def card() -> Card:
    """Trips: a distance within public bounds, a date, a number for time."""
    return Card(
        "trips",
        (
            Column("km", lower=0, upper=100),
            Column("date", "date"),
            Column("left", "date"),
            Column("t", lower=0, upper=10**6),
            Column("free"),
            Column("riders", "integer", lower=0, upper=6),
        ),
    )


@pytest.fixture
def user_card() -> Card:
    """The same with users who may have two records."""
    return Card(
        "riders",
        (
            Column("who", "text"),
            Column("km", lower=0, upper=100),
            Column("date", "date"),
            Column("left", "date"),
        ),
        unit="user",
        user_column="who",
        contribution=2,
    )
