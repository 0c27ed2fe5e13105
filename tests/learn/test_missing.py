"""Missing values as a value of their own, from the card to the score."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

import whitecrow as wc
from whitecrow.card import ABSENT_DAY, ABSENT_NUMBER
from whitecrow.detector import Detector
from whitecrow.detector.model import grid_of

CARD = wc.Card(
    "visits",
    (
        wc.Column("age", "integer", lower=0, upper=120, missing="value"),
        wc.Column("pay", missing="value"),
        wc.Column("bmi", lower=10, upper=60, missing="value", outside="clip"),
        wc.Column("ward", "category", categories=("a", "b"), missing="value"),
        wc.Column("seen", "date", lower="2020-01-01", upper="2024-12-31", missing="value"),
        wc.Column("pulse", lower=20, upper=220),
    ),
)


def visits(size: int = 12_000, seed: int = 2) -> pa.Table:
    """Ages are always known; pay is unknown of a third; what else is missing is rare."""
    source = np.random.default_rng(seed)
    days = source.integers(18_300, 19_900, size).astype(np.int32)
    return pa.table(
        {
            "age": source.integers(18, 95, size),
            "pay": pa.array(np.exp(source.normal(7, 1, size)), mask=source.random(size) < 1 / 3),
            "bmi": pa.array(source.normal(25, 3, size), mask=source.random(size) < 0.02),
            "ward": pa.array(source.choice(["a", "b"], size).tolist(), mask=days % 7 == 0),
            "seen": pa.array(days, pa.int32()).cast(pa.date32()),
            "pulse": source.normal(75, 10, size),
        }
    )


@pytest.fixture(scope="module")
def detector() -> Detector:
    curator = wc.Curator.open(visits(), card=CARD, budget="8", ledger="sqlite://", name="visits")
    found: Detector = curator.learn(epsilon="8", false_alarms=[0.05]).answer
    return found


ORDINARY = {"age": 50, "pay": 1100.0, "bmi": 25.0, "ward": "a", "seen": "2022-06-01", "pulse": 75.0}


def test_records_with_missing_values_are_kept_and_told_apart():
    dataset = wc.read(visits(500), CARD)
    assert dataset.size == 500
    assert (dataset.values("pay") == ABSENT_NUMBER).sum() > 100
    odd = pa.table(
        {
            "age": pa.array([None, 3.5, 4.0]),
            "pay": pa.array([float("nan"), 1.0, float("inf")]),
            "bmi": pa.array([None, 5.0, 70.0]),
            "ward": pa.array([None, "a", "b"]),
            "seen": pa.array([None, datetime.date(2022, 1, 1), datetime.date(2031, 1, 1)]),
            "pulse": [70.0, 70.0, 70.0],
        }
    )
    # The third is left out: infinite pay, and a date outside the bounds.
    kept = wc.read(odd, CARD)
    assert kept.values("age").tolist() == [ABSENT_NUMBER, ABSENT_NUMBER]
    assert kept.values("bmi").tolist() == [ABSENT_NUMBER, 10.0]
    assert kept.values("ward").tolist() == [2, 0]
    assert kept.values("seen").tolist()[0] == ABSENT_DAY


@pytest.mark.parametrize("name", ["age", "pay", "bmi", "seen"])
def test_a_missing_value_has_a_cell_of_its_own_through_every_refinement(name):
    column = CARD.column(name)
    grid = grid_of(column)
    least = -700_000.0 if column.type == "date" else -1e300
    values = np.array([column.absent, least, 0.0, 18_500.0, 1e300])
    for _ in range(3):
        codes = grid.codes(values)
        assert codes[0] == 0
        assert codes[1:].min() >= 1
        assert grid.present.codes(values[1:]).tolist() == (codes[1:] - 1).tolist()
        parents = grid.refined((0, 3)).parents()
        assert parents[0] == 0
        assert parents.max() == grid.cells - 1
        grid = grid.refined((0, 1, 3))


def test_a_common_absence_is_ordinary_and_a_rare_one_is_strange(detector):
    base = detector.scores(ORDINARY)[0]
    without = {name: detector.scores({**ORDINARY, name: None})[0] for name in CARD.names}
    assert np.isnan(without.pop("pulse"))
    assert without["pay"] < base + 1
    for rare in ("age", "bmi", "seen"):
        assert without[rare] > without["pay"] + 1, rare
    assert detector.scores({**ORDINARY, "age": "unknown"})[0] == without["age"]


def test_made_up_records_are_missing_as_often_as_released(detector):
    made_up = detector.sample(4000)
    assert abs(made_up["pay"].null_count / 4000 - 1 / 3) < 0.05
    assert made_up["pulse"].null_count == 0
    assert wc.read(made_up, CARD).size == 4000
    assert "missing (33%)" in detector.report() or "missing (3" in detector.report()


def test_a_file_keeps_what_is_missing(detector):
    again = Detector.from_bytes(detector.to_bytes())
    table = detector.sample(300)
    assert again.scores(table).tobytes() == detector.scores(table).tobytes()


def test_duckdb_scores_missing_values_with_the_same_bits(detector):
    import duckdb

    table = visits(200, seed=9).append_column("number", pa.array(range(200)))
    text = detector.sql("duckdb", "table", keep=["number"])
    found = [score for _, score in sorted(duckdb.sql(text).fetchall())]
    assert np.array(found).tobytes() == detector.scores(table).tobytes()


def test_other_questions_are_refused_by_the_card_alone():
    curator = wc.Curator.open(visits(10), card=CARD, budget="1", ledger="sqlite://", name="few")
    question = wc.Count(["pulse"], model=wc.DistanceAnomaly(3, 1.0), epsilon="1/2")
    with pytest.raises(wc.InvalidInput, match="missing values of 'age'"):
        curator.price(question)


def test_text_cannot_be_missing_as_a_value():
    with pytest.raises(wc.InvalidInput, match="in a column of text"):
        wc.Column("note", "text", missing="value")
