"""A detector learned from the same records has the same counts on every engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from whitecrow.data import Card, Column
from whitecrow.detector import scoring
from whitecrow.learn import Learn, gather
from whitecrow.learn.training import train

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
    """Money that buys silence."""

    law, total, relation, contribution = "gaussian", 1, "add_remove", 1

    def histograms(self, share: object, tables: int) -> Silent:
        return Silent()


def counted(dataset: Any, engine: Any) -> tuple[Any, Any]:
    question = Learn(epsilon="1", delta="1e-6")
    facts = gather(question, dataset, engine)
    model = train(
        question.grids(CARD),
        facts.by_column,
        facts.by_table,
        Free(),  # type: ignore[arg-type]
        1,  # type: ignore[arg-type]
    )
    edges = np.arange(-5, 60) * int(scoring.scale(model))
    return model, facts.by_score(model, edges)


def test_every_engine_counts_the_same_integers(remote_kind: str, opening: Opening) -> None:
    table = patients()
    here, scores = counted(*opening("local", table, CARD))
    there, other = counted(*opening(remote_kind, table, CARD))
    assert here.grids == there.grids
    assert here.counts.sum() > 0
    assert (here.counts == there.counts).all()
    assert (scores == other).all()
