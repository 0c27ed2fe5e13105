"""Asking: price, charge once, answer, refuse."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import whitecrow as wc
from whitecrow.question import digest

MODEL = wc.DistanceAnomaly(beta=2, radius=5.0)
ROWS = pa.table({"age": [30.0, 31.0, 32.0, 90.0], "bmi": [20.0, 21.0, 22.0, 35.0]})


def asked(age: float = 90, epsilon: object = "1/10") -> wc.Identify:
    return wc.Identify({"age": age, "bmi": 35}, model=MODEL, epsilon=epsilon)


def test_the_readme_example_works_on_a_fresh_curator() -> None:
    curator = wc.Curator.open(ROWS)
    assert curator.price(asked()).epsilon == Fraction(1, 10)
    release = curator.ask(asked())
    assert release.answer in (True, False)
    assert release.charged
    assert release.guarantee == curator.price(asked())
    assert dict(curator.remaining()) == {
        "differential": Fraction(9, 10),
        "sensitive": Fraction(9, 10),
    }
    assert release.ledger["spent"]["differential"] == "unbounded"
    left = {"differential": "9/10", "sensitive": "9/10", "delta": "1/1000000"}
    assert release.ledger["remaining"] == left


def test_a_repeated_question_is_free_and_identical_however_it_is_spelled() -> None:
    curator = wc.Curator.open(ROWS)
    first = curator.ask(asked())
    for again in (
        asked(),
        asked(epsilon=0.1),
        asked(age=90.0),
        wc.Identify({"bmi": 35.0, "age": 90}, epsilon=Fraction(1, 10), model=MODEL),
    ):
        repeated = curator.ask(again, analyst="somebody else")
        assert (repeated.answer, repeated.charged) == (first.answer, False)
    assert curator.remaining()["sensitive"] == Fraction(9, 10)


def test_the_account_lies_beside_the_data_and_survives_the_curator(tmp_path: Path) -> None:
    parquet.write_table(ROWS, tmp_path / "people.parquet")
    first = wc.Curator.open(tmp_path / "people.parquet").ask(asked())
    assert (tmp_path / "people.whitecrow.db").exists()
    again = wc.Curator.open(str(tmp_path / "people.parquet")).ask(asked())
    assert (again.answer, again.charged) == (first.answer, False)


def test_an_overspend_says_requested_remaining_and_difference() -> None:
    curator = wc.Curator.open(ROWS, budget="1/4")
    curator.ask(asked(epsilon="1/5"))
    with pytest.raises(wc.BudgetExhausted) as refused:
        curator.ask(asked(epsilon="1/10"))
    assert (refused.value.requested, refused.value.remaining) == ("1/10", "1/20")
    assert "short by 1/20" in str(refused.value)
    assert curator.remaining()["sensitive"] == Fraction(1, 20)


def test_two_spellings_of_any_question_are_one_question() -> None:
    """Field order, number spelling and column order do not matter; values do."""
    one, other = wc.DistanceAnomaly(2, 5), wc.DistanceAnomaly(radius=5.0, beta=2)
    same: list[tuple[object, object]] = [
        (
            wc.Screen({"age": 1, "bmi": 2.0}, model=one, epsilon="0.10"),
            wc.Screen({"bmi": 2, "age": 1.0}, epsilon=Fraction(1, 10), model=other),
        ),
        (
            wc.Count(["bmi", "age"], model=one, epsilon="1/2"),
            wc.Count(("age", "bmi"), model=other, epsilon=0.5),
        ),
        (
            wc.Subspaces(1, columns=["bmi", "age"], model=one, epsilon=1),
            wc.Subspaces(size=1, columns=["age", "bmi"], model=other, epsilon="1.0"),
        ),
    ]
    for first, second in same:
        assert digest(first) == digest(second)  # type: ignore[arg-type]
        written = first.to_json()  # type: ignore[attr-defined]
        back = type(first).from_json(dict(reversed(written.items())))  # type: ignore[attr-defined]
        assert digest(back) == digest(first)  # type: ignore[arg-type]
    assert digest(asked(age=90)) != digest(asked(age=91))


def test_many_threads_with_one_question_get_one_answer_and_one_charge(tmp_path: Path) -> None:
    parquet.write_table(ROWS, tmp_path / "people.parquet")
    with wc.Curator.open(tmp_path / "people.parquet") as curator, ThreadPoolExecutor(8) as pool:
        releases = list(pool.map(lambda _: curator.ask(asked()), range(24)))
        assert len({release.answer for release in releases}) == 1
        assert sum(release.charged for release in releases) == 1
        assert curator.remaining()["sensitive"] == Fraction(9, 10)
