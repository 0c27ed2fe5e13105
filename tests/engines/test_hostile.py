"""Queries that would write: refused by the parser, and again by the database itself."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from whitecrow.data import Card, Column, SqlQuery, read
from whitecrow.data._database import read_only_engine, reading_connection
from whitecrow.data.warehouse import open_remote
from whitecrow.errors import InvalidInput, Unavailable

CARD = Card("kept", (Column("age", lower=0, upper=120),))
HOSTILE = [
    "DROP TABLE kept_people",
    "SELECT age FROM kept_people) records; DROP TABLE kept_people; SELECT (1",
    "SELECT age FROM kept_people LIMIT 0) TO STDOUT; DROP TABLE kept_people; COPY (SELECT 1.0",
    "WITH gone AS (DELETE FROM kept_people RETURNING age) SELECT age FROM gone",
    "SELECT age INTO other FROM kept_people",
    "SELECT nextval('kept_counter') AS age",
    "SELECT pg_read_file('/etc/passwd') AS age",
    "SELECT pg_sleep(5) AS age",
]


@pytest.fixture
def kept_people(server: Any) -> str:
    plain: str = server.url.replace("postgresql+psycopg", "postgresql")
    with psycopg.connect(plain) as connection:
        connection.execute("DROP TABLE IF EXISTS kept_people")
        connection.execute("CREATE SEQUENCE IF NOT EXISTS kept_counter")
        connection.execute("CREATE TABLE kept_people AS SELECT 30.0::float8 AS age")
    return plain


def size(url: str) -> int:
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT COUNT(*) FROM kept_people").fetchone()
    assert found is not None
    return int(found[0])


@pytest.mark.parametrize("query", HOSTILE)
def test_no_query_of_a_custodian_writes_to_postgresql(query: str, kept_people: str) -> None:
    for opened in (
        lambda: open_remote(f"{kept_people}::{query}", CARD),
        lambda: read(SqlQuery(kept_people, query), CARD),
    ):
        with pytest.raises(InvalidInput, match="The query is not taken"):
            opened()
    assert size(kept_people) == 1
    assert read(SqlQuery(kept_people, "SELECT age FROM kept_people"), CARD).size == 1


@pytest.mark.parametrize(
    "statement",
    ["DROP TABLE kept_people", "DELETE FROM kept_people", "SELECT nextval('kept_counter')"],
)
def test_the_transaction_of_postgresql_only_reads(statement: str, kept_people: str) -> None:
    engine = read_only_engine(kept_people, pooled=False)
    with (
        pytest.raises(Unavailable, match=r"^The database did not answer the query\.$"),
        reading_connection(engine) as connection,
    ):
        connection.exec_driver_sql(statement)
    assert size(kept_people) == 1


def test_spark_takes_a_name_and_no_query(spark: Any) -> None:
    spark.createDataFrame([(1.0,)], "age double").createOrReplaceTempView("kept_view")
    for query in ("SELECT age FROM kept_view", "kept_view; DROP VIEW kept_view", "range(9)"):
        with pytest.raises((InvalidInput, Unavailable)):
            open_remote(query, CARD, engine="spark")
    there = open_remote("kept_view", CARD, engine="spark")
    assert there.size == 1
    there.close()
