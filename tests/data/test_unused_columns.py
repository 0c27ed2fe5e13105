"""A column that nobody asks about leaves no record out, on any engine."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whitecrow as wc
from whitecrow.card import ABSENT_NUMBER, Card, Column
from whitecrow.data import read
from whitecrow.data.columns import Decoded, as_read, convert, recovered
from whitecrow.data.dataset import Plain
from whitecrow.data.values import decoded
from whitecrow.data.warehouse import open_remote
from whitecrow.neighbours import LocalEngine, NeighbourRelation
from whitecrow.neighbours._remote import RemoteEngine

NUMBERS = [None, "3", "3.5", "-1", "12", "inf", "nan", "x", "true", repr(ABSENT_NUMBER)]
TEXTS = [None, "a", "b", "z", "", "missing", "3"]
DAYS = [None, "2024-01-31", "1969-12-30", "2030-01-01", "soon", "9999-12-31"]

NUMERIC = [
    {"type": kind, "lower": 0, "upper": 10, "outside": outside, **missing}
    for kind in ("number", "integer")
    for outside in ("reject", "clip", "missing")
    for missing in ({}, {"missing": "fill", "fill": 3}, {"missing": "value"})
] + [
    {"type": kind, **missing}
    for kind in ("number", "integer")
    for missing in ({}, {"missing": "value"})
]
CATEGORIES = [
    {"type": "category", "categories": ("a", "b"), "outside": outside, **missing}
    for outside in ("reject", "missing")
    for missing in ({}, {"missing": "fill", "fill": "b"}, {"missing": "value"})
]
DATES = [
    {"type": "date", "lower": "2000-01-01", "upper": "2029-01-01", "outside": outside, **missing}
    for outside in ("reject", "clip", "missing")
    for missing in ({}, {"missing": "value"})
]


@pytest.mark.parametrize(
    ("said", "written"),
    [
        *((said, NUMBERS) for said in NUMERIC),
        *((said, TEXTS) for said in CATEGORIES),
        *((said, DAYS) for said in DATES),
        ({"type": "text"}, TEXTS),
    ],
    ids=str,
)
def test_what_was_read_of_a_record_left_out_is_what_the_card_makes_of_it(said, written):
    """The values of records that another column leaves out are checked as all others are."""
    column = Card.from_json({"name": "c", "columns": [{"name": "v", **said}]}).column("v")
    array = decoded(pa.array(written, pa.string()))
    values, bad = convert(array, column)
    passes = ~np.logical_or.reduce(list(bad.values()))
    again, also = recovered(as_read(array, column), column)
    assert also.tolist() == passes.tolist()
    assert passes.any()
    if column.type != "text":
        assert again[passes].tolist() == values[passes].astype(float).tolist()


CARD = Card(
    "messy",
    (
        Column("x", lower=0, upper=9),
        Column("y", lower=0, upper=9),
        Column("kind", "category", categories=("a", "b")),
        Column("note", "text"),
    ),
)
PUBLIC_SIZE = replace(CARD, size_public=True, size=1000)
rows = st.lists(
    st.tuples(
        st.sampled_from([None, 1.0, 2.0, 99.0]),
        st.sampled_from([None, 1.0, 3.0, -5.0]),
        st.sampled_from([None, "a", "b", "odd"]),
        st.sampled_from([None, "fine"]),
    ),
    max_size=12,
)
PASSES = {
    "x": lambda value: value is not None and 0 <= value <= 9,
    "y": lambda value: value is not None and 0 <= value <= 9,
    "kind": lambda value: value in ("a", "b"),
    "note": lambda value: value is not None,
}


def table(rows, **more):
    types = {"x": pa.float64(), "y": pa.float64(), "kind": pa.string(), "note": pa.string()}
    columns = {name: [row[place] for row in rows] for place, name in enumerate(types)}
    schema = pa.schema([*types.items(), *((name, pa.string()) for name in more)])
    return pa.table({**columns, **more}, schema=schema)


def expected(rows, columns, card):
    """Who counts, said once more: under a public size all columns are checked."""
    place = {name: number for number, name in enumerate(PASSES)}
    checked = PASSES if card.size_public else columns
    passing = [row for row in rows if all(PASSES[name](row[place[name]]) for name in checked)]
    codes = {"a": 0.0, "b": 1.0}
    return sorted(
        tuple(codes.get(row[place[name]], row[place[name]]) for name in columns) for row in passing
    )


@settings(max_examples=60, deadline=None)
@given(rows, st.sampled_from([CARD, PUBLIC_SIZE]))
def test_the_columns_asked_about_decide_who_counts(rows, card):
    source = table(rows)
    here, there = read(source, card), open_remote(source, card)
    decoding = Decoded(source.combine_chunks().to_batches()[0], card) if rows else None
    assert here.size == there.size == len(expected(rows, tuple(PASSES), PUBLIC_SIZE))
    for columns in (("x",), ("y", "x"), ("kind",), ("x", "kind"), ("y",)):
        wanted = expected(rows, columns, card)
        matrix = here.matrix(columns)
        assert sorted(map(tuple, matrix.tolist())) == wanted
        assert here.rows(columns, np.arange(len(matrix))).tolist() == matrix.tolist()
        assert here.count(columns) == there.count(columns) == len(wanted)
        assert len(wanted) <= min(here.size_at_most, there.size_at_most)
        if decoding is not None:
            found = decoding.matrix(columns, card.deciding(columns))
            assert sorted(map(tuple, found.tolist())) == wanted
        for dataset in (here, there):
            groups, counts = dataset.tally([Plain(name) for name in columns])
            listed = [
                tuple(map(float, group))
                for group, count in zip(zip(*groups, strict=True), counts, strict=True)
                for _ in range(count)
            ]
            assert sorted(listed) == wanted
    relation = NeighbourRelation(("x", "y"), radius=1.5)
    for engine in (LocalEngine(here), RemoteEngine(there)):
        near = sum(math.dist((1.0, 1.0), one) <= 1.5 for one in expected(rows, ("x", "y"), card))
        assert engine.neighbours([[1.0, 1.0]], relation).tolist() == [near]
        assert len(engine.degrees(relation)) == len(expected(rows, ("x", "y"), card))
    there.close()


@settings(max_examples=60, deadline=None)
@given(rows, st.data())
def test_of_a_person_no_more_records_count_than_the_card_allows(rows, data):
    """Whatever is asked about, and each chosen by that person's records alone."""
    who = [data.draw(st.sampled_from(["ann", "bob", None])) for _ in rows]
    card = replace(
        CARD,
        columns=(*CARD.columns, Column("who", "text")),
        unit="user",
        user_column="who",
        contribution=2,
    )
    everyone = read(table(rows, who=who), card)
    columns = [("x",), ("y",), ("x", "y"), ("kind",)]
    together = {name: [] for name in columns}
    for person in ("ann", "bob"):
        own = [row for row, name in zip(rows, who, strict=True) if name == person]
        alone = read(table(own, who=[person] * len(own)), card)
        for name in columns:
            assert alone.count(name) <= 2
            together[name] += alone.matrix(name).tolist()
    for name in columns:
        assert sorted(everyone.matrix(name).tolist()) == sorted(together[name])


def test_a_question_loses_no_row_to_a_column_it_does_not_use():
    number = 2000
    values = np.random.default_rng(1).uniform(0, 9, number)
    rows = [(x, 1.0, "a", None if place % 3 else "fine") for place, x in enumerate(values.tolist())]
    curator = wc.Curator.open(table(rows), card=CARD, budget="200", ledger="sqlite://")
    detector = curator.learn(columns=["x", "y"], epsilon="100").answer
    assert abs(detector.records - number) < 20
    everyone = wc.DistanceAnomaly(beta=number, radius=9)  # to which everybody is an outlier
    assert curator.count(["x"], model=everyone, epsilon="100").answer > 0.9 * number


def test_other_rules_for_leaving_out_are_other_readings():
    """Zones, balls and conditions carry the fingerprint: none of two rules is taken for one."""
    assert CARD.fingerprint() != PUBLIC_SIZE.fingerprint()
    assert PUBLIC_SIZE.fingerprint() == replace(PUBLIC_SIZE, size=7).fingerprint()
