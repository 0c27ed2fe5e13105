"""The question profile: parameters, prices, and answers on generated data with no bounds given."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow
import pytest

import whitecrow as wc

CARD = wc.Card(
    "toy",
    (
        wc.Column("age", "integer"),
        wc.Column("pay"),
        wc.Column("seen", "date"),
        wc.Column("ward", "category", categories=("a", "b")),
        wc.Column("city", "text"),
    ),
)


def table(size: int = 20_000) -> pyarrow.Table:
    """Generated records: whole numbers, skewed numbers with many zeros, dates, texts."""
    draw = np.random.default_rng(7)
    pay = np.where(draw.random(size) < 0.4, 0.0, np.exp(draw.normal(8, 2, size)))
    return pyarrow.table(
        {
            "age": draw.integers(18, 91, size),
            "pay": pay,
            "seen": draw.integers(10_957, 20_000, size).astype("int32"),
            "ward": draw.choice(["a", "b", "z"], size, p=[0.5, 0.3, 0.2]),
            "city": draw.choice(["york", "bath", "rome"], size, p=[0.6, 0.3, 0.1]),
        }
    )


def rank_error(values: np.ndarray, found: float, rank: float) -> float:
    """How far a rank lies from those that a value has: a value many share has many ranks."""
    return max(float((values < found).mean()) - rank, rank - float((values <= found).mean()), 0.0)


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_quantiles_are_near_their_ranks_with_no_bounds_given(delta: str) -> None:
    data = table()
    curator = wc.Curator.open(data, card=CARD, ledger="sqlite://", budget="1, 1e-6")
    found = curator.profile(["age", "pay", "seen"], epsilon=1, delta=delta).answer
    assert abs(found.records - data.num_rows) < 200
    for name in ("age", "pay", "seen"):
        values = np.asarray(data.column(name)).astype(float)
        for rank, most in ((0.05, 0.02), (0.5, 0.01), (0.95, 0.02)):
            assert rank_error(values, found.quantile(name, rank), rank) <= most, (name, rank)
        lower, upper = found.bounds(name)
        assert ((values >= lower) & (values <= upper)).mean() > 0.98


def test_unlisted_categories_and_texts_are_found_with_a_delta() -> None:
    curator = wc.Curator.open(table(), card=CARD, ledger="sqlite://", budget="1, 1e-6")
    found = curator.profile(epsilon=1, delta="1e-6").answer
    assert list(found.categories("ward")) == ["a", "b", "z"]
    assert set(found.categories("city")) == {"york", "bath", "rome"}
    assert found.card().column("city").categories == ("bath", "rome", "york", "(missing)")
    assert found.card().column("city").source == "priced question"


def test_texts_are_refused_without_a_delta_and_the_reason_is_said() -> None:
    question = wc.Profile(["city"], epsilon=1)
    with pytest.raises(wc.InvalidInput, match="pure differential privacy"):
        question.price(CARD)
    words = str(wc.Profile(epsilon=1).describe(CARD))
    assert "Left out: city" in words


def test_weights_divide_the_price_and_the_description_says_so() -> None:
    question = wc.Profile(["age", "pay"], epsilon=1, weights={"age": 3})
    assert [part.share for part in question.parts(CARD)] == [Fraction(3, 4), Fraction(1, 4)]
    assert "age 75%" in str(question.describe(CARD))


@pytest.mark.parametrize("weights", [{"age": 0}, {"age": "x"}, {"age": -1}, {"nobody": 1}])
def test_weights_that_are_none_are_refused(weights: dict[str, object]) -> None:
    with pytest.raises(wc.InvalidInput):
        wc.Profile(["age"], epsilon=1, weights=weights).price(CARD)
