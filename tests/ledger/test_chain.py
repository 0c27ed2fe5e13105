"""The chain: an honest ledger verifies, and what was tampered with or forged is found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from charges import QUARTER, charge, order

import whitecrow as wc
from whitecrow.ledger import Budget, Ledger
from whitecrow.ledger.export import to_csv, to_json
from whitecrow.ledger.failures import halt, review
from whitecrow.ledger.verification import checkpoint, verify
from whitecrow.place.balls import BALLS


def busy(path: Path) -> Ledger:
    """A ledger with an entry of every kind."""
    ledger = Ledger(path, geometry=BALLS)
    ledger.open("clinic", budget=Budget.of("10"))
    ledger.allow("clinic", "ana", Budget.of("5"), reason="a share")
    ledger.amend("clinic", budget=Budget.of("20"), reason="voted")
    ledger.settle("clinic", charge(ledger, order("a", place=0.0)), 1)
    ledger.void("clinic", charge(ledger, order("b", place=0.5)).seq, reason="power cut")
    failed = charge(ledger, order("c"))
    ledger.fail("clinic", failed)
    review(ledger, "clinic", failed.seq, reason="looked")
    halt(ledger, "clinic")
    review(ledger, "clinic", ledger.snapshot("clinic").seq, reason="looked")
    ledger.settle("clinic", charge(ledger, order("d", analyst="bo")), 2)
    charge(ledger, order("e"))
    return ledger


def test_an_honest_ledger_verifies_with_and_without_an_atlas(tmp_path: Path) -> None:
    with busy(tmp_path / "l.db") as ledger:
        for geometry in (None, BALLS):
            finding = verify(ledger, "clinic", geometry=geometry)
            assert finding.ok, finding
            assert finding.entries == len(ledger.entries("clinic"))


def test_pages_of_entries_come_from_the_store_and_not_from_the_whole_account(
    tmp_path: Path,
) -> None:
    with busy(tmp_path / "l.db") as ledger:
        written = ledger.entries("clinic")
        newest = ledger.entries("clinic", limit=3, newest_first=True)
        assert newest == written[-3:][::-1]
        older = ledger.entries("clinic", limit=3, newest_first=True, before=newest[-1].seq)
        assert older == written[-6:-3][::-1]
        assert ledger.entries("clinic", after=10) == written[10:]
        own = [entry for entry in written if entry.analyst == "bo"]
        assert ledger.entries("clinic", analyst="bo") == own
        told = [
            (reserved.digest, None if closed is None else closed.kind)
            for reserved, closed in ledger.history("clinic", "ana")
        ]
        assert told == [("e", None), ("c", "fail"), ("b", "void"), ("a", "settle")]
        assert [one.digest for one, _ in ledger.history("clinic", "ana", limit=2, skip=1)] == [
            "c",
            "b",
        ]


def test_a_check_goes_on_from_a_checkpoint_and_a_full_one_finds_what_lies_before(
    tmp_path: Path,
) -> None:
    with busy(tmp_path / "l.db") as ledger:
        assert checkpoint(ledger, "clinic", geometry=BALLS, actor="cleo", least=5).ok
        assert checkpoint(ledger, "clinic", least=5).since == 16  # too soon for another
        ledger.allow("clinic", "bo", Budget.of("3"), reason="a share")
        finding = verify(ledger, "clinic", geometry=BALLS)
        assert (finding.ok, finding.since, finding.entries) == (True, 16, 17)
        assert verify(ledger, "clinic", geometry=BALLS, full=True).since == 0
        tamper(ledger, "UPDATE entries SET at = '1999' WHERE seq = 6")
        assert verify(ledger, "clinic").ok
        found = verify(ledger, "clinic", full=True)
        assert (found.bad, found.ok) == (6, False)


@pytest.mark.parametrize(
    ("statement", "full", "bad"),
    [
        ("UPDATE entries SET body = replace(body, '20', '30') WHERE seq = 16", False, 16),
        ("UPDATE entries SET analyst = 'di' WHERE seq = 17", False, 17),
        ("DELETE FROM entries WHERE seq = 17", False, 18),
        ("DELETE FROM entries WHERE seq = 9", True, 10),
    ],
)
def test_tampering_with_a_checkpoint_or_after_it_is_found(
    tmp_path: Path, statement: str, full: bool, bad: int
) -> None:
    with busy(tmp_path / "l.db") as ledger:
        checkpoint(ledger, "clinic", least=5)
        waiting = ledger.unsettled("clinic")[-1]
        ledger.void("clinic", waiting.seq, reason="never answered")
        ledger.allow("clinic", "bo", Budget.of("3"), reason="a share")
        assert verify(ledger, "clinic").ok
        tamper(ledger, statement)
        assert verify(ledger, "clinic", full=full).bad == bad


def test_a_forged_checkpoint_is_found_by_a_full_check(tmp_path: Path) -> None:
    with busy(tmp_path / "l.db") as ledger:
        checkpoint(ledger, "clinic", least=5)
        state = dict(ledger.entries("clinic")[-1].content["state"])
        state["budget"] = Budget.of("99").to_json()
        ledger.write("clinic", lambda account: account.append("checkpoint", body={"state": state}))
        found = verify(ledger, "clinic", full=True)
        assert (found.bad, "state it keeps" in found.reason) == (17, True)


def tamper(ledger: Ledger, statement: str) -> None:
    with ledger.database.connection() as connection:
        assert connection.execute(sa.text(statement)).rowcount, "the tampering changed nothing"


INDEX_TAMPERINGS = {
    "DELETE FROM balls WHERE seq = 4": "the balls in the spatial index",
    "UPDATE balls SET epsilon = '1/5' WHERE seq = 4": "the balls in the spatial index",
    "UPDATE balls SET u = 7 WHERE seq = 4": "is not where it should be",
    "UPDATE sheets SET differential = '5', sensitive = '5'": "less than their places say",
    "UPDATE sheets SET sensitive = '0', differential = '0'": "keeps of its sheets",
    "UPDATE sheets SET sensitive = '1/1000' WHERE analyst <> ''": "keeps of its sheets",
    "UPDATE sheets SET bands = ''": "keeps of its sheets",
    "UPDATE sheets SET bands = substr(bands, 1, instr(bands, ':')) || 1": "keeps of its sheets",
    "DELETE FROM sheets": "keeps of its sheets",
    "UPDATE balls SET depths = '1/9 1/9 1/9 1/9'": "keeps of its sheets",
    "DELETE FROM unsettled": "spends without an answer",
    "UPDATE terms SET number = 9": "terms of the promises",
}


@pytest.mark.parametrize("statement", INDEX_TAMPERINGS)
def test_tampering_with_what_is_derived_from_the_entries_is_found(
    tmp_path: Path, statement: str
) -> None:
    with busy(tmp_path / "l.db") as ledger:
        held = charge(ledger, order("s", wc.SensitivePrivacy("1/4", 5, 1.0)))
        ledger.settle("clinic", held, 1)
        tamper(ledger, statement)
        finding = verify(ledger, "clinic", geometry=BALLS)
        assert INDEX_TAMPERINGS[statement] in finding.reason, finding


MOVED_PRICES = (
    "UPDATE sheets SET differential = '0', sensitive = '0'",
    "UPDATE balls SET depths = '0 0 0 0'",
    "UPDATE sheets SET differential = '1/2', sensitive = '1/2' "
    "WHERE sheet = (SELECT sheet FROM balls WHERE seq = 2)",
    "UPDATE balls SET depths = '1/2 1/2 1/2 1/2' WHERE seq = 2",
)


def test_prices_that_were_moved_from_one_sheet_to_another_are_found(tmp_path: Path) -> None:
    """Their sum is what it was; the next question on the first sheet would be asked for nothing."""
    with Ledger(tmp_path / "l.db", geometry=BALLS) as ledger:
        ledger.open("clinic", budget=Budget.of("10"))
        for digest, column in (("a", "x"), ("b", "y")):
            asked = order(digest, place=0.0)
            assert asked.location is not None
            charge(ledger, replace(asked, location={**asked.location, "columns": [column]}))
        assert verify(ledger, "clinic", geometry=BALLS).ok
        for statement in MOVED_PRICES:
            tamper(ledger, statement)
        assert "keeps of its sheets" in verify(ledger, "clinic", geometry=BALLS).reason


TAMPERINGS: dict[str, tuple[str, int | None]] = {
    "UPDATE entries SET body = replace(body, '1/4', '1/5') WHERE seq = 4": ("not match", 4),
    "UPDATE entries SET analyst = 'bo' WHERE seq = 5": ("not match", 5),
    "UPDATE entries SET at = '1999' WHERE seq = 6": ("not match", 6),
    "UPDATE entries SET closes = 99 WHERE seq = 5": ("not match", 5),
    "UPDATE entries SET hash = previous WHERE seq = 7": ("not match", 7),
    "UPDATE entries SET previous = hash WHERE seq = 7": ("does not follow", 7),
    "DELETE FROM entries WHERE seq = 5": ("entry 5 is missing", 6),
    "DELETE FROM entries WHERE seq = 15": ("ends at", None),
    "UPDATE entries SET body = 'x' WHERE seq = 15": ("not match", 15),
    "UPDATE datasets SET spent = replace(spent, '3/4', '1/2')": ("dataset's stored sums", None),
    "UPDATE datasets SET budget = replace(budget, '20', '30')": ("stored promise", None),
    "UPDATE datasets SET seq = 14": ("ends at", None),
    "UPDATE accounts SET spent = replace(spent, '1/2', '0')": ("analyst 'ana'", None),
    "DELETE FROM accounts WHERE analyst = 'bo'": ("analyst 'bo'", None),
}


@pytest.mark.parametrize("statement", TAMPERINGS)
def test_tampering_is_found_and_the_first_bad_entry_named(tmp_path: Path, statement: str) -> None:
    with busy(tmp_path / "l.db") as ledger:
        with ledger.database.connection() as connection:
            changed = connection.execute(sa.text(statement)).rowcount
        assert changed, "the tampering changed nothing"
        finding = verify(ledger, "clinic")
        words, bad = TAMPERINGS[statement]
        assert not finding.ok
        assert (finding.bad, words in finding.reason) == (bad, True), finding


FORGERIES: dict[str, tuple[dict[str, Any], str]] = {
    "an overspend": (
        {
            "kind": "reserve",
            "digest": "z",
            "body": {"price": wc.DifferentialPrivacy("99").to_json(), "location": None},
        },
        "not there",
    ),
    "a second charge": (
        {"kind": "reserve", "digest": "a", "body": {"price": QUARTER.to_json(), "location": None}},
        "charged before, by entry 4",
    ),
    "an answer to nothing": (
        {"kind": "settle", "digest": "z", "closes": 2, "body": {"answer": 0}},
        "not open",
    ),
    "a void of an answer": (
        {"kind": "void", "digest": "a", "closes": 5, "body": {"reserve": 4, "reason": "greed"}},
        "not open",
    ),
    "a review of nothing": (
        {"kind": "review", "digest": "a", "closes": 5, "body": {"reason": "haste"}},
        "waits for none",
    ),
    "another beginning": ({"kind": "open", "body": {}}, "cannot stand here"),
    "another kind": ({"kind": "gift", "body": {}}, "cannot stand here"),
    "no content": ({"kind": "reserve", "digest": "y", "body": {}}, "not readable"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_entry_with_the_right_hash_is_held_to_the_rules(tmp_path: Path, name: str) -> None:
    fields, words = FORGERIES[name]
    with busy(tmp_path / "l.db") as ledger:
        ledger.write("clinic", lambda account: account.append(**fields))
        finding = verify(ledger, "clinic")
        assert finding.bad == 16
        assert words in finding.reason


def test_export_is_whole_and_harmless_to_spreadsheets(tmp_path: Path) -> None:
    with busy(tmp_path / "l.db") as ledger:
        ledger.settle("clinic", charge(ledger, order("f", analyst="=1+1")), 2)
        exported = to_json(ledger, "clinic")
        assert json.loads(json.dumps(exported)) == exported
        assert [e["seq"] for e in exported["entries"]] == list(range(1, 18))
        table = to_csv(ledger, "clinic").splitlines()
        assert len(table) == 18
        assert ",'=1+1," in table[16]
