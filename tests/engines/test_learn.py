"""A detector learned from the same records has the same counts on every engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from whitecrow.data import Card, Column
from whitecrow.detector import scoring
from whitecrow.histogram.facts import Bought
from whitecrow.learning import Learn, gather
from whitecrow.learning.facts import ByScore
from whitecrow.learning.training import train

Opening = Callable[..., tuple[Any, Any]]

CARD = Card(
    "patients",
    (
        Column("age", "integer", lower=0, upper=120),
        Column("bmi", lower=10, upper=60),
        Column("ward", "category", categories=("A", "B", "C")),
        Column("pay"),
    ),
)


KEPT = Card(
    "patients",
    (
        Column("age", "integer", lower=0, upper=120, missing="value"),
        Column("bmi", lower=10, upper=60, missing="value", outside="clip"),
        Column("ward", "category", categories=("A", "B", "C"), missing="value"),
        Column("pay", missing="value"),
        Column("seen", "date", lower="2020-01-01", upper="2024-12-31", missing="value"),
    ),
)


def gaps() -> pa.Table:
    """Patients of whom this or that is not known."""
    table, source = patients(), np.random.default_rng(8)
    days = source.integers(18_300, 19_900, table.num_rows).astype(np.int32)
    table = table.append_column("seen", pa.array(days, pa.int32()).cast(pa.date32()))
    columns = [pa.array(column.to_pylist(), column.type) for column in table.columns]
    holes = [
        pa.array(column.to_pylist(), column.type, mask=source.random(len(column)) < 0.1)
        for column in columns
    ]
    return pa.table(dict(zip(table.column_names, holes, strict=True)))


def patients(rows: int = 2500) -> pa.Table:
    source = np.random.default_rng(5)
    return pa.table(
        {
            "age": source.integers(18, 130, rows),
            "bmi": np.append(source.normal(25, 4, rows - 1), np.nan),
            "ward": source.choice(["A", "B", "nowhere"], rows).tolist(),
            "pay": np.exp(source.normal(8, 2, rows)) * source.choice([-1.0, 1.0], rows),
        }
    )


class Silent:
    """Noise that adds nothing, so that what was counted is what is released."""

    law, deviation = "gaussian", 5.0

    def added(self, counts: Any, source: object) -> Any:
        return counts


class Free:
    """A noise budget that buys silence."""

    law, total, relation, contribution = "gaussian", 1, "add_remove", 1

    def histograms(self, share: object, tables: int) -> Silent:
        return Silent()


def counted(dataset: Any, engine: Any) -> tuple[Any, Any]:
    """Return what would be released without noise, and the records by their scores."""
    question = Learn(epsilon="1", delta="1e-6")
    facts = gather(question, dataset, engine)
    model = train(
        question.grids(dataset.card),
        Bought(facts, Free()),  # type: ignore[arg-type]
        1,  # type: ignore[arg-type]
    )
    edges = np.arange(-5, 60) * int(scoring.scale(model))
    return model, facts.noisy_counts(ByScore(model, edges), Silent())  # type: ignore[arg-type]


@pytest.mark.parametrize("card", [CARD, KEPT], ids=["left out", "missing kept"])
def test_every_engine_counts_the_same_integers(
    remote_kind: str, opening: Opening, card: Card
) -> None:
    table = patients() if card is CARD else gaps()
    here, scores = counted(*opening("local", table, card))
    there, other = counted(*opening(remote_kind, table, card))
    assert here.grids == there.grids
    assert here.counts.sum() > 0
    assert (here.counts == there.counts).all()
    assert (scores == other).all()
