"""A ledger that version 0.1 wrote: brought forward, used, and what 0.1 then says of it.

``ledger-0.1.sql`` is the dump of a small one: questions about places, a count, a second analyst
with an own cap, an amendment, an interrupted ask, a spend that was given back.
"""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest
import sqlalchemy as sa

import whitecrow as wc
from whitecrow.errors import LedgerUnusable
from whitecrow.ledger import ChargeRequest, Ledger, RecordedOutcome, Reservation, migration
from whitecrow.ledger.backup import backup
from whitecrow.ledger.database import Database
from whitecrow.ledger.verification import verify
from whitecrow.place.balls import BALLS

DUMP = Path(__file__).with_name("ledger-0.1.sql")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The ledger as 0.1 left it."""
    path = tmp_path / "ledger.db"
    with sqlite3.connect(path) as connection:
        connection.executescript(DUMP.read_text(encoding="utf-8"))
    connection.close()
    return path


def _version(path: Path) -> str:
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    connection.close()
    return str(found)


def test_a_ledger_of_the_previous_release_is_brought_forward_with_every_entry(old: Path) -> None:
    with sqlite3.connect(old) as connection:
        before = connection.execute("SELECT seq, hash FROM entries ORDER BY seq").fetchall()
    connection.close()
    assert _version(old) == "0001"
    with Ledger(old, geometry=BALLS) as ledger:
        assert [(one.seq, one.hash) for one in ledger.entries("clinic")] == before
        assert verify(ledger, "clinic", geometry=BALLS, full=True).ok
        snapshot = ledger.snapshot("clinic")
        assert snapshot.head == before[-1][1]
        assert snapshot.budget.differential == 3
        # 1/1009 for the count, exactly; 1/10 for the ask that was interrupted.
        assert snapshot.spent.epsilon == Fraction(1, 1009) + Fraction(1, 10)
        assert [entry.digest for entry in ledger.unsettled("clinic")] == ["interrupted"]
    assert _version(old) == migration.LEDGER.newest


def test_its_answers_are_still_free_and_its_interrupted_spend_is_taken_up(old: Path) -> None:
    with Ledger(old, geometry=BALLS) as ledger:
        answered = next(e for e in ledger.entries("clinic") if e.kind == "settle")
        price = wc.DifferentialPrivacy("1/10")
        found, _ = ledger.reserve("clinic", ChargeRequest("ana", answered.digest, {}, price))
        assert isinstance(found, RecordedOutcome)
        assert found.answer == answered.content["answer"]
        spent = ledger.snapshot("clinic").spent
        held, _ = ledger.reserve("clinic", ChargeRequest("ben", "interrupted", {}, price))
        assert isinstance(held, Reservation)
        assert ledger.settle("clinic", held, 7).answer == 7
        held.release()
        assert ledger.snapshot("clinic").spent == spent


def test_going_back_is_restoring_the_copy_that_was_taken_before(old: Path, tmp_path: Path) -> None:
    """The copy is the ledger that 0.1 wrote, table for table."""
    database = Database(old)
    backup(database, tmp_path / "before")
    database.close()
    with Ledger(old, geometry=BALLS):
        pass
    assert _version(tmp_path / "before") == "0001"
    with sqlite3.connect(tmp_path / "before") as one, sqlite3.connect(":memory:") as other:
        other.executescript(DUMP.read_text(encoding="utf-8"))
        assert list(one.iterdump()) == list(other.iterdump())
    one.close()
    other.close()


def test_a_version_that_does_not_know_the_tables_touches_nothing(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the previous release meets a ledger of this one."""
    with Ledger(old, geometry=BALLS):
        pass
    before = old.read_bytes()
    older = migration.Versions(
        migration.LEDGER.column, migration.LEDGER.make, (), migration.LEDGER.lock
    )
    monkeypatch.setattr(migration, "LEDGER", older)
    with pytest.raises(LedgerUnusable, match="newer version"):
        Ledger(old, geometry=BALLS)
    assert old.read_bytes() == before


def test_a_step_that_fails_leaves_the_older_ledger_as_it_was(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps are one transaction: an upgrade that is cut off can be tried again."""

    def broken(connection: sa.Connection) -> None:
        connection.exec_driver_sql("CREATE TABLE half (id INTEGER)")
        raise OSError

    steps = (*migration.LEDGER.steps, broken)
    later = migration.Versions(
        migration.LEDGER.column, migration.LEDGER.make, steps, migration.LEDGER.lock
    )
    with monkeypatch.context() as patched:
        patched.setattr(migration, "LEDGER", later)
        with pytest.raises(LedgerUnusable):
            Ledger(old, geometry=BALLS)
    assert _version(old) == "0001"
    with Ledger(old, geometry=BALLS) as ledger:
        assert verify(ledger, "clinic", geometry=BALLS, full=True).ok
