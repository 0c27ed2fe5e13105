"""A profile counts the same integers on every engine: values missing, unlisted, infinite too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from whitecrow.data import Card, Column
from whitecrow.profile import Profile, gather
from whitecrow.profile.facts import ByEdges
from whitecrow_audit.verify.tape import Silent

Opening = Callable[..., tuple[Any, Any]]

COLUMNS = (
    Column("who", "text"),
    Column("age", "integer", lower=0, upper=120),
    Column("bmi", lower=10, upper=60, outside="clip"),
    Column("pay"),
    Column("seen", "date", missing="fill", fill="2020-02-02"),
    Column("ward", "category", categories=("A", "B")),
    Column("city", "text"),
)
RECORDS = Card("patients", COLUMNS)
USERS = Card("patients", COLUMNS, "user", "who", 3)


def patients(rows: int = 1200) -> pa.Table:
    draw = np.random.default_rng(5)
    age = draw.integers(-20, 130, rows)
    pay = np.exp(draw.normal(8, 9, rows)) * draw.choice([-1.0, 0.0, 1.0], rows)
    pay[:6] = [np.nan, np.inf, -np.inf, 5e-324, 1.7e308, -0.0]

    def some(values: Any, kind: pa.DataType) -> pa.Array:
        gone = draw.random(rows) < 0.1
        return pa.array(
            [None if g else v for v, g in zip(values.tolist(), gone, strict=True)], kind
        )

    return pa.table(
        {
            "who": pa.array([f"p{number}" for number in draw.integers(0, 300, rows)]),
            "age": some(age, pa.int64()),
            "bmi": some(draw.normal(30, 20, rows), pa.float64()),
            "pay": some(pay, pa.float64()),
            "seen": some(draw.integers(0, 20_000, rows), pa.int32()).cast(pa.date32()),
            "ward": some(draw.choice(["A", "B", "Ä'x", "Z"], rows), pa.string()),
            "city": some(draw.choice(["york", "bath", ""], rows), pa.string()),
        }
    )


def counted(dataset: Any, engine: Any) -> tuple[Any, Any]:
    facts = gather(Profile(epsilon="1", delta="1e-6"), dataset, engine)
    edges = {
        "age": np.array([0.0, 18.0, 65.0]),
        "bmi": np.array([10.5, 25.0, 59.0]),
        "pay": np.array([-1e300, -1.0, 0.0, 5e-324, 1e-300, 1.0, 1e300]),
        "seen": np.array([10_000.0, 18_294.0, 18_295.0]),
    }
    cells = ByEdges(tuple(edges), tuple(edges.values()))
    counts = facts.noisy_counts(cells, Silent()).tolist()
    texts = {name: facts.noisy_texts(name, (), Silent(), least=0) for name in ("ward", "city")}
    return counts, {
        name: (found.missing, dict(zip(found.values, found.counts, strict=True)))
        for name, found in texts.items()
    }


@pytest.mark.parametrize("card", [RECORDS, USERS], ids=["records", "users"])
def test_every_engine_counts_the_same_integers(
    remote_kind: str, opening: Opening, card: Card
) -> None:
    table = patients()
    here = counted(*opening("local", table, card))
    there = counted(*opening(remote_kind, table, card))
    assert here == there
    assert here[0][9] > 0  # missing values are counted
    assert here[1]["ward"][1]["Ä'x"] > 0  # and categories that the card does not list
