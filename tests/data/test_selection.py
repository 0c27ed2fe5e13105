"""Whose a record is, and which of a person's records count: exact, and whatever the order."""

import itertools
import math
import sqlite3
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from whitecrow.data import Card, Column, SqlQuery, read
from whitecrow.errors import InvalidInput

CARD = Card(
    "visits",
    (
        Column("who", "text"),
        Column("x", lower=-10, upper=10, outside="clip"),
        Column("ward", "category", categories=("north", "south")),
        Column("day", "date"),
        Column("note", "text", missing="fill", fill="none"),
    ),
    unit="user",
    user_column="who",
    contribution=2,
)
ROWS = [
    ("ann", 3.0, "north", "2024-01-01", "a"),
    ("ann", -0.0, "south", "2024-01-01", "b"),
    ("ann", 0.0, "north", "2024-01-02", "c"),
    ("ann", 99.0, "north", "2024-01-02", "d"),
    ("bob", 1.0, "south", "2024-01-03", None),
    ("bob", 1.0, "south", "2024-01-02", "f"),
    ("bob", 1.0, "north", "2024-01-03", "g"),
    ("cy", None, "north", "2024-01-03", "h"),
    ("cy", 7.0, "north", "2024-01-03", "i"),
    (None, 7.0, "north", "2024-01-03", "j"),
]
# By the checked values, column by column; 0.0 and -0.0 are one value.
KEPT = [(0.0, 0, 19724), (0.0, 1, 19723), (1.0, 0, 19725), (1.0, 1, 19724), (7.0, 0, 19725)]


def table(rows):
    return pa.table(dict(zip(CARD.names, map(list, zip(*rows, strict=True)), strict=True)))


def records(dataset):
    columns = [dataset.values(name).tolist() for name in ("x", "ward", "day")]
    return sorted(zip(*columns, strict=True))


def stored(rows, folder):
    """The same rows, in all the places that are read here."""
    folder.mkdir()
    made = table(rows)
    csv.write_csv(made, folder / "visits.csv")
    parquet.write_table(made, folder / "visits.parquet", row_group_size=3)
    with sqlite3.connect(folder / "visits.db") as connection:
        connection.execute("create table visits (who, x, ward, day, note)")
        connection.executemany("insert into visits values (?, ?, ?, ?, ?)", rows)
    connection.close()
    return (
        made,
        made.to_pandas(),
        folder / "visits.csv",
        folder / "visits.parquet",
        SqlQuery(f"sqlite:///{folder / 'visits.db'}", "visits"),
    )


def test_row_order_never_decides_which_records_of_a_person_count(tmp_path):
    """Files of one name in other folders, row groups, frames and databases: one set of records."""
    rng = np.random.default_rng(0)
    for turn in range(6):
        rows = [ROWS[i] for i in rng.permutation(len(ROWS))]
        for source in stored(rows, tmp_path / str(turn)):
            assert records(read(source, CARD)) == KEPT


def test_the_selection_is_that_of_each_person_alone():
    """Other people's records do not change which of mine count."""
    alone = records(read(table([row for row in ROWS if row[0] == "ann"]), CARD))
    assert alone == [row for row in KEPT if row[0] == 0.0]


def test_records_that_differ_in_text_only_are_alike_to_every_question():
    """Text is not compared: which of them is kept cannot be asked."""
    rows = [("ann", 1.0, "north", "2024-01-01", text) for text in "zyx"]
    for order in itertools.permutations(rows):
        assert records(read(table(order), CARD)) == [(1.0, 0, 19723)] * 2


def test_the_rule_of_selection_is_in_the_digest_of_the_card(monkeypatch):
    from whitecrow import card as module

    before = CARD.fingerprint()
    monkeypatch.setattr(module, "_USER_RULES", {"selection": "first in the file, 0"})
    assert replace(CARD).fingerprint() != before
    plain = Card("x", (Column("x"),))
    assert replace(plain, name="other").fingerprint() == plain.fingerprint()


def screen_law(values, place, radius, epsilon):
    """P(yes) of a randomised answer to "is somebody here": the simplest located question."""
    here = any(abs(value - place) <= radius for value in values)
    yes = math.exp(epsilon) / (1 + math.exp(epsilon))
    return yes if here else 1 - yes


def test_two_readings_of_a_source_cost_one_person_one_ball():
    """Exact joint law of two located questions, asked of the source in two orders of its rows.

    The balls are disjoint, so the account charges epsilon once. With the first record of the file
    kept, ann would stand in the first ball by one reading and in the second by the other, and lose
    twice epsilon.
    """
    card = Card("v", (Column("who", "text"), Column("x")), unit="user", user_column="who")
    ann = [("ann", 0.0), ("ann", 5.0)]
    others = [("bob", 9.0)]

    def read_values(rows):
        columns = dict(zip(("who", "x"), map(list, zip(*rows, strict=True)), strict=True))
        return read(pa.table(columns), card).values("x").tolist()

    def joint(rows):
        first, second = read_values(rows), read_values(rows[::-1])
        one = screen_law(first, 0.0, 1.0, 1.0)
        two = screen_law(second, 5.0, 1.0, 1.0)
        return [a * b for a in (one, 1 - one) for b in (two, 1 - two)]

    with_ann, without = joint(ann + others), joint(others)
    loss = max(abs(math.log(a / b)) for a, b in zip(with_ann, without, strict=True))
    assert loss == pytest.approx(float(Fraction(1)), abs=1e-12)


BIG = 2**53


@pytest.mark.parametrize("kind", ["integer", "text"])
def test_two_ids_above_2_to_the_53_are_two_people(kind, tmp_path):
    card = Card("v", (Column("id", kind), Column("x")), unit="user", user_column="id")
    ids, values = [BIG, BIG + 1, None, BIG + 1], [1.0, 2.0, 3.0, 4.0]
    whole = pa.table({"id": pa.array(ids, pa.int64()), "x": values})
    decimals = pa.table({"id": pa.array(ids, pa.decimal128(38)), "x": values})
    words = pa.table({"id": pa.array([None if i is None else str(i) for i in ids]), "x": values})
    folder = tmp_path
    csv.write_csv(whole, folder / "v.csv")
    parquet.write_table(whole, folder / "v.parquet")
    with sqlite3.connect(folder / "v.db") as connection:
        connection.execute("create table v (id, x)")
        connection.executemany("insert into v values (?, ?)", list(zip(ids, values, strict=True)))
    connection.close()
    import pandas
    import polars

    sources = [
        whole,
        decimals,
        words,
        words.set_column(0, "id", words["id"].cast(pa.string_view())),
        words.set_column(0, "id", words["id"].dictionary_encode()),
        pandas.DataFrame({"id": pandas.array(ids, dtype="Int64"), "x": values}),
        pandas.DataFrame({"id": pandas.Series(ids, dtype=object), "x": values}),
        polars.from_arrow(whole),
        folder / "v.csv",
        folder / "v.parquet",
        SqlQuery(f"sqlite:///{folder / 'v.db'}", "select id, x from v"),
    ]
    for source in sources:
        assert sorted(read(source, card).values("x").tolist()) == [1.0, 2.0], type(source)


def test_one_missing_id_does_not_make_floats_of_the_others():
    """pandas does: such a column is refused by its type, and told what to do."""
    import pandas

    frame = pandas.DataFrame({"id": [1, None], "x": [1.0, 2.0]})
    card = Card("v", (Column("id", "integer"), Column("x")), unit="user", user_column="id")
    with pytest.raises(InvalidInput, match=r"user column 'id' holds double.*Int64"):
        read(frame, card)
    for wrong in (pa.float32(), pa.timestamp("us"), pa.bool_(), pa.decimal128(9, 2)):
        columns = (Column("id", "text"), Column("x"))
        empty = pa.table({"id": pa.array([], wrong), "x": pa.array([], pa.float64())})
        with pytest.raises(InvalidInput, match="must be text or a whole number"):
            read(empty, replace(card, columns=columns))


@pytest.mark.parametrize(
    ("column", "word"),
    [
        (Column("id", "text", missing="fill", fill="nobody"), "missing"),
        (Column("id", "integer", missing="fill", fill=0), "missing"),
        (Column("id", "integer", lower=0, upper=9, outside="clip"), "outside"),
        (Column("id", "number"), "type"),
        (Column("id", "date"), "type"),
        (Column("id", "category", categories=("a",)), "type"),
    ],
)
def test_a_card_that_would_merge_people_is_refused(column, word):
    with pytest.raises(InvalidInput, match=f"'{word}' parameter of the user column 'id'"):
        Card("v", (column, Column("x")), unit="user", user_column="id")


def test_ids_that_look_alike_are_not_one_person():
    """Trailing spaces and zero bytes, other cases, other ways to write one letter."""
    ids = ["a", "a ", "a\0", "A", "\u00e9", "e\u0301", ""]
    card = Card("v", (Column("id", "text"), Column("x")), unit="user", user_column="id")
    source = pa.table({"id": ids, "x": [float(i) for i in range(len(ids))]})
    assert read(source, card).size == len(ids)


def test_an_id_that_is_no_whole_number_names_nobody():
    card = Card("v", (Column("id", "integer"), Column("x")), unit="user", user_column="id")
    ids = ["7", "007", "7.00", "1e3", "7.5", "x", "", None, "-0", "0"]
    found = read(pa.table({"id": ids, "x": [float(i) for i in range(len(ids))]}), card)
    assert sorted(found.values("x").tolist()) == [0.0, 8.0]
