"""Texts that stand for amounts and days are read value by value, and kinds say which fits."""

from __future__ import annotations

import math

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whitecrow.data import Card, Column, read
from whitecrow.data.values import KINDS, YES_NO, amount, day, kind
from whitecrow.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("€208.56", 208.56),
        ("$1,234,567.5", 1234567.5),
        ("1 234", 1234.0),
        ("12 %", 12.0),
        ("-€5", -5.0),
        ("€-5", -5.0),
        ("(3.50)", -3.5),
        ("5 EUR", 5.0),
        ("USD 10", 10.0),
        ("1e3", 1000.0),
        (" 7 ", 7.0),
    ],
)
def test_an_amount_is_read_without_what_people_write_around_it(text: str, value: float) -> None:
    assert amount(text) == value


@pytest.mark.parametrize(
    "text", ["", "free", "12 kg", "1,23", "1,2345", "(-5)", "--5", "$", "1.2.3"]
)
def test_what_is_no_amount_is_missing(text: str) -> None:
    assert math.isnan(amount(text))


@pytest.mark.parametrize(
    ("text", "value"), [("1.234,50 €", 1234.5), ("12,5", 12.5), ("1.000", 1000.0), ("7", 7.0)]
)
def test_with_a_decimal_comma_comma_and_point_change_places(text: str, value: float) -> None:
    assert amount(text, decimal_comma=True) == value


def test_days_are_read_in_the_declared_order_and_years_first_in_both() -> None:
    assert day("5/6/2024") == day("5.6.24") == day("2024-06-05") == day("June 5, 2024")
    assert day("5/6/2024", month_first=True) == day("2024-05-06") == day("6 May 2024")
    assert day("31/4/2024") is None
    assert day("13/13/2024") is None
    assert day("5/6/24 10:15") == day("5/6/2024")


@given(st.text(max_size=60))
def test_every_text_has_one_kind_and_readings_never_fail(text: str) -> None:
    assert kind(text) in (*KINDS, None)
    amount(text)
    amount(text, decimal_comma=True)
    day(text)
    day(text, month_first=True)


@given(st.floats(-1e12, 1e12), st.sampled_from("€$£¥"))
def test_an_amount_of_two_decimals_comes_back(value: float, sign: str) -> None:
    written = f"{sign}{abs(value):,.2f}"
    assert amount(written) == float(f"{abs(value):.2f}")
    assert kind(written) == "amount"


@given(st.dates())
def test_a_day_comes_back_in_either_order(when: object) -> None:
    import datetime

    assert isinstance(when, datetime.date)
    number = when.toordinal() - datetime.date(1970, 1, 1).toordinal()
    assert day(f"{when.day}/{when.month}/{when.year:04}") == number
    assert day(f"{when.month}/{when.day}/{when.year:04}", month_first=True) == number


def test_a_card_reads_amounts_dates_and_kinds() -> None:
    rows = pyarrow.table(
        {"paid": ["€1,000.50", "7", "none"], "seen": ["1/2/2024", "2024-02-01", "x"]}
    )
    card = Card(
        "visits",
        (
            Column("paid", format="amount", missing="fill", fill=-1),
            Column("seen", "date", format="day first", missing="fill", fill="1970-01-01"),
        ),
    )
    found = read(rows, card)
    assert found.values("paid").tolist() == [1000.5, 7.0, -1.0]
    assert found.values("seen").tolist() == [19754, 19754, 0]
    kinds = Card("kinds", (Column("paid", "category", categories=KINDS, format="kind"),))
    codes = read(rows, kinds).values("paid").tolist()
    assert [KINDS[code] for code in codes] == ["amount", "whole number"]  # "none" is missing


def test_a_format_is_part_of_what_a_card_says_of_records() -> None:
    plain, amounts = (Card("x", (Column("a", format=form),)) for form in ("", "amount"))
    assert plain.fingerprint() != amounts.fingerprint()
    assert Card.from_json(amounts.to_json()) == amounts
    assert "format" not in plain.to_json()["columns"][0]
    with pytest.raises(InvalidInput, match="'format' parameter of column 'a'"):
        Column("a", "date", format="amount")


def test_values_outside_bounds_and_categories_may_count_as_missing() -> None:
    rows = pyarrow.table({"age": [5.0, 500.0, float("inf")], "ward": ["a", "z", None]})
    card = Card(
        "x",
        (
            Column("age", lower=0, upper=120, outside="missing", missing="value"),
            Column("ward", "category", categories=("a", "b"), outside="missing", missing="value"),
        ),
    )
    found = read(rows, card)
    assert found.size == 3
    absent = card.column("age").absent
    assert found.values("age").tolist() == [5.0, absent, absent]
    assert found.values("ward").tolist() == [0, 2, 2]


def test_words_of_yes_and_no_are_known_in_every_usual_writing() -> None:
    assert {"yes", "Yes", "YES", "n", "N", "True", "FALSE"} <= set(YES_NO)
    assert len(set(YES_NO)) == len(YES_NO)
