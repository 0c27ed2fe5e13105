"""A custodian's query reads: what else it could do is refused by a parser, then by the database."""

import logging
import sqlite3

import pytest

from whitecrow.curator import Curator
from whitecrow.data import Card, Column, SqlQuery, read
from whitecrow.data._database import read_only_engine, reading_connection, select_only
from whitecrow.errors import InvalidInput, Unavailable

CARD = Card("people", (Column("age", lower=0, upper=120),))
HOSTILE = [
    "DROP TABLE people",
    "DELETE FROM people",
    "UPDATE people SET age = 1",
    "INSERT INTO people VALUES (1)",
    "CREATE TABLE other AS SELECT * FROM people",
    "SELECT age FROM people; DROP TABLE people",
    "SELECT age FROM people; SELECT age FROM people",
    "SELECT 1) records; DROP TABLE people; SELECT (1",
    "SELECT age FROM people) TO STDOUT; DROP TABLE people; COPY (SELECT 1",
    "PRAGMA writable_schema = 1",
    "ATTACH DATABASE '/tmp/other.db' AS other",
    "VACUUM INTO '/tmp/copy.db'",
    "BEGIN TRANSACTION",
    "",
    ";",
    "(((",
    "SELECT age FROM people\0",
    "SELECT * FROM people WHERE age = ?",
    "SELECT * FROM people WHERE age = :age",
]
POSTGRES = [
    "SELECT 1 OPERATOR(public.##) 2",
    "WITH gone AS (DELETE FROM people RETURNING age) SELECT age FROM gone",
    "SELECT age INTO other FROM people",
    "SELECT age FROM people FOR UPDATE",
    "COPY people TO '/tmp/people'",
    "COPY people TO PROGRAM 'cat'",
    "SET default_transaction_read_only = off",
    "SELECT set_config('default_transaction_read_only', 'off', false) AS age",
    "SELECT nextval('counter') AS age",
    "SELECT pg_sleep(9) AS age",
    'SELECT "pg_sleep"(9) AS age',
    "SELECT pg_catalog.pg_sleep(9) AS age",
    "SELECT lo_import('/etc/passwd') AS age",
    "SELECT pg_read_file('/etc/passwd') AS age",
    "SELECT query_to_xml('DELETE FROM people', true, true, '') AS age",
    "SELECT * FROM dblink('host=elsewhere', 'SELECT 1') AS t(age int)",
    "SELECT own.upper('x') AS age",
    "DO $$ BEGIN DELETE FROM people; END $$",
    "CALL wipe()",
    "EXPLAIN ANALYZE DELETE FROM people",
    "LOCK TABLE people",
    "NOTIFY people",
    "SELECT age FROM people TABLESAMPLE SYSTEM (1)",
    "SELECT random() AS age",
]
DUCK = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM 'other.parquet'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "COPY people TO 'out.csv'",
    "EXPORT DATABASE 'out'",
    "SELECT getenv('HOME') AS age",
]
FINE = {
    "SELECT age FROM people WHERE ward LIKE 'a%' AND 7 % 2 = 1;": "postgresql",
    "WITH old AS (SELECT age FROM people WHERE age > 60) SELECT age FROM old": "postgresql",
    "SELECT CAST(age AS REAL) AS age, EXTRACT(YEAR FROM day) AS y FROM a.b": "postgresql",
    "SELECT age FROM people UNION ALL SELECT age FROM others": "sqlite",
    "SELECT 'it''s; -- here' AS note, \"a;b\" FROM people -- and a comment": "sqlite",
    "SELECT p.age FROM people AS p JOIN wards AS w USING (ward) ORDER BY p.age LIMIT 9": "mysql",
}


@pytest.mark.parametrize("query", HOSTILE)
@pytest.mark.parametrize(
    "backend", ["postgresql", "sqlite", "mysql", "mssql", "duckdb", "nameless"]
)
def test_only_one_select_is_taken(query, backend):
    with pytest.raises(InvalidInput, match="The query is not taken"):
        select_only(query, backend)


@pytest.mark.parametrize(
    ("query", "backend"),
    [(query, "postgresql") for query in POSTGRES] + [(query, "duckdb") for query in DUCK],
)
def test_what_acts_or_reads_elsewhere_is_refused(query, backend):
    with pytest.raises(InvalidInput, match="The query is not taken"):
        select_only(query, backend)


@pytest.mark.parametrize("query", FINE)
def test_an_ordinary_query_goes_through_and_loses_its_comments(query):
    written = select_only(query, FINE[query])
    assert select_only(written, FINE[query]) == written
    assert "comment" not in written
    assert not written.endswith(";")


def test_a_refused_query_is_not_logged(caplog):
    with caplog.at_level(logging.DEBUG), pytest.raises(InvalidInput):
        select_only("DO $$ secret $$", "postgresql")
    assert "secret" not in caplog.text


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "peo ple#1.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE people (age REAL)")
        connection.executemany("INSERT INTO people VALUES (?)", [(30.0,), (40.0,)])
    connection.close()
    return path


def size(path):
    with sqlite3.connect(path) as connection:
        (found,) = connection.execute("SELECT COUNT(*) FROM people").fetchone()
    connection.close()
    return found


@pytest.mark.parametrize("query", HOSTILE)
def test_a_query_on_sqlite_can_neither_drop_nor_write(query, people):
    for opened in (
        lambda: read(SqlQuery(f"sqlite:///{people}", query), CARD),
        lambda: Curator.open(f"sqlite:///{people}::{query}", card=CARD, ledger="sqlite://"),
    ):
        with pytest.raises(InvalidInput, match="The query is not taken"):
            opened()
    assert size(people) == 2


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE people",
        "DELETE FROM people",
        "CREATE TEMP TABLE t (a)",
        "PRAGMA query_only = OFF",
        "ATTACH DATABASE ':memory:' AS other",
        "SELECT load_extension('evil')",
    ],
)
def test_the_connection_to_sqlite_refuses_on_its_own(statement, people):
    """The second belt: what a parser missed would end here."""
    engine = read_only_engine(f"sqlite:///{people}", pooled=False)
    with (
        pytest.raises(Unavailable, match=r"^The database did not answer the query\.$"),
        reading_connection(engine) as connection,
    ):
        connection.exec_driver_sql(statement)
    assert size(people) == 2


def test_reading_makes_no_database_that_is_not_there(tmp_path):
    with pytest.raises(Unavailable):
        read(SqlQuery(f"sqlite:///{tmp_path / 'none.db'}", "SELECT age FROM people"), CARD)
    assert not list(tmp_path.iterdir())


def test_a_table_may_be_named(people):
    assert select_only("select", "postgresql") == 'SELECT * FROM "select"'
    assert select_only(" own.Visits ", "postgresql") == 'SELECT * FROM "own"."Visits"'
    assert read(SqlQuery(f"sqlite:///{people}", "people"), CARD).size == 2
    assert read("::".join([f"sqlite:///{people}", "SELECT age FROM people"]), CARD).size == 2
