"""The custodian's acts: the chain keeps who did what, and joins what else is written with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import whitecrow as wc
from whitecrow.ledger import Budget, ChargeRequest, Ledger, Reservation
from whitecrow.ledger.verification import verify

CARD = {"name": "clinic", "columns": {"age": {"low": 0, "high": 120}}}
TENTH = wc.DifferentialPrivacy("1/10")


def acted(ledger: Ledger) -> None:
    """One act of every kind, each with its actor."""
    ledger.open("d", budget=Budget.of("1"), actor="cleo", card=CARD, readers=["bo", "ana"])
    ledger.allow("d", "ana", Budget.of("1/2"), reason="a share", actor="cleo")
    held, _ = ledger.reserve("d", ChargeRequest("ana", "q", {}, TENTH, actor="cleo"))
    assert isinstance(held, Reservation)
    held.release()
    ledger.void("d", held.seq, reason="power cut", actor="dan")
    ledger.amend(
        "d",
        reason="older people too",
        actor="dan",
        budget=Budget.of("2"),
        policy={"notions": ["differential"]},
        card={**CARD, "unit": "user"},
        readers=("ana",),
    )


def test_the_chain_keeps_card_readers_policy_budget_and_who_did_it() -> None:
    with Ledger("sqlite://") as ledger:
        acted(ledger)
        bodies = {entry.kind: entry.content for entry in ledger.entries("d")}
        finding = verify(ledger, "d")
    assert finding.ok, finding
    actors = {kind: body.get("actor") for kind, body in bodies.items()}
    assert actors == {
        "open": "cleo",
        "allow": "cleo",
        "reserve": "cleo",
        "void": "dan",
        "amend": "dan",
    }
    assert (bodies["open"]["card"], bodies["open"]["readers"]) == (CARD, ["ana", "bo"])
    amended = bodies["amend"]
    assert amended["card"]["unit"] == "user"
    assert amended["card_digest"] != bodies["open"]["card_digest"]
    assert (amended["readers"], amended["policy"]) == (["ana"], {"notions": ["differential"]})
    assert amended["budget"] == Budget.of("2").to_json()


def test_a_card_that_its_entry_does_not_name_is_found() -> None:
    with Ledger("sqlite://") as ledger:
        ledger.open("d", budget=Budget.of("1"))
        forged = {"reason": "x", "card": CARD, "card_digest": "0" * 64}
        ledger.write("d", lambda account: account.append("amend", body=forged))
        assert "card" in verify(ledger, "d").reason


@pytest.fixture
def notes(tmp_path: Path) -> Any:
    """A ledger, and another table in the same database."""
    with Ledger(tmp_path / "l.db") as ledger:
        with ledger.database.connection() as connection:
            connection.execute(sa.text("CREATE TABLE notes (note TEXT)"))
        yield ledger


def noted(ledger: Ledger) -> int:
    with ledger.database.connection() as connection:
        return int(connection.execute(sa.text("SELECT count(*) FROM notes")).scalar_one())


def test_an_account_and_other_tables_are_written_together_or_not_at_all(notes: Ledger) -> None:
    for fails in (True, False):
        try:
            with notes.database.connection() as connection:
                connection.execute(sa.text("INSERT INTO notes VALUES ('listed')"))
                notes.open("d", budget=Budget.of("1"), connection=connection)
                notes.amend("d", reason="more", budget=Budget.of("2"), connection=connection)
                notes.allow("d", "ana", None, reason="welcome", connection=connection)
                if fails:
                    raise KeyboardInterrupt
        except KeyboardInterrupt:
            assert (notes.datasets(), noted(notes)) == ((), 0)
    assert (notes.datasets(), noted(notes)) == (("d",), 1)
    assert notes.snapshot("d").budget == Budget.of("2")
    assert verify(notes, "d").ok
