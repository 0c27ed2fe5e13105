"""The question ``learn`` as custodians and analysts meet it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import whitecrow as wc
from whitecrow.learning import TYPE
from whitecrow.learning.question import expected
from whitecrow.testing import check_question

CARD = wc.Card(
    "clinic",
    (
        wc.Column("age", "integer", lower=0, upper=120),
        wc.Column("bmi", lower=10, upper=60),
        wc.Column("ward", "category", categories=("a", "b", "c")),
        wc.Column("pay"),
        wc.Column("note", "text"),
    ),
)


def clinic(size: int, seed: int = 0) -> pa.Table:
    source = np.random.default_rng(seed)
    return pa.table(
        {
            "age": source.integers(18, 95, size),
            "bmi": source.normal(25, 3, size).clip(11, 59),
            "ward": source.choice(["a", "b", "c"], size, p=[0.7, 0.25, 0.05]).tolist(),
            "pay": np.exp(source.normal(8, 1, size)),
            "note": ["-"] * size,
        }
    )


def learned(size: int = 12_000, card: wc.Card = CARD, **parameters: object) -> wc.Detector:
    given = {"epsilon": "1", "delta": "1e-6", **parameters}
    with wc.Curator.open(clinic(size), card=card, budget="50, 1e-3", ledger="sqlite://") as curator:
        found = curator.learn(**given).answer
    assert isinstance(found, wc.Detector)
    return found


def test_it_keeps_the_contract_of_questions() -> None:
    examples = [
        wc.Learn(epsilon="1"),
        wc.Learn(["age", "ward"], epsilon="2", delta="1e-6", false_alarms=[0.05, 0.01], seed=3),
    ]
    assert check_question(TYPE, examples, clinic(300), CARD)


def test_a_learned_detector_ranks_strange_records_first() -> None:
    detector = learned()
    strange = {"age": 119, "bmi": 55.0, "ward": "c", "pay": 1e7, "note": "-"}
    common = detector.scores(clinic(2000, seed=1))
    assert detector.scores(strange)[0] > np.quantile(common, 0.999)
    words = detector.explain(strange)
    assert "adds" in words
    assert "usual is" in words


def test_the_threshold_is_met_within_a_fraction_of_a_point() -> None:
    detector = learned(40_000, false_alarms=[0.01, 0.05], threshold_share="1/5")
    fresh = clinic(40_000, seed=2)
    for rate, away in ((0.01, 0.0035), (0.05, 0.006)):
        assert abs(detector.predict(fresh, false_alarms=rate).mean() - rate) < away


def test_too_few_records_for_a_rate_are_said_and_not_hidden() -> None:
    detector = learned(1500, false_alarms=[0.01])
    assert detector.thresholds[0].score is None
    with pytest.raises(wc.InvalidInput, match="too few"):
        detector.predict(clinic(5))
    with pytest.raises(wc.InvalidInput, match="was bought"):
        detector.predict(clinic(5), false_alarms=0.2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": "0"},
        {"epsilon": "1", "delta": "1"},
        {"epsilon": "1", "false_alarms": [0.7]},
        {"epsilon": "1/1000", "delta": "1e-300"},
        {"epsilon": "1", "seed": -1},
    ],
)
def test_wrong_parameters_are_refused_before_anything_is_spent(wrong: dict[str, object]) -> None:
    with pytest.raises(wc.InvalidInput):
        wc.Learn(**wrong)


@pytest.mark.parametrize("columns", [["note"], ["nobody"], ["age", "note"]])
def test_columns_that_cannot_be_learned_are_refused(columns: list[str]) -> None:
    with pytest.raises(wc.InvalidInput):
        wc.Learn(columns, epsilon="1").price(CARD)


def test_persons_with_several_records_cost_more_noise() -> None:
    person = wc.Card(
        "visits",
        (*CARD.columns[:4], wc.Column("who", "text")),
        unit="user",
        user_column="who",
        contribution=3,
    )
    table = clinic(3000).drop_columns(["note"])
    table = table.append_column("who", pa.array([str(i // 4) for i in range(3000)]))
    with wc.Curator.open(table, card=person, budget="5, 1e-3", ledger="sqlite://") as curator:
        mine = curator.learn(epsilon="1", delta="1e-6").answer
    assert "who" not in mine.columns
    records = learned(3000)
    assert mine.model.noise > 2.5 * records.model.noise
    assert abs(mine.records - 2250) < 1500


def test_replace_one_is_priced_and_promised_as_such() -> None:
    with wc.Curator.open(
        clinic(3000),
        card=CARD,
        budget="5, 1e-3",
        ledger="sqlite://",
        policy={"unit": "replace_one"},
    ) as curator:
        detector = curator.learn(epsilon="1", delta="1e-6", relation="replace_one").answer
    assert detector.guarantee.unit == "replace_one"
    assert "whichever values" in detector.statement


def test_the_description_says_when_the_price_is_too_small_for_the_data() -> None:
    small = wc.Learn(epsilon="0.1").describe(CARD, expected_records=500)
    large = wc.Learn(epsilon="1", delta="1e-6").describe(CARD, expected_records=20_000)
    assert "too small" in str(small)
    assert "too small" not in str(large)
    assert small.figures["expected_auc"] < large.figures["expected_auc"]
    assert small.figures["enough_records"] is None or (
        small.figures["enough_records"] > 5 * large.figures["enough_records"]
    )
    assert large.figures["columns_without_bounds"] == ["pay"]


def test_without_a_guess_the_description_says_from_how_many_records_on_it_is_worth_it() -> None:
    said = wc.Learn(epsilon="1", delta="1e-6").describe(CARD)
    assert f"{said.figures['enough_records']:,} records." in str(said)
    assert "expected_auc" not in said.figures


def test_persons_with_many_records_are_told_to_expect_less() -> None:
    question = wc.Learn(["age", "bmi"], epsilon="1", delta="1e-6")
    one, several = (
        wc.Card("visits", (*CARD.columns[:2], wc.Column("who", "text")), **unit)
        for unit in ({}, {"unit": "user", "user_column": "who", "contribution": 10})
    )
    leads = [
        question.describe(card, expected_records=1000).figures["expected_lead"]
        for card in (one, several)
    ]
    assert leads[0] > leads[1]


def test_a_price_whose_noise_cannot_be_drawn_is_refused_when_priced() -> None:
    """Behind the boundary it would be a failure, and close the dataset to everybody."""
    card = wc.Card("people", (wc.Column("age", lower=0, upper=120),))
    with pytest.raises(wc.InvalidInput, match="larger price"):
        wc.Learn(["age"], epsilon="1e-60").price(card)
    wc.Learn(["age"], epsilon="1e-6").price(card)


@pytest.mark.parametrize("size", [0, 1, 2])
def test_hardly_any_records_are_learned_from_like_many(size: int) -> None:
    """Whether a computation succeeds must not depend on the records."""
    for price in ({"delta": "0"}, {"delta": "1e-6"}):
        detector = learned(size, **price)
        assert np.isfinite(detector.scores(clinic(20, seed=3))).all()


def test_columns_of_one_or_two_values_are_learned() -> None:
    card = wc.Card(
        "flags",
        (
            wc.Column("flag", "integer", lower=0, upper=1),
            wc.Column("kind", "category", categories=("only",)),
        ),
    )
    source = np.random.default_rng(0)
    table = pa.table({"flag": (source.random(5000) < 0.03).astype(int), "kind": ["only"] * 5000})
    with wc.Curator.open(table, card=card, budget="2, 1e-5", ledger="sqlite://") as curator:
        detector = curator.learn(epsilon="1", delta="1e-6").answer
    rare, common = detector.scores([{"flag": 1, "kind": "only"}, {"flag": 0, "kind": "only"}])
    assert rare > common
    assert detector.model.grids[0].cells == 2


def test_values_of_any_size_are_learned_without_bounds() -> None:
    card = wc.Card("wide", (wc.Column("x"), wc.Column("y", "integer")))
    source = np.random.default_rng(1)
    table = pa.table(
        {"x": 10.0 ** source.uniform(-300, 300, 3000), "y": source.integers(-(2**50), 2**50, 3000)}
    )
    with wc.Curator.open(table, card=card, budget="2, 1e-5", ledger="sqlite://") as curator:
        detector = curator.learn(epsilon="1", delta="1e-6", false_alarms=[0.05]).answer
    assert np.isfinite(detector.scores(table)).all()


def test_more_records_at_a_higher_price_are_expected_to_lead_by_more() -> None:
    (_, much), (_, little) = (
        expected("gaussian", 1.0, 10, 30_000),
        expected("gaussian", 0.1, 10, 300),
    )
    assert much > little
