"""Schemas: made in one step, migrated step by step to the same, refused when newer."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

import whitecrow as wc
from whitecrow.ledger import Account, Budget, ChargeRequest, Ledger, Reservation, migration
from whitecrow.ledger.database import Database
from whitecrow.ledger.schema import accounts, datasets
from whitecrow.ledger.verification import verify
from whitecrow.place.balls import BALLS


def shape(database: Database) -> dict[str, object]:
    """Tables, columns, keys and indexes, as the database itself tells them."""
    with database.connection() as connection:
        seen = sa.inspect(connection)
        return {
            name: (
                [(c["name"], str(c["type"]), c["nullable"]) for c in seen.get_columns(name)],
                seen.get_pk_constraint(name)["constrained_columns"],
                sorted(str(u["column_names"]) for u in seen.get_unique_constraints(name)),
                sorted(str(i["column_names"]) for i in seen.get_indexes(name)),
                sorted(str(k["constrained_columns"]) for k in seen.get_foreign_keys(name)),
            )
            for name in seen.get_table_names()
        }


def migrated(path: Path) -> Database:
    """A store of the first schema that was brought forward."""
    with Ledger(path) as ledger, ledger.database.connection() as connection:
        to_the_first_schema(connection)
    return Ledger(path).database


def test_the_steps_and_the_tables_in_the_code_are_the_same_schema(tmp_path: Path) -> None:
    made = Ledger(tmp_path / "made.db").database
    stepwise = migrated(tmp_path / "stepwise.db")
    assert shape(made) == shape(stepwise)
    Ledger(tmp_path / "stepwise.db").open("d", budget=Budget.of("1"))


def laid_out(path: Path) -> set[tuple[str, str]]:
    """Indexes as they were made, and tables without rowids."""
    with closing(sqlite3.connect(path)) as connection:
        made = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql NOT NULL")
        return {
            (name, sql if kind == "index" else "WITHOUT ROWID")
            for kind, name, sql in made
            if kind == "index" or sql.endswith("WITHOUT ROWID")
        }


@pytest.mark.parametrize("dump", ["0.1", "0.2", "0.2-last", "0.3-earlier"])
def test_ledgers_of_every_version_are_laid_out_as_new_ones(dump: str, tmp_path: Path) -> None:
    """``ledger-0.3-earlier.sql`` is of the schema before: every table has rows."""
    path = tmp_path / "old.db"
    text = Path(__file__).with_name(f"ledger-{dump}.sql").read_text(encoding="utf-8")
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(text)
        hashes = connection.execute("SELECT hash FROM entries ORDER BY seq").fetchall()
    with Ledger(path, geometry=BALLS) as old, Ledger(tmp_path / "new.db") as new:
        assert shape(old.database) == shape(new.database)
        assert laid_out(path) == laid_out(tmp_path / "new.db")
        assert [(entry.hash,) for entry in old.entries("clinic")] == hashes
        assert verify(old, "clinic", geometry=BALLS, full=True).ok
        for entry in old.unsettled("clinic"):
            old.void("clinic", entry.seq, reason="never answered")
        assert verify(old, "clinic", geometry=BALLS, full=True).ok


def test_an_older_store_is_migrated_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more step, as a later version would ship it, runs when the store is opened."""

    def more(connection: sa.Connection) -> None:
        sa.Table("more", sa.MetaData(), sa.Column("id", sa.Integer)).create(connection)

    with Ledger(tmp_path / "l.db") as old:
        old.open("d", budget=Budget.of("1"))
    later = replace(migration.LEDGER, steps=(*migration.LEDGER.steps, more))
    monkeypatch.setattr(migration, "LEDGER", later)
    with Ledger(tmp_path / "l.db") as new:
        assert "more" in shape(new.database)
        assert new.datasets() == ("d",)


def test_failures_of_an_older_store_are_counted(tmp_path: Path) -> None:
    """A store of the first schema, with one failure that was given back and one that was not."""
    path = tmp_path / "l.db"
    with Ledger(path) as ledger:
        ledger.open("d", budget=Budget.of("1"))
        for name in "ab":
            order = ChargeRequest("ana", name, {}, wc.DifferentialPrivacy("1/10"))
            held, _ = ledger.reserve("d", order)
            assert isinstance(held, Reservation)
            held.release()
            ledger.fail("d", held)
            if name == "a":
                ledger.void("d", held.seq, reason="mended")
        with ledger.database.connection() as connection:
            to_the_first_schema(connection)
    with Ledger(path) as ledger:
        assert ledger.snapshot("d").failures == 1
        assert [entry.seq for entry in ledger.unsettled("d")] == [5]
        assert verify(ledger, "d").ok


def to_the_first_schema(connection: sa.Connection) -> None:
    for statement in (
        *(f"DROP TABLE {name}" for name in ("balls", "sheets", "terms", "unsettled", "witness")),
        "DROP INDEX entries_failed",
        "DROP INDEX entries_by_analyst",
        "ALTER TABLE datasets DROP COLUMN failures",
        "ALTER TABLE datasets DROP COLUMN closure",
        "ALTER TABLE publishers DROP COLUMN fingerprints",
        "UPDATE alembic_version SET version_num = '0001'",
    ):
        connection.execute(sa.text(statement))


def test_sums_that_version_0_1_rounded_up_are_made_anew(tmp_path: Path) -> None:
    """It kept odd fractions to 20 places, and the check of today adds up exactly."""
    path = tmp_path / "l.db"
    with Ledger(path) as ledger:
        ledger.open("d", budget=Budget.of("1"))
        held, _ = ledger.reserve(
            "d", ChargeRequest("ana", "a", {}, wc.DifferentialPrivacy("1/1009"))
        )
        assert isinstance(held, Reservation)
        held.release()
        ledger.settle("d", held, 1)
        exact = ledger.snapshot("d")
        with ledger.database.connection() as connection:
            for table in (datasets, accounts):
                rounded = "99108027750247771/100000000000000000000"
                spent = sa.func.replace(table.c.spent, "1/1009", rounded)
                connection.execute(table.update().values(spent=spent))
            to_the_first_schema(connection)
    with Ledger(path) as ledger:
        assert verify(ledger, "d", full=True).ok
        assert ledger.snapshot("d") == exact


def test_places_and_terms_of_an_older_store_are_indexed_from_its_entries(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    ball = {"columns": ["x"], "metric": "euclidean", "center": [0.0], "radius": 1.0}
    price = wc.SensitivePrivacy("1/10", 5, 1.0)
    with Ledger(path, geometry=BALLS) as ledger:
        ledger.open("d", budget=Budget.of("1"))
        for place in range(6):
            located = {**ball, "center": [place * 0.7]}
            held, _ = ledger.reserve("d", ChargeRequest("ana", str(place), {}, price, located))
            assert isinstance(held, Reservation)
            held.release()
        ledger.void("d", 3, reason="never answered")
        standing = ledger.snapshot("d")
        with ledger.database.connection() as connection:
            to_the_first_schema(connection)
    with pytest.raises(wc.Unavailable, match="older version"):
        Ledger(path)
    with Ledger(path, geometry=BALLS) as ledger:
        assert ledger.snapshot("d") == standing
        finding = verify(ledger, "d", geometry=BALLS)
        assert finding.ok, finding
        for seq in (2, 4, 5, 6, 7):
            ledger.void("d", seq, reason="none was answered")
        assert ledger.snapshot("d").spent == Account()


def test_a_newer_store_is_refused_and_left_alone(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.db") as ledger, ledger.database.connection() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    before = (tmp_path / "l.db").read_bytes()
    with pytest.raises(wc.Unavailable, match=f"newer version.*9999.*{migration.LEDGER.newest}"):
        Ledger(tmp_path / "l.db")
    assert (tmp_path / "l.db").read_bytes() == before


def test_addresses_that_are_no_ledgers_are_refused() -> None:
    with pytest.raises(wc.InvalidInput, match="SQLite or PostgreSQL"):
        Ledger("mysql://somewhere/db")
    with pytest.raises(wc.InvalidInput, match="not a database URL"):
        Ledger("://")
