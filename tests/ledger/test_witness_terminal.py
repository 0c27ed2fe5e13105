"""A witness at the terminal, what it holds, and copies of a ledger that is being written."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from witnessed import asked, begun, restored

import whitecrow as wc
from whitecrow.cli import whitecrow
from whitecrow.errors import LedgerUnusable
from whitecrow.ledger import Budget, ChargeRequest, Ledger, Reservation
from whitecrow.ledger.backup import backup
from whitecrow.ledger.states import States
from whitecrow.ledger.verification import verify
from whitecrow.ledger.witness import appoint, setup_of


def test_the_witness_holds_heads_and_numbers_and_nothing_else(tmp_path: Path) -> None:
    """Neither answers nor analysts nor what a publication keeps."""
    place = tmp_path / "witness"
    with begun(f"sqlite:///{tmp_path / 'ledger.db'}", str(place), tmp_path) as ledger:
        asked(ledger, "a", 987654321)
        States(ledger, "clinic").save("mean", 0, {"sum": 987654321})
    said = place.read_text()
    assert "987654321" not in said
    assert "ana" not in said


def test_the_terminal_appoints_shows_and_accepts_a_loss(tmp_path: Path) -> None:
    def run(*words: str, code: int = 0) -> dict[str, object]:
        done = CliRunner().invoke(whitecrow, ["--json", "ledger", *words])
        assert done.exit_code == code, done.output
        found: dict[str, object] = json.loads(done.stdout)
        return found

    path, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    with Ledger(path) as ledger:
        ledger.open("clinic", budget=Budget.of("1"))
        ledger.open("other", budget=Budget.of("1"))
    assert run("witness", str(path)) == {"witness": None}
    run("witness", str(path), "--to", str(tmp_path / "witness"))
    assert (tmp_path / "ledger.db.witness.key").stat().st_mode & 0o077 == 0
    assert run("backup", str(path), str(copy))["witness"] is True
    with Ledger(path) as ledger:
        asked(ledger, "a")
    restored(f"sqlite:///{path}", copy)
    older = {"clinic": {"witnessed": 3, "entries": 1}}
    assert run("witness", str(path))["witness"]["older"] == older  # type: ignore[index]
    run("witness", str(path), "--accept-loss", code=2)
    closed = run("witness", str(path), "--accept-loss", "--reason", "the disk died")
    assert closed == {"closed": ["clinic"]}
    with Ledger(path) as ledger:
        with pytest.raises(wc.PolicyViolation, match="closed for good"):
            asked(ledger, "b")
        order = ChargeRequest("ana", "c", {}, wc.DifferentialPrivacy("1/100"))
        held, _ = ledger.reserve("other", order)
        assert isinstance(held, Reservation)
        held.release()
        assert ledger.settle("other", held, 1).answer == 1


def test_a_place_that_cannot_be_written_leaves_the_ledger_as_it_was(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.open("clinic", budget=Budget.of("1"))
        with pytest.raises(LedgerUnusable):
            appoint(ledger.database, str(tmp_path / "no" / "witness"), tmp_path / "key")
        assert setup_of(ledger.database) is None


def test_an_online_copy_is_one_moment_of_a_ledger_that_others_write(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    with Ledger(store) as ledger:
        ledger.open("clinic", budget=Budget.of("1"))
        stop = threading.Event()

        def write() -> None:
            for i in range(90):
                asked(ledger, str(i))
                if stop.is_set():
                    return

        writer = threading.Thread(target=write)
        writer.start()
        for i in range(3):
            backup(ledger.database, tmp_path / f"copy{i}.db")
            with Ledger(tmp_path / f"copy{i}.db") as copy:
                assert verify(copy, "clinic", full=True).ok
        stop.set()
        writer.join()
        with pytest.raises(wc.InvalidInput, match="never replaces"):
            backup(ledger.database, tmp_path / "copy0.db")
