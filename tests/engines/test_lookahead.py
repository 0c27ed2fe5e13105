"""Rare combinations are the same on every engine: the facts of lookahead, cell by cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Card, Column
from whitecrow.lookahead import Lookahead, gather

Opening = Callable[..., tuple[Any, Any]]

CARD = Card(
    "loans",
    (
        Column("amount", lower=0, upper=500, outside="clip"),
        Column("pay", edges=(-1.5, 0.0, 1.5)),
        Column("months", "integer", lower=-3, upper=40),
        Column("purpose", "category", categories=("house", "car", "other")),
    ),
)


def loans() -> pa.Table:
    """Values on the borders of bins among them."""
    source = np.random.default_rng(4)
    return pa.table(
        {
            "amount": np.append(source.uniform(-10, 520, 595), [0.0, 100.0, 125.0, 250.0, 500.0]),
            "pay": np.append(source.normal(0, 2, 597), [-1.5, 0.0, -0.0]),
            "months": source.integers(-3, 41, 600),
            "purpose": source.choice(["house", "car", "other"], 600).tolist(),
        }
    )


@pytest.mark.parametrize(
    ("columns", "bins"), [(("amount", "months", "purpose"), 4), (("pay",), None)]
)
def test_every_engine_finds_the_same_combinations(
    remote_kind: str, opening: Opening, columns: tuple[str, ...], bins: int | None
) -> None:
    question = Lookahead(columns, model=DistanceAnomaly(9, 0), k=1, epsilon=1, bins=bins)
    found = [gather(question, *opening(kind, loans(), CARD)) for kind in ("local", remote_kind)]
    here, there = found
    assert here.exact_counts.sum() == 600
    assert (here.exact_cells == there.exact_cells).all()
    assert (here.exact_counts == there.exact_counts).all()
    assert here.domain == there.domain
