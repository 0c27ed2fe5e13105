"""A small town: few people, three attributes, one salary."""

from __future__ import annotations

import numpy as np
import pytest

from whitecrow.data import Card, Column, Dataset

EMPLOYERS = ("A", "B", "C", "O'Neil")
YEARS = ("2003", "2004", "2005")


def town_card() -> Card:
    return Card(
        "town",
        (
            Column("Employer", "category", categories=EMPLOYERS),
            Column("Year", "category", categories=YEARS),
            Column("Age", "integer", lower=18, upper=95, edges=(18, 40, 65, 96)),
            Column("Salary", lower=0, upper=1_000_000, resolution=1.0),
        ),
    )


@pytest.fixture(scope="session")
def card() -> Card:
    return town_card()


@pytest.fixture(scope="session")
def town(card: Card) -> Dataset:
    random = np.random.default_rng(11)
    size = 600
    columns = {
        "Employer": random.integers(0, 4, size),
        "Year": random.integers(0, 3, size),
        "Age": random.integers(18, 96, size).astype(float),
        "Salary": np.rint(random.lognormal(11, 0.3, size)),
    }
    columns["Employer"][0], columns["Year"][0], columns["Age"][0] = 0, 1, 50
    columns["Salary"][0] = 240_000
    return Dataset(card, columns)


@pytest.fixture
def record() -> dict[str, object]:
    return {"Employer": "A", "Year": "2004", "Age": 50, "Salary": 240_000}
