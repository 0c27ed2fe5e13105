"""Databases: only the card's columns are fetched, and each value is decoded by itself."""

import sqlite3

import psycopg
import pytest

from whitecrow.data import Card, Column, SqlQuery, read
from whitecrow.data.fingerprints import RowFingerprint
from whitecrow.data.sources import open_source

NUMBER = Card("c", (Column("x"),))


@pytest.fixture
def sqlite(tmp_path):
    file = tmp_path / "a.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE t (x, note)")
        connection.execute("INSERT INTO t VALUES (CAST(x'ff' AS TEXT), 'first')")
        connection.execute("INSERT INTO t VALUES (2, CAST(x'c328' AS TEXT))")
        connection.execute("INSERT INTO t VALUES (-0.0, x'ff'), (1e999, NULL), ('3', 'a%b')")
        connection.execute(f"INSERT INTO t VALUES ('{'9' * 5000}', 'long')")  # noqa: S608
    connection.close()
    return f"sqlite:///{file}"


def test_text_of_sqlite_that_is_no_unicode_is_a_missing_value(sqlite):
    found = read(SqlQuery(sqlite, "t"), NUMBER)
    assert found.values("x").tolist() == [2.0, 0.0, 3.0]
    card = Card("c", (Column("note", "text", missing="fill", fill="-"),))
    notes = read(SqlQuery(sqlite, "SELECT * FROM t"), card).values("note").tolist()
    assert notes == ["first", "-", "\\xff", "-", "a%b", "long"]
    mark = RowFingerprint()
    opened = open_source(SqlQuery(sqlite, "t"))
    for batch in opened.batches(list(opened.schema.names), lambda: None):
        mark.add(batch)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x, x, note FROM t",
        "WITH a AS (SELECT * FROM t) SELECT note, x FROM a ORDER BY note",
        "SELECT x FROM t UNION ALL SELECT x FROM t WHERE 1 = 0",
        "SELECT x FROM t WHERE note NOT LIKE '%q%' OR note IS NULL LIMIT 100",
    ],
)
def test_a_query_of_any_shape_gives_the_same_records(sqlite, query):
    if query.startswith("SELECT x, x"):
        query = query.replace("x, x", "x, x AS y")
    assert sorted(read(SqlQuery(sqlite, query), NUMBER).values("x").tolist()) == [0.0, 2.0, 3.0]


@pytest.fixture
def postgres(server):
    url = server.url.replace("postgresql+psycopg", "postgresql")
    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE IF EXISTS odd")
        connection.execute(
            "CREATE TABLE odd (number float8, single real, exact numeric, day date,"
            " moment timestamp, instant timestamptz, clock time, span interval, octets bytea,"
            " note text, padded char(5))"
        )
        connection.execute(
            "INSERT INTO odd VALUES"
            " (1.5, 0.1, 0.1, '2024-01-01', '2024-01-01 23:30', '2024-01-01 23:30-05', '12:00',"
            "  '1 day', 'a', 'a', 'ab'),"
            " ('-0', 'NaN', 'NaN', 'infinity', '-infinity', 'infinity', '24:00', '178000000 years',"
            "  '\\xff', 'é', ''),"
            " ('-Infinity', 'Infinity', 1e1000, '0044-03-15 BC', '294276-01-01', '4713-01-01 BC',"
            "  NULL, '-178000000 years', NULL, NULL, NULL)"
        )
    return server.url


def values(url, column):
    return read(SqlQuery(url, "odd"), Card("c", (column,))).values(column.name).tolist()


def test_each_value_of_postgresql_is_read_by_itself(postgres):
    assert values(postgres, Column("number")) == [1.5, 0.0]
    assert values(postgres, Column("single")) == [float.fromhex("0x1.99999a0000000p-4")]
    assert values(postgres, Column("exact")) == [0.1]
    assert values(postgres, Column("day", "date")) == [19723]
    assert values(postgres, Column("moment", "date")) == [19723]
    assert values(postgres, Column("instant", "date")) == [19724]
    assert values(postgres, Column("clock", "text")) == ["12:00:00", "24:00:00"]
    assert values(postgres, Column("padded", "text")) == ["ab", ""]
    assert values(postgres, Column("number", "category", categories=("0", "1.5"))) == [1, 0]
    assert len(values(postgres, Column("span", "text"))) == 3


def test_the_zone_of_the_process_changes_no_day_of_postgresql(postgres, monkeypatch):
    view = "SELECT CAST(instant AS DATE) AS day FROM odd"
    for zone in ("Asia/Kolkata", "America/New_York"):
        monkeypatch.setenv("PGTZ", zone)
        assert values(postgres, Column("instant", "date")) == [19724]
        card = Card("c", (Column("day", "date"),))
        assert read(SqlQuery(postgres, view), card).values("day").tolist() == [19724]


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "WIN1252"])
def test_octets_that_are_no_text_in_postgresql_are_a_missing_value(server, encoding):
    plain = server.url.replace("postgresql+psycopg", "postgresql")
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS other_{encoding}")
        connection.execute(
            f"CREATE DATABASE other_{encoding} ENCODING '{encoding}' TEMPLATE template0"
            " LC_COLLATE 'C' LC_CTYPE 'C'"
        )
    url = server.url.replace("/postgres?", f"/other_{encoding.lower()}?")
    with psycopg.connect(url.replace("postgresql+psycopg", "postgresql")) as connection:
        connection.execute(f"SET client_encoding = '{encoding}'")
        connection.execute("CREATE TABLE t (x text)")
        connection.execute(b"INSERT INTO t VALUES ('ok'), (E'\\xe9\\x81'), ('2')")
    card = Card("c", (Column("x", "text"),))
    assert read(SqlQuery(url, "t"), card).values("x").tolist() == ["ok", "2"]
