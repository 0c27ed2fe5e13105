"""Whose a record is, and which of a person's records count: the same on every engine."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import psycopg
import pyarrow as pa
import pytest

from whitecrow.data import Card, Column, read
from whitecrow.data.dataset import Plain
from whitecrow.data.warehouse import open_remote
from whitecrow.errors import InvalidInput

Opening = Callable[..., tuple[Any, Any]]

DAY = datetime.date(2024, 1, 1)
WARDS = ("north", "south", "east")
CARD = Card(
    "visits",
    (
        Column("id", "integer"),
        Column("x", lower=-3, upper=3, outside="clip"),
        Column("ward", "category", categories=WARDS, missing="fill", fill="east"),
        Column("day", "date"),
        Column("y"),
        Column("note", "text", missing="fill", fill="-"),
    ),
    unit="user",
    user_column="id",
    contribution=2,
)
VALUES = ["x", "ward", "day", "y"]


def visits(seed: int) -> pa.Table:
    """Many ties: a person's records differ in one column, in the sign of zero, or in text only."""
    rng = np.random.default_rng(seed)
    rows = 160
    near = [2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, -(2**62) - 1, -(2**62), 7]
    texts = ["z", "Z", "\u00e9", "e\u0301", "a ", "a", None]
    return pa.table(
        {
            "id": pa.array([None if i % 23 == 0 else near[i % 7] for i in range(rows)], pa.int64()),
            "x": rng.choice([-9.0, -0.0, 0.0, 1.0, np.nan, np.inf], rows),
            "ward": pa.array(rng.choice([*WARDS, "elsewhere", None], rows).tolist(), pa.string()),
            "day": pa.array([DAY + datetime.timedelta(int(d)) for d in rng.integers(0, 2, rows)]),
            "y": rng.choice([1e-300, -1e300, 0.1, 0.30000000000000004, 0.3], rows),
            "note": pa.array([texts[i] for i in rng.integers(0, 7, rows)], pa.string()),
        }
    )


def listed(dataset: Any, columns: list[str]) -> list[tuple[float, ...]]:
    groups, counts = dataset.tally([Plain(name) for name in columns])
    rows = zip(*(np.asarray(group, float).tolist() for group in groups), strict=True)
    return sorted(row for row, count in zip(rows, counts, strict=True) for _ in range(count))


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    return table.take(np.random.default_rng(seed).permutation(table.num_rows))


def test_every_engine_keeps_the_same_records_of_a_person(way: str, opening: Opening) -> None:
    table = visits(0)
    here = read(table, CARD)
    assert here.size == 14  # seven people, two records each
    for turn in range(1 if way.startswith("spark") else 3):
        there = opening(way, shuffled(table, turn), CARD)[0]
        assert listed(there, VALUES) == listed(here, VALUES)
    one = replace(CARD, contribution=1)
    assert listed(opening(way, table, one)[0], VALUES) == listed(read(table, one), VALUES)


def test_a_person_is_a_text_or_a_whole_number(remote_kind: str, opening: Opening) -> None:
    ids = ["a", "a ", "A", "\u00e9", "e\u0301", "a", None, ""]
    card = Card("v", (Column("id", "text"), Column("x")), unit="user", user_column="id")
    table = pa.table({"id": ids, "x": np.arange(8.0)})
    assert listed(opening(remote_kind, table, card)[0], ["x"]) == [
        (x,) for x in (0.0, 1.0, 2.0, 3.0, 4.0, 7.0)
    ]
    floats = pa.table({"id": [1.0, 2.0], "x": [1.0, 2.0]})
    for kind in ("text", "integer"):
        columns = (Column("id", kind), Column("x"))
        with pytest.raises(InvalidInput, match="must be text or a whole number"):
            opening(remote_kind, floats, replace(card, columns=columns))


@pytest.fixture
def odd_people(server: Any) -> str:
    """Ids under a collation that ignores case, in padded columns, and as numeric."""
    plain: str = server.url.replace("postgresql+psycopg", "postgresql")
    with psycopg.connect(plain) as connection:
        connection.execute("DROP TABLE IF EXISTS odd_people")
        connection.execute("DROP COLLATION IF EXISTS anycase")
        connection.execute(
            "CREATE COLLATION anycase "
            "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
        connection.execute(
            "CREATE TABLE odd_people (folded text COLLATE anycase, padded char(4), "
            "amount numeric, single real, day date, sick boolean, x double precision)"
        )
        rows = [
            ("ann", "ab", str(2**60), 0.1, "2024-01-01", True, 1.0),
            ("ANN", "ab ", str(2**60 + 1), 0.2, "0044-03-15 BC", False, 2.0),
            ("Ann", "AB", "1e400", 0.3, "infinity", True, 3.0),
            ("ann ", None, "1e-400", 0.1, "-infinity", None, 4.0),
            ("bob", "c", "NaN", 0.7, "2024-01-02", True, 5.0),
            ("bo\u0062", "c", "7.00", 0.8, "9999-12-31", False, 6.0),
            ("eve", "d", "7", 0.9, "10000-01-01", False, 7.0),
            ("eve2", "e", "7.5", 0.9, "2024-01-01", False, 8.0),
            ("eve3", "f", "-Infinity", 0.9, "2024-01-01", False, 9.0),
        ]
        connection.cursor().executemany(
            "INSERT INTO odd_people VALUES (%s, %s, %s, %s, %s, %s, %s)", rows
        )
    return f"{plain}::odd_people"


@pytest.mark.parametrize(
    ("column", "kept"),
    [
        (Column("folded", "text"), [1, 2, 3, 4, 5, 7, 8, 9]),
        (Column("padded", "text"), [1, 3, 5, 7, 8, 9]),
        (Column("amount", "integer"), [1, 2, 3, 6]),
    ],
)
def test_no_collation_padding_or_rounding_of_postgresql_merges_people(
    column: Column, kept: list[float], odd_people: str
) -> None:
    card = Card("v", (column, Column("x")), unit="user", user_column=column.name)
    there = open_remote(odd_people, card)
    # 1e400 is a whole number: whom it names counts, though nobody can ask about that column.
    expected = [(float(x),) for x in kept]
    assert listed(there, ["x"]) == expected
    assert listed(read(odd_people, card), ["x"]) == expected
    there.close()


@pytest.mark.parametrize(
    "column",
    [
        Column("folded", "category", categories=("ANN", "bob")),
        Column("padded", "category", categories=("ab", "c")),
        Column("amount"),
        Column("amount", "integer"),
        Column("amount", lower=0, upper=10, outside="clip"),
        Column("single"),
        Column("day", "date"),
        Column("day", "date", missing="fill", fill="2000-01-01"),
        Column("sick", "integer"),
        Column("sick", "category", categories=("true",)),
    ],
)
def test_no_value_of_postgresql_ends_a_reading_or_is_read_in_two_ways(
    column: Column, odd_people: str
) -> None:
    """Beyond the doubles, before the year 1, infinite: judged alone, and alike by both engines."""
    card = Card("v", (column, Column("x")))
    there = open_remote(odd_people, card)
    assert listed(there, [column.name, "x"]) == listed(read(odd_people, card), [column.name, "x"])
    there.close()


def test_no_collation_of_spark_merges_people(spark: Any) -> None:
    frame = spark.createDataFrame([("a", 1.0), ("A", 2.0), ("a", 3.0)], "id string, x double")
    folded = frame.selectExpr("id COLLATE UTF8_LCASE AS id", "x")
    card = Card("v", (Column("id", "text"), Column("x")), unit="user", user_column="id")
    there = open_remote(folded, card, engine="spark")
    assert listed(there, ["x"]) == [(1.0,), (2.0,)]
    category = Card("v", (Column("id", "category", categories=("a",)), Column("x")))
    there.close()
    there = open_remote(folded, category, engine="spark")
    assert listed(there, ["id", "x"]) == [(0.0, 1.0), (0.0, 3.0)]
    there.close()
