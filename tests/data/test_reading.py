"""Reading: every source gives the same records, and each record is judged alone."""

import pickle
import sqlite3

import numpy as np
import pyarrow
import pytest
from pyarrow import csv, parquet

from whitecrow.data import Card, Column, SqlQuery, read
from whitecrow.errors import InvalidInput, Unavailable

CARD = Card(
    "people",
    (
        Column("age", "integer", lower=0, upper=120),
        Column("weight", "number", lower=20, upper=200, outside="clip"),
        Column("ward", "category", categories=("north", "south")),
        Column("since", "date"),
    ),
)
TABLE = pyarrow.table(
    {
        "extra": [1, 2, 3, 4, 5, 6],
        "since": ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04", "bad", "2024-01-06"],
        "ward": ["north", "south", "east", "south", "north", None],
        "weight": [70.5, 500.0, 60.0, float("nan"), 50.0, 60.0],
        "age": [30, 40, 50, 60, 70, 130],
    }
)


def frames():
    import pandas
    import polars

    return {
        "pandas": TABLE.to_pandas(),
        "polars": polars.from_arrow(TABLE),
        "lazy": polars.from_arrow(TABLE).lazy(),
        "arrow": TABLE,
        "category": TABLE.to_pandas().astype({"ward": pandas.CategoricalDtype()}),
    }


def sources(tmp_path):
    csv.write_csv(TABLE, tmp_path / "people.csv")
    parquet.write_table(TABLE, tmp_path / "people.parquet")
    with sqlite3.connect(tmp_path / "people.db") as connection:
        connection.execute("create table people (extra, since, ward, weight, age)")
        rows = zip(*(TABLE[name].to_pylist() for name in TABLE.column_names), strict=True)
        connection.executemany("insert into people values (?, ?, ?, ?, ?)", list(rows))
    connection.close()
    url = f"sqlite:///{tmp_path / 'people.db'}"
    return {
        **frames(),
        "csv": tmp_path / "people.csv",
        "parquet": str(tmp_path / "people.parquet"),
        "sql": SqlQuery(url, "select * from people"),
        "sql text": "::".join([url, "select * from people"]),
    }


def test_every_source_gives_the_same_records(tmp_path):
    for name, source in sources(tmp_path).items():
        found = read(source, CARD)
        assert found.size == 2, name
        everything = [[30, 70.5, 0, 19723], [40, 200, 1, 19724]]
        assert found.matrix(["age", "weight", "ward", "since"]).tolist() == everything, name
        assert found.values("ward").tolist() == [0, 1], name
        assert found.values("since").tolist() == [19723, 19724], name


def test_how_many_were_left_out_is_withheld_but_there_for_the_custodian():
    found = read(TABLE, CARD)
    assert repr(found.rejections) == "<facts withheld>"
    assert (found.rejections.read, found.rejections.kept) == (6, 2)
    assert found.rejections.reasons == {
        "ward: not a category": 1,
        "weight: missing or of the wrong type": 1,
        "since: missing or of the wrong type": 1,
        "age: outside the bounds": 1,
    }


def test_each_record_is_judged_alone():
    """Adding a record never changes how another one is read."""
    whole = read(TABLE, CARD).matrix(["age", "weight"])
    for left_out in range(TABLE.num_rows):
        keep = [i for i in range(TABLE.num_rows) if i != left_out]
        part = read(TABLE.take(keep), CARD).matrix(["age", "weight"])
        assert len(whole) - len(part) in (0, 1)
        assert {tuple(row) for row in part} <= {tuple(row) for row in whole}


@pytest.mark.parametrize(
    ("treatment", "kept"),
    [
        ({}, [1.0]),
        ({"missing": "fill", "fill": 3}, [1.0, 3.0]),
        ({"outside": "clip"}, [1.0, 10.0, 0.0, 10.0]),
        ({"outside": "clip", "missing": "fill", "fill": 3}, [1.0, 3.0, 10.0, 0.0, 10.0]),
    ],
)
def test_missing_nan_infinite_and_outside_values_are_treated_as_the_card_says(treatment, kept):
    card = Card("toy", (Column("x", lower=0, upper=10, **treatment),))
    values = [1.0, None, float("inf"), float("-inf"), 99.0]
    assert read(pyarrow.table({"x": values}), card).values("x").tolist() == kept


def test_infinity_without_bounds_is_left_out():
    assert read(pyarrow.table({"x": [1.0, float("inf")]}), Card("t", (Column("x"),))).size == 1


def test_a_fraction_is_no_integer():
    card = Card("toy", (Column("x", "integer"),))
    assert read(pyarrow.table({"x": [1.0, 2.5]}), card).values("x").tolist() == [1.0]


def test_text_in_a_number_column_loses_that_record_only(tmp_path):
    (tmp_path / "x.csv").write_text("x\n1\nabc\n3\n")
    assert read(tmp_path / "x.csv", Card("t", (Column("x"),))).values("x").tolist() == [1, 3]


def test_years_stored_as_numbers_match_categories():
    card = Card("toy", (Column("year", "category", categories=("2004", "2005")),))
    for values in ([2004, 2005], [2004.0, 2005.0], ["2004", "2005"]):
        assert read(pyarrow.table({"year": values}), card).values("year").tolist() == [0, 1]


def test_a_persons_records_are_bounded():
    card = Card(
        "visits",
        (Column("who", "text"), Column("x")),
        unit="user",
        user_column="who",
        contribution=2,
    )
    table = pyarrow.table({"who": ["a", "b", "a", "a", "b", "c"], "x": [1.0, 2, 3, 4, 5, 6]})
    assert read(table, card).values("x").tolist() == [1, 2, 3, 5, 6]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.parquet", "There is no file"),
        (17, "A source must be a path"),
        ("pyproject.toml", "reads .parquet"),
        ("nonsense://x::select 1", "not a SQLAlchemy URL"),
    ],
)
def test_wrong_sources_get_clear_errors(source, message):
    with pytest.raises((InvalidInput, Unavailable), match=message):
        read(source, CARD)


def test_a_failing_query_does_not_quote_the_database(tmp_path):
    with pytest.raises(Unavailable, match=r"^The database did not answer the query\.$"):
        read(SqlQuery(f"sqlite:///{tmp_path / 'x.db'}", "select secret from nowhere"), CARD)


def test_columns_of_the_card_must_be_there():
    with pytest.raises(InvalidInput, match="'age', which the data do not have"):
        read(pyarrow.table({"weight": [1.0]}), CARD)


def test_nested_columns_are_refused():
    with pytest.raises(InvalidInput, match="cannot be read as"):
        read(pyarrow.table({"x": [[1.0]]}), Card("t", (Column("x"),)))


def test_corrupt_files_are_refused(tmp_path):
    (tmp_path / "x.parquet").write_bytes(b"nonsense")
    with pytest.raises(InvalidInput, match="not readable as Parquet"):
        read(tmp_path / "x.parquet", CARD)


def test_an_empty_file_is_an_empty_dataset(tmp_path):
    parquet.write_table(TABLE.slice(0, 0), tmp_path / "none.parquet")
    found = read(tmp_path / "none.parquet", CARD)
    assert found.size == 0
    assert found.matrix(["age"]).shape == (0, 1)


def test_a_million_rows_report_progress(tmp_path):
    values = np.random.default_rng(1).random(1_000_000)
    parquet.write_table(pyarrow.table({"x": values}), tmp_path / "big.parquet")
    seen = []
    card = Card("big", (Column("x", lower=0, upper=1),))
    found = read(tmp_path / "big.parquet", card, progress=lambda *step: seen.append(step))
    assert found.size == 1_000_000
    assert len(seen) >= 4
    assert seen[-1][:2] == (1_000_000, 1_000_000)


def test_a_dataset_shows_and_pickles_nothing():
    found = read(TABLE, CARD)
    assert "records withheld" in repr(found)
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(found)


def test_a_public_size_below_the_number_of_records_is_refused():
    """Under replace-one a count cannot move by more than the size: a bound only if it is one."""
    columns = (Column("age", lower=0, upper=120),)
    ages = pyarrow.table({"age": [30.0, 40.0, 50.0, 500.0]})
    assert read(ages, Card("c", columns, size_public=True, size=3)).size == 3
    with pytest.raises(InvalidInput, match="more records than the size on the card"):
        read(ages, Card("c", columns, size_public=True, size=2))
