"""A made-up year."""

from __future__ import annotations

import numpy as np
import pyarrow
import pytest

import whitecrow as wc

CARD = wc.Card(
    "visits",
    (
        wc.Column("x", lower=-8, upper=8, outside="clip"),
        wc.Column("y", lower=-8, upper=8, outside="clip"),
        wc.Column("kind", "category", categories=("a", "b", "c")),
        wc.Column("month", "integer", lower=0, upper=11),
    ),
)


def _made_up(each, *, months=6, moved=99, by=1.0, seed=0):
    """Months of records; from the month ``moved`` on ``x`` is larger."""
    rng = np.random.default_rng(seed)
    month = np.repeat(np.arange(months), each)
    x = rng.normal(size=len(month)) + by * (month >= moved)
    return pyarrow.table(
        {
            "x": x,
            "y": 0.8 * x + 0.6 * rng.normal(size=len(month)),
            "kind": rng.choice(["a", "b", "c"], len(month), p=[0.7, 0.25, 0.05]),
            "month": month,
        }
    )


@pytest.fixture
def series():
    return {"time": "month", "start": 0, "period": 1, "horizon": 6, "epsilon": 2, "delta": "1e-6"}


@pytest.fixture
def card():
    return CARD


@pytest.fixture
def made_up():
    return _made_up


@pytest.fixture
def opened():
    """Open a curator of a table, by default with a ledger in memory."""

    def open_curator(table, **given):
        known = {"card": CARD, "budget": "2, 1e-6", "ledger": "sqlite://", "name": "visits"}
        return wc.Curator.open(table, **{**known, **given})

    return open_curator
