"""A ledger with a witness: no answer leaves that it does not cover, and none is forgotten."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from witnessed import asked, begun, emptied, marks, restored

import whitecrow as wc
from whitecrow.cli import whitecrow
from whitecrow.curator import opening
from whitecrow.errors import LedgerOutdated, LedgerUnusable
from whitecrow.ledger import Budget, ChargeRequest, Ledger, Reservation, revisions
from whitecrow.ledger.backup import backup
from whitecrow.ledger.schema import OWN_STATES
from whitecrow.ledger.states import States
from whitecrow.ledger.verification import verify
from whitecrow.ledger.witness import lost, setup_of
from whitecrow.ledger.witness.places import DatabasePlace, FilePlace, InstancePlace
from whitecrow.report import UNIT

if TYPE_CHECKING:
    from benchmarks import postgres


def kind_of(place: str) -> type:
    if place.startswith("http"):
        return InstancePlace
    return DatabasePlace if "://" in place else FilePlace


def test_an_old_backup_answers_nothing_and_says_what_to_do(
    store: str, place: str, tmp_path: Path
) -> None:
    """The rehearsal of a restore."""
    with begun(store, place, tmp_path) as ledger:
        asked(ledger, "first", 17)
        backup(ledger.database, tmp_path / "copy")
        asked(ledger, "second", 4)
    restored(store, tmp_path / "copy")
    with Ledger(store) as ledger:
        for question in ("first", "second", "third"):
            with pytest.raises(LedgerOutdated, match="restores a newer copy, or runs"):
                asked(ledger, question, 5)
        assert ledger.snapshot("clinic").seq == 3  # nothing was spent: open, reserve, settle
        assert verify(ledger, "clinic").ok  # looking is free
        assert len(ledger.entries("clinic")) == 3


def test_the_newest_backup_goes_on(store: str, place: str, tmp_path: Path) -> None:
    with begun(store, place, tmp_path) as ledger:
        asked(ledger, "first", 17)
        backup(ledger.database, tmp_path / "copy")
    restored(store, tmp_path / "copy")
    with Ledger(store) as ledger:
        assert asked(ledger, "first", 99).answer == 17
        assert asked(ledger, "second", 4).answer == 4
        assert marks(ledger)["clinic"].seq == ledger.snapshot("clinic").seq


def test_a_restore_under_a_running_process_is_noticed(
    place: str, tmp_path: Path, server: postgres.Cluster
) -> None:
    """Its next answer stays, although the numbers of entries begin anew below the mark."""
    emptied(server.url)
    ledger = begun(server.url, place, tmp_path)
    backup(ledger.database, tmp_path / "copy")
    for name in "abc":
        asked(ledger, name)
    restored(server.url, tmp_path / "copy")
    ledger.database.engine.dispose()
    with pytest.raises(LedgerOutdated):
        asked(ledger, "d")
    with pytest.raises(LedgerOutdated):
        asked(ledger, "a")
    ledger.close()


def test_another_history_of_the_same_length_is_refused(place: str, tmp_path: Path) -> None:
    """Somebody restored a copy and answered without the witness: numbers fit, hashes do not."""
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    with begun(store, place, tmp_path) as ledger:
        backup(ledger.database, tmp_path / "copy")
        asked(ledger, "a", 1)
    restored(store, tmp_path / "copy")
    with Ledger(store) as ledger:
        setup = setup_of(ledger.database)
        assert setup is not None
        ledger.database.write(lambda session: session.command("DELETE FROM witness"))
    with Ledger(store) as ledger:
        asked(ledger, "a", 2)
        asked(ledger, "b", 2)
        assert "clinic" in lost(ledger.database, setup)


def test_the_witness_is_written_before_an_answer_leaves_and_after_it_is_stored(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = kind_of(place)
    seen: list[tuple[int, int]] = []
    keep = kind.keep

    def watched(self, statement):  # type: ignore[no-untyped-def]
        with Ledger(f"sqlite:///{tmp_path / 'ledger.db'}") as other:
            seen.append((other.snapshot("clinic").seq, statement.accounts["clinic"].seq))
        return keep(self, statement)

    monkeypatch.setattr(kind, "keep", watched)
    with begun(f"sqlite:///{tmp_path / 'ledger.db'}", place, tmp_path) as ledger:
        outcome = asked(ledger, "a")
        assert marks(ledger)["clinic"].seq >= outcome.by
    assert seen == [(1, 1), (3, 3)]


def test_whoever_dies_before_the_witness_is_written_has_released_nothing(
    store: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is stored, nobody saw it; the next to ask writes the witness, then gets it."""
    kind = kind_of(place)
    ledger = begun(store, place, tmp_path)
    with monkeypatch.context() as broken:
        broken.setattr(kind, "keep", _gone)
        with pytest.raises(LedgerUnusable):
            asked(ledger, "a", 17)
        with pytest.raises(LedgerUnusable):  # nor does the page with all answers tell it
            ledger.entries("clinic")
        with pytest.raises(LedgerUnusable):
            ledger.history("clinic", "ana")
    ledger.close()
    with Ledger(store) as again:  # honest: it is ahead of its witness, and answers
        assert marks(again)["clinic"].seq == 1
        assert asked(again, "a", 99).answer == 17
        assert marks(again)["clinic"].seq == 3


def _gone(*_: object) -> bool:
    raise LedgerUnusable("away")


def test_a_stored_answer_that_the_witness_knows_costs_no_write(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = kind_of(place)
    with begun(f"sqlite:///{tmp_path / 'ledger.db'}", place, tmp_path) as ledger:
        asked(ledger, "a", 17)
        monkeypatch.setattr(kind, "keep", _gone)
        assert asked(ledger, "a").answer == 17


def test_many_processes_and_threads_share_a_witness(store: str, place: str, tmp_path: Path) -> None:
    """Two ledgers on one store, eight threads each: the witness ends where the store does."""
    ledgers = [begun(store, place, tmp_path), Ledger(store)]
    failed: list[Exception] = []

    def work(which: int) -> None:
        try:
            for i in range(5):
                outcome = asked(ledgers[which % 2], f"{which % 3}-{i}", which)
                assert marks(ledgers[which % 2])["clinic"].seq >= outcome.by
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert marks(ledgers[0])["clinic"].head == ledgers[0].snapshot("clinic").head
    for ledger in ledgers:
        ledger.close()
    with Ledger(store) as again:
        asked(again, "one more")


def test_at_an_interval_the_witness_follows_and_a_close_writes_the_rest(
    place: str, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    with begun(store, place, tmp_path, seconds=600) as ledger:
        asked(ledger, "a")
        assert marks(ledger)["clinic"].seq == 1
    with Ledger(store) as ledger:
        assert marks(ledger)["clinic"].seq == 3


def test_what_somebody_else_signed_is_refused(tmp_path: Path) -> None:
    store, place = f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "witness"
    with begun(store, str(place), tmp_path) as ledger:
        asked(ledger, "a")
    place.write_text(place.read_text().replace('"clinic":[0,3,', '"clinic":[0,2,'))
    with Ledger(store) as ledger, pytest.raises(wc.LedgerCorrupt, match="did not sign"):
        asked(ledger, "b")


def test_a_line_that_a_power_cut_left_unfinished_does_no_harm(tmp_path: Path) -> None:
    store, place = f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "witness"
    with begun(store, str(place), tmp_path) as ledger:
        asked(ledger, "a")
    whole = place.read_bytes()
    place.write_bytes(whole + whole.splitlines()[0][:40])
    with Ledger(store) as ledger:
        asked(ledger, "b")
        assert marks(ledger)["clinic"].seq == 5


def test_a_long_file_is_written_anew_while_others_append(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whitecrow.ledger.witness.places._LARGE", 2000)
    store, place = f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "witness"
    with begun(store, str(place), tmp_path) as one, Ledger(store) as other:
        for i in range(20):
            asked(one if i % 2 else other, str(i))
        assert place.stat().st_size < 3000
        assert marks(one)["clinic"].seq == 41


def test_a_file_that_two_ledgers_share_keeps_what_both_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written anew by the one that tells much, it still holds the few words of the other."""
    monkeypatch.setattr("whitecrow.ledger.witness.places._LARGE", 2000)
    place = tmp_path / "witness"
    with begun(f"sqlite:///{tmp_path / 'quiet.db'}", str(place), tmp_path) as quiet:
        asked(quiet, "a")
        with begun(f"sqlite:///{tmp_path / 'busy.db'}", str(place), tmp_path) as busy:
            for i in range(20):
                asked(busy, str(i))
        assert place.stat().st_size < 5000
        assert asked(quiet, "b", 5).answer == 5


def test_a_publication_that_went_back_is_noticed(place: str, tmp_path: Path) -> None:
    """Its state is no entry of the chain, and its noise must not be drawn twice."""
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    with begun(store, place, tmp_path) as ledger:
        states = States(ledger, "clinic")
        assert states.save("mean", 0, {"sum": 5})
        backup(ledger.database, tmp_path / "copy")
        assert states.save("mean", 1, {"sum": 7})
        setup = setup_of(ledger.database)
        assert setup is not None
    restored(store, tmp_path / "copy")
    with Ledger(store) as ledger:
        assert list(lost(ledger.database, setup)) == ["clinic\nmean"]
        with pytest.raises(LedgerOutdated):
            States(ledger, "clinic").save("mean", 1, {"sum": 8})


def test_what_an_account_keeps_for_itself_may_go_back(place: str, tmp_path: Path) -> None:
    """Digests of files are no release: a copy that has all entries goes on."""
    assert set(OWN_STATES) == {revisions.KEY, opening._DIGESTS, UNIT}
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    with begun(store, place, tmp_path) as ledger:
        kept = States(ledger, "clinic", released=False)
        kept.save("file digests", 0, {"a": "1"})
        backup(ledger.database, tmp_path / "copy")
        kept.save("file digests", 1, {"a": "2"})
    restored(store, tmp_path / "copy")
    with Ledger(store) as ledger:
        assert asked(ledger, "a", 17).answer == 17


def test_a_publication_that_lost_its_state_is_over_and_the_rest_goes_on(
    place: str, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    with begun(store, place, tmp_path) as ledger:
        ledger.open("other", budget=Budget.of("1"))
        assert States(ledger, "clinic").save("mean", 0, {"sum": 5})
        backup(ledger.database, tmp_path / "copy")
        assert States(ledger, "clinic").save("mean", 1, {"sum": 7})
        assert States(ledger, "other").save("sum", 0, {"sum": 7})
    restored(store, tmp_path / "copy")
    words = ["ledger", "witness", str(tmp_path / "ledger.db"), "--accept-loss", "--reason", "fire"]
    done = CliRunner().invoke(whitecrow, words)
    assert done.exit_code == 0, done.output
    assert "clinic, publication mean" in done.output
    with Ledger(store) as ledger:
        for dataset, key in (("clinic", "mean"), ("other", "sum")):
            states = States(ledger, dataset)
            with pytest.raises(wc.PolicyViolation, match="is over"):
                states.load(key)
            for version in (0, 2):  # whoever still holds a version, old or the one that was lost
                with pytest.raises(wc.PolicyViolation, match="is over"):
                    states.save(key, version, {"sum": 8})
        assert asked(ledger, "a", 17).answer == 17


def test_an_account_that_lost_entries_is_never_given_a_budget_again(
    place: str, tmp_path: Path
) -> None:
    """Neither by a larger budget, nor by its name given to a new account."""
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    with begun(store, place, tmp_path) as ledger:
        backup(ledger.database, tmp_path / "copy")
        asked(ledger, "a", 1)
        ledger.open("younger", budget=Budget.of("1"))
        order = ChargeRequest("ana", "b", {}, wc.DifferentialPrivacy("1/100"))
        held, _ = ledger.reserve("younger", order)
        assert isinstance(held, Reservation)
        held.release()
        ledger.settle("younger", held, 1)
    restored(store, tmp_path / "copy")
    words = ["ledger", "witness", str(tmp_path / "ledger.db"), "--accept-loss", "--reason", "fire"]
    assert CliRunner().invoke(whitecrow, words).exit_code == 0
    with Ledger(store) as ledger:
        with pytest.raises(wc.PolicyViolation, match="closed for good"):
            asked(ledger, "a", 2)
        with pytest.raises(wc.PolicyViolation, match="answered again, differently"):
            ledger.amend("clinic", reason="open it", budget=Budget.of("5"))
        assert ledger.open("younger", budget=Budget.of("1")).closure == 2
        with pytest.raises(wc.PolicyViolation, match="closed for good"):
            ledger.reserve("younger", order)
        ledger.open("new", budget=Budget.of("1"))
        ledger.amend("new", reason="more", budget=Budget.of("5"))
