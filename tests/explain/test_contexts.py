"""Contexts: what a card makes of columns, and how contexts are written."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from whitecrow.data import Card, Column
from whitecrow.errors import InvalidInput
from whitecrow.explain.contexts import MOST_BITS, Attribute, Grid, Space


def space_of(card: Card, **record: object) -> Space:
    return Space.of(tuple(record), record, card)


def test_every_context_contains_the_records_own_values_and_all_are_different(card):
    space = space_of(card, Employer="B", Year="2004", Age=30)
    assert space.bits == 3 + 2 + 2
    seen = set()
    for context in range(1 << space.bits):
        labels = space.labels(context)
        assert "B" in labels["Employer"]
        assert "2004" in labels["Year"]
        assert "[18, 40)" in labels["Age"]
        assert space.context(labels) == context
        seen.add(str(labels))
    assert len(seen) == 1 << space.bits


def test_a_record_is_in_a_context_iff_its_signature_is_a_subset(card):
    space = space_of(card, Employer="B", Year="2004", Age=30)
    random = np.random.default_rng(0)
    columns = {
        "Employer": random.integers(0, 4, 50),
        "Year": random.integers(0, 3, 50),
        "Age": random.integers(18, 96, 50).astype(float),
    }
    needs = space.needs([a.codes(columns[a.name]) for a in space.attributes])
    for context in random.integers(0, 1 << space.bits, 20).tolist():
        chosen = dict(zip((a.name for a in space.attributes), space.chosen(context), strict=True))
        for row in range(50):
            inside = all(
                attribute.codes(columns[attribute.name][row : row + 1])[0] in chosen[attribute.name]
                for attribute in space.attributes
            )
            needed = sum(1 << bit for bit in needs[row].tolist() if bit >= 0)
            assert inside == (needed & ~context == 0)


def test_words_are_for_people(card):
    space = space_of(card, Employer="B", Year="2004", Age=30)
    assert space.words(0) == "Age in {[18, 40)} and Year in {2004} and Employer in {B}"
    assert space.words(2**space.bits - 1) == "any Age and any Year and any Employer"


def test_sql_is_quoted_and_selects_the_context(card):
    space = space_of(card, Employer="O'Neil", Age=70)
    context = space.context({"Employer": ["O'Neil", "A"], "Age": ["[65, 95]", "[18, 40)"]})
    where = space.where(context)
    assert where == ("((\"Age\" < 40) OR (\"Age\" >= 65)) AND \"Employer\" IN ('A', 'O''Neil')")
    assert space.where(2**space.bits - 1) == "1 = 1"
    rows = [("A", 20), ("A", 50), ("O'Neil", 95), ("B", 20)]
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE town (Employer TEXT, Age INTEGER)")
        base.executemany("INSERT INTO town VALUES (?, ?)", rows)
        found = base.execute(f"SELECT * FROM town WHERE {where}").fetchall()  # noqa: S608
    assert found == [("A", 20), ("O'Neil", 95)]


def test_hostile_names_stay_names():
    card = Card("toy", (Column('a"; DROP', "category", categories=("x'; --", "y")),))
    space = Space.of(('a"; DROP',), {'a"; DROP': "y"}, card)
    assert space.where(0) == '"a""; DROP" IN (\'y\')'
    assert Attribute.of('a"; DROP', card).where([0]) == "\"a\"\"; DROP\" IN ('x''; --')"


def test_integers_with_few_values_are_attributes_as_they_are():
    card = Card("toy", (Column("year", "integer", lower=1999, upper=2006),))
    space = Space.of(("year",), {"year": 2004}, card)
    assert space.bits == 7
    assert space.labels(space.context({"year": [1999, 2004]})) == {"year": [1999, 2004]}
    assert space.where(0) == '"year" IN (2004)'
    with pytest.raises(InvalidInput, match="no value 2010"):
        space.context({"year": [2010]})


def test_intervals_without_bounds_are_open():
    card = Card("toy", (Column("x", edges=(0.0, 1.5)),))
    attribute = Attribute.of("x", card)
    assert attribute.labels == ("(-inf, 0)", "[0, 1.5)", "[1.5, inf)")
    assert attribute.codes(np.array([-1.0, 0.0, 1.0, 1.5])).tolist() == [0, 1, 1, 2]
    assert attribute.where([1]) == '("x" >= 0 AND "x" < 1.5)'


def test_one_value_makes_no_free_bit_and_thousands_are_taken():
    many = tuple(str(i) for i in range(3000))
    card = Card(
        "toy",
        (
            Column("one", "category", categories=("only",)),
            Column("many", "category", categories=many),
        ),
    )
    space = Space.of(("one", "many"), {"one": "only", "many": "7"}, card)
    assert space.bits == 2999
    assert space.words(0) == "any one and many in {7}"
    too_many = Column("more", "category", categories=tuple(str(i) for i in range(MOST_BITS + 2)))
    with pytest.raises(InvalidInput, match="at most 4096"):
        Space.of(("more",), {"more": "7"}, Card("toy", (too_many,)))


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (Column("x", "text"), "category"),
        (Column("x", "date"), "year or month"),
        (Column("x", "number", lower=0, upper=1), "edges"),
        (Column("x", "integer"), "edges"),
        (Column("x", "integer", lower=0, upper=1000), "edges"),
    ],
)
def test_a_column_that_cannot_make_contexts_says_what_the_card_lacks(column, says):
    with pytest.raises(InvalidInput, match=says):
        Attribute.of("x", Card("toy", (column,)))


@pytest.mark.parametrize("value", ["Z", 3, None, "[0, 1)"])
def test_a_value_the_card_does_not_know_is_refused(card, value):
    with pytest.raises(InvalidInput, match="no value"):
        space_of(card, Employer=value)
    with pytest.raises(InvalidInput, match="no value"):
        space_of(card, Age=17)


def test_a_start_of_strange_attributes_is_refused(card):
    space = space_of(card, Employer="A")
    with pytest.raises(InvalidInput, match="no attribute"):
        space.context({"Year": ["2004"]})


def test_whole_floats_name_categories():
    card = Card("toy", (Column("year", "category", categories=("2003", "2004")),))
    assert Space.of(("year",), {"year": 2004.0}, card).own == (1,)
    assert Space.of(("year",), {"year": 2004}, card).own == (1,)


def test_the_grid_is_public_and_a_function_of_one_value():
    fine = Grid.of("x", Card("toy", (Column("x", lower=0, upper=1),)))
    assert fine.step.denominator == 10**10
    whole = Grid.of("x", Card("toy", (Column("x", "integer"),)))
    assert whole.cells(np.array([3.0, -2.0])).tolist() == [3, -2]
    cents = Grid.of("x", Card("toy", (Column("x", resolution=0.01),)))
    assert cents.cells(np.array([106601.41])).tolist() == [10660141]
    assert cents.cells(np.array([1e300])).tolist() == [2**36]


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (Column("x", "category", categories=("a",)), "number or an integer"),
        (Column("x", "text"), "number or an integer"),
        (Column("x"), "neither bounds nor a resolution"),
        (Column("x", lower=0, upper=1, resolution=1e-15), "coarser"),
    ],
)
def test_a_metric_that_is_not_numeric_or_bounded_is_refused(column, says):
    with pytest.raises(InvalidInput, match=says):
        Grid.of("x", Card("toy", (column,)))
