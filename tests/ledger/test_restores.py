"""After a restore: what lost entries is closed for good, and of two copies only one goes on."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from charges import order
from click.testing import CliRunner, Result
from witnessed import asked, begun, restored

import whitecrow as wc
from whitecrow.cli import whitecrow
from whitecrow.errors import LedgerOutdated, LedgerUnusable
from whitecrow.ledger import Budget, Ledger, Reservation
from whitecrow.ledger.backup import backup
from whitecrow.ledger.states import States
from whitecrow.ledger.timeline import timeline
from whitecrow.ledger.verification import verify
from whitecrow.ledger.witness import SigningKey, Statement, appoint, dismiss, setup_of
from whitecrow.ledger.witness.places import FilePlace
from whitecrow.place.balls import BALLS


def terminal(store: str, *words: str) -> Result:
    """Run ``whitecrow ledger witness``."""
    source = store.removeprefix("sqlite:///")
    return CliRunner().invoke(whitecrow, ["ledger", "witness", source, *words])


def accept_loss(store: str) -> None:
    done = terminal(store, "--accept-loss", "--reason", "fire")
    assert done.exit_code == 0, done.output


def with_a_loss(store: str, place: str, folder: Path) -> None:
    """A ledger that was restored: an open reservation was answered, and two questions were lost."""
    with begun(store, place, folder) as ledger:
        asked(ledger, "before", 1)
        held, _ = ledger.reserve("clinic", order("open"))
        assert isinstance(held, Reservation)
        backup(ledger.database, folder / "copy")
        ledger.settle("clinic", held, 2)
        held.release()
        asked(ledger, "after", 3)
    restored(store, folder / "copy")


CLOSED_TO: dict[str, Callable[[Ledger], object]] = {
    "a question that was forgotten": lambda one: one.reserve("clinic", order("after")),
    "a located question": lambda one: one.reserve("clinic", order("located", place=3.0)),
    "a free question": lambda one: one.reserve(
        "clinic", order("free", wc.SensitivePrivacy("1/100", 1, 1.0), place=3.0)
    ),
    "a reservation from before the backup": lambda one: one.reserve("clinic", order("open")),
    "a stored answer": lambda one: one.reserve("clinic", order("before")),
    "a stored answer that is looked up": lambda one: one.stored(
        "clinic", order("before"), rule=lambda _: None
    ),
    "an answer that comes late": lambda one: one.settle("clinic", Reservation(4, "open", "ana"), 9),
    "a failure that comes late": lambda one: one.fail("clinic", Reservation(4, "open", "ana")),
    "a larger budget": lambda one: one.amend("clinic", reason="more", budget=Budget.of("50")),
    "another policy": lambda one: one.amend("clinic", reason="more", policy={}),
    "giving a spend back": lambda one: one.void("clinic", 4, reason="never answered?"),
    "a plan": lambda one: one.quote("clinic", [order("located", place=3.0)]),
    "a publication": lambda one: States(one, "clinic").save("mean", 0, {"sum": 1}),
    "what a publication keeps": lambda one: States(one, "clinic").load("mean"),
}


@pytest.mark.parametrize("after", ["acceptance", "dismissal", "the loss of the witness"])
def test_an_account_that_lost_entries_is_closed_to_everything(
    store: str, tmp_path: Path, after: str
) -> None:
    """Whatever it costs, whatever was asked before, and also without the witness."""
    place = tmp_path / "witness"
    with_a_loss(store, str(place), tmp_path)
    accept_loss(store)
    if after == "dismissal":
        assert terminal(store, "--dismiss").exit_code == 0
    elif after == "the loss of the witness":
        place.unlink()
        reason = ("--reason", "its disk died")
        assert terminal(store, "--dismiss", "--not-restored", *reason).exit_code == 0
        assert terminal(store, "--to", str(place), "--key", str(tmp_path / "key")).exit_code == 0
    with Ledger(store, geometry=BALLS) as ledger:
        for what, act in CLOSED_TO.items():
            with pytest.raises(wc.PolicyViolation, match="closed for good"):
                pytest.fail(f"{what}: {act(ledger)!r}")
        assert [closed for _, closed in ledger.history("clinic", "ana")] == [None, None]
        # The custodian may still say who may look, and everybody may check.
        ledger.amend("clinic", reason="the study is over", readers=())
        assert ledger.snapshot("clinic").closure == 5
        told = timeline(ledger, "clinic", analyst="bo")
        assert [event.kind for event in told.events] == ["opened", "closed"]
        assert set(told.budget[-1].amounts.values()) == {0}
        assert verify(ledger, "clinic", full=True).ok
    shown = CliRunner().invoke(whitecrow, ["ledger", "show", store.removeprefix("sqlite:///")])
    assert "CLOSED for good by entry 5" in shown.output


def test_an_entry_after_the_closure_is_found_by_a_check(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    with_a_loss(store, str(tmp_path / "witness"), tmp_path)
    accept_loss(store)
    forged: dict[str, dict[str, object]] = {
        "amend": {"reason": "open it", "budget": Budget.of("5").to_json()},
        "settle": {"answer": 1},
        "closure": {"reason": "again", "budget": Budget.of("0").to_json()},
    }
    for kind, body in forged.items():
        with Ledger(store) as ledger:
            backup(ledger.database, tmp_path / f"{kind}.db")
        with Ledger(tmp_path / f"{kind}.db") as ledger:
            assert verify(ledger, "clinic", full=True).ok
            ledger.write(
                "clinic",
                lambda one, kind=kind, body=body: one.append(  # type: ignore[misc]
                    kind, body=body, closes=4 if kind == "settle" else None, digest="open"
                ),
            )
            assert "closed the account for good" in verify(ledger, "clinic").reason
    with Ledger(store) as ledger:
        ledger.database.write(lambda one: one.command("UPDATE datasets SET closure = 0"))
        assert "closed for good" in verify(ledger, "clinic").reason


def test_an_account_that_is_gone_is_closed_under_its_name(tmp_path: Path) -> None:
    """Also without the witness nobody opens another account of that name, with a new budget."""
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    with begun(store, str(tmp_path / "witness"), tmp_path) as ledger:
        backup(ledger.database, tmp_path / "copy")
        ledger.open("younger", budget=Budget.of("1"))
        held, _ = ledger.reserve("younger", order("a"))
        assert isinstance(held, Reservation)
        ledger.settle("younger", held, 1)
        held.release()
    restored(store, tmp_path / "copy")
    accept_loss(store)
    assert terminal(store, "--dismiss").exit_code == 0
    with Ledger(store) as ledger:
        ledger.open("younger", budget=Budget.of("1"))
        with pytest.raises(wc.PolicyViolation, match="closed for good"):
            ledger.reserve("younger", order("a"))
        assert asked(ledger, "clinic goes on", 4).answer == 4
        assert verify(ledger, "younger", full=True).ok


def test_accounts_that_an_older_version_closed_by_a_budget_of_0_are_closed(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger(path) as ledger:
        for name, reason in (("lost", "entries were lost: fire"), ("spent", "enough")):
            ledger.open(name, budget=Budget.of("1"))
            ledger.amend(name, reason=reason, budget=Budget.of("0"))
    with sqlite3.connect(path) as old:
        old.execute("ALTER TABLE datasets DROP COLUMN closure")
        old.execute("ALTER TABLE publishers DROP COLUMN fingerprints")
        old.execute("UPDATE alembic_version SET version_num = '0004'")
    old.close()
    with Ledger(path) as ledger:
        assert [ledger.snapshot(name).closure for name in ("lost", "spent")] == [3, 0]
        with pytest.raises(wc.PolicyViolation, match="closed for good"):
            ledger.amend("lost", reason="open it", budget=Budget.of("1"))
        ledger.amend("spent", reason="a vote", budget=Budget.of("1"))
        assert all(verify(ledger, name, full=True).ok for name in ("lost", "spent"))


# A witness without a statement of this ledger is an outage


def lose(place: str, folder: Path) -> None:
    """Lose what the place holds."""
    if "://" not in place:
        Path(place).unlink()
        return
    http = place.startswith("http")
    path = folder / "elsewhere" / ("instance.db" if http else "witness.db")
    tables = ("service_witnessed_marks", "service_statements", "service_witnessed")
    with sqlite3.connect(path) as database:
        for table in tables if http else ("whitecrow_witness",):
            database.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
    database.close()


@pytest.mark.parametrize("running", [True, False], ids=["running", "restored"])
def test_an_empty_witness_is_no_new_one(place: str, tmp_path: Path, running: bool) -> None:
    """The file is away, the database empty, the instance has forgotten: nothing is answered."""
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    ledger = begun(store, place, tmp_path)
    backup(ledger.database, tmp_path / "copy")
    asked(ledger, "a", 1)
    if not running:
        ledger.close()
        restored(store, tmp_path / "copy")
        ledger = Ledger(store)
    lose(place, tmp_path)
    for question in ("b", "a") if not running else ("b", "c"):
        with pytest.raises(LedgerUnusable, match=r"holds nothing of it.*--not-restored"):
            asked(ledger, question, 2)
    ledger.close()
    refused = terminal(store, "--dismiss")
    assert refused.exit_code == 1
    assert "does not confirm" in refused.output
    assert terminal(store, "--accept-loss", "--reason", "fire").exit_code == 1
    assert "://" in place or not Path(place).exists()  # nor was an empty one made


def test_only_vouching_dismisses_a_witness_that_is_gone_and_the_chain_keeps_it(
    tmp_path: Path,
) -> None:
    store, place = f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "witness"
    with begun(store, str(place), tmp_path) as ledger:
        asked(ledger, "a", 1)
    place.unlink()
    assert f"Witness {place}." in " ".join(terminal(store).output.split())
    assert terminal(store, "--dismiss", "--not-restored").exit_code == 2  # without a reason
    done = terminal(store, "--dismiss", "--not-restored", "--reason", "its disk died")
    assert done.exit_code == 0, done.output
    with Ledger(store) as ledger:
        assert ledger.witness is None
        assert "its disk died" in str(ledger.entries("clinic", kind="amend")[-1].content)
        appoint(ledger.database, str(place), tmp_path / "key")
    with Ledger(store) as ledger:
        assert asked(ledger, "b", 2).answer == 2


def test_a_witness_that_says_the_ledger_is_older_is_not_dismissed(
    place: str, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    with_a_loss(store, place, tmp_path)
    with Ledger(store) as ledger:
        for vouched in (False, True):
            with pytest.raises(LedgerOutdated, match="--accept-loss"):
                dismiss(ledger.database, not_restored=vouched)
        assert setup_of(ledger.database) is not None


def test_a_copy_from_before_its_witness_was_dismissed_does_not_go_on(
    place: str, tmp_path: Path
) -> None:
    """What was answered since, its witness does not know."""
    store = f"sqlite:///{tmp_path / 'ledger.db'}"
    with begun(store, place, tmp_path) as ledger:
        backup(ledger.database, tmp_path / "copy")
        dismiss(ledger.database)
    with Ledger(store) as ledger:
        asked(ledger, "a", 1)
    restored(store, tmp_path / "copy")
    with Ledger(store) as ledger:
        with pytest.raises(LedgerOutdated, match="before its witness was dismissed"):
            asked(ledger, "a", 2)
        with pytest.raises(LedgerUnusable, match="does not confirm"):
            dismiss(ledger.database)


# Two copies of one ledger


def copies(place: str, folder: Path, *, opened: bool) -> tuple[Ledger, Ledger]:
    """A ledger with two accounts, and a copy of it, both in use."""
    store, other = (f"sqlite:///{folder / name}.db" for name in ("ledger", "other"))
    first = begun(store, place, folder)
    first.open("second", budget=Budget.of("1"))
    asked(first, "common", 1)
    assert States(first, "clinic").save("mean", 0, {"sum": 1})
    backup(first.database, folder / "other.db")
    second = Ledger(other)
    if opened:  # both have compared themselves with the witness before they part
        assert asked(second, "common", 2).answer == 1
    return first, second


@pytest.mark.parametrize("opened", [True, False], ids=["both opened", "one opened later"])
def test_of_two_copies_one_answers(place: str, tmp_path: Path, opened: bool) -> None:
    """Whichever asks first; the other says why it stops, and has released nothing."""
    first, second = copies(place, tmp_path, opened=opened)
    assert asked(second, "a", 1).answer == 1
    for question in ("a", "b", "common"):
        with pytest.raises(LedgerOutdated, match="witness"):
            asked(first, question, 2)
    assert asked(second, "b", 3).answer == 3
    with pytest.raises(LedgerOutdated):
        first.history("clinic", "ana")
    first.close()
    second.close()


def test_copies_that_write_to_different_accounts_are_a_fork_too(place: str, tmp_path: Path) -> None:
    first, second = copies(place, tmp_path, opened=True)
    asked(first, "a", 1)
    held, _ = second.reserve("second", order("b"))
    assert isinstance(held, Reservation)
    with pytest.raises(LedgerOutdated, match="Two copies of this ledger are in use"):
        second.settle("second", held, 2)
    held.release()
    first.close()
    second.close()


def test_copies_that_each_continue_a_publication_are_a_fork_too(place: str, tmp_path: Path) -> None:
    """Both write version 1; what they keep is no entry, and only a random fingerprint differs."""
    first, second = copies(place, tmp_path, opened=True)
    assert States(first, "clinic").save("mean", 1, {"sum": 3})
    with pytest.raises(LedgerOutdated, match="Two copies of this ledger are in use"):
        States(second, "clinic").save("mean", 1, {"sum": 4})
    first.close()
    second.close()


def test_a_fork_that_accepts_the_loss_answers_no_more_and_stops_the_other(
    place: str, tmp_path: Path
) -> None:
    """Its stored answers, which never left, stay where they are."""
    first, second = copies(place, tmp_path, opened=True)
    asked(first, "a", 1)
    with pytest.raises(LedgerOutdated):
        asked(second, "a", 2)
    second.close()
    accept_loss(f"sqlite:///{tmp_path / 'other.db'}")
    with Ledger(tmp_path / "other.db") as second:
        with pytest.raises(wc.PolicyViolation, match="closed for good"):
            asked(second, "a", 2)
        held, _ = second.reserve("second", order("c"))
        assert isinstance(held, Reservation)
        assert second.settle("second", held, 5).answer == 5
        held.release()
    with pytest.raises(LedgerOutdated):
        asked(first, "d", 6)
    first.close()


def test_an_answer_that_a_stopped_process_stored_is_released_by_no_other(tmp_path: Path) -> None:
    """The store was restored under two processes; the first draws anew, and is refused."""
    store, place = f"sqlite:///{tmp_path / 'ledger.db'}", str(tmp_path / "witness")
    running = [begun(store, place, tmp_path), Ledger(store)]
    backup(running[0].database, tmp_path / "copy")
    for i in range(4):
        for ledger in running:
            asked(ledger, f"a{i}", 1)
    with sqlite3.connect(tmp_path / "copy") as old:
        old.backup(sqlite3.connect(tmp_path / "ledger.db"))
    old.close()
    with pytest.raises(LedgerOutdated):
        asked(running[0], "a1", 2)
    with pytest.raises(LedgerOutdated):
        asked(running[1], "a1", 3)
    for ledger in running:
        ledger.close()


def test_what_another_account_lost_stops_every_draw_but_no_stored_answer(tmp_path: Path) -> None:
    """The store was restored under a process: clinic is whole, ward has forgotten an answer."""
    store, place = f"sqlite:///{tmp_path / 'ledger.db'}", str(tmp_path / "witness")
    with begun(store, place, tmp_path) as ledger:
        ledger.open("ward", budget=Budget.of("1"))
        asked(ledger, "a", 1)
        backup(ledger.database, tmp_path / "copy")
        held, _ = ledger.reserve("ward", order("w"))
        assert isinstance(held, Reservation)
        ledger.settle("ward", held, 2)
        held.release()
        with sqlite3.connect(tmp_path / "copy") as old:
            old.backup(sqlite3.connect(tmp_path / "ledger.db"))
        old.close()
        assert asked(ledger, "a", 3).answer == 1  # it was drawn once, and its charge is there
        with pytest.raises(LedgerOutdated):
            asked(ledger, "b", 4)
        with pytest.raises(LedgerOutdated):
            asked(ledger, "a", 5)  # from now on the process knows


def test_at_an_interval_answers_wait_once_the_place_was_away_for_two(tmp_path: Path) -> None:
    store, place = f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "witness"
    with begun(store, str(place), tmp_path, seconds=1) as ledger:
        asked(ledger, "a", 1)
        shutil.move(place, tmp_path / "away")
        guard = ledger.witness
        assert guard is not None
        guard._told_at -= 60
        with pytest.raises(LedgerUnusable, match="holds nothing"):
            asked(ledger, "b", 2)
        shutil.move(tmp_path / "away", place)
        assert asked(ledger, "b", 3).answer == 2  # as it was stored


def test_statements_of_an_older_version_are_extended(tmp_path: Path) -> None:
    """From before statements named each other: the ledger goes on, and a copy of it does not."""
    store, place = f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "witness"
    with begun(store, str(place), tmp_path) as ledger:
        asked(ledger, "a", 1)
        setup = setup_of(ledger.database)
        assert setup is not None
        marks = setup.read().marks
        bare = Statement(setup.ledger, "2026-01-01", marks)
        key = SigningKey(tmp_path / "key")
        said = replace(bare, signature=key._key.sign(bare._signed).hex())
        assert "extends" not in said.to_text()
    place.write_text(f"{said.to_text()}\n")
    shutil.copy(tmp_path / "ledger.db", tmp_path / "other.db")
    with Ledger(store) as ledger, Ledger(tmp_path / "other.db") as other:
        assert asked(ledger, "a", 2).answer == 1
        assert asked(other, "a", 2).answer == 1
        assert asked(ledger, "b", 2).answer == 2
        assert setup.read().number == 1
        with pytest.raises(LedgerOutdated):
            asked(other, "b", 3)


def test_a_version_of_a_publication_is_shown_when_the_witness_knows_it(tmp_path: Path) -> None:
    """It was stored while the place was away; whoever loads it next tells the witness first."""
    store, place = f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path / "witness"
    with begun(store, str(place), tmp_path) as ledger:
        states = States(ledger, "clinic")
        assert states.save("mean", 0, {"sum": 1})
        backup(ledger.database, tmp_path / "copy")
        with pytest.MonkeyPatch.context() as away:
            away.setattr(FilePlace, "keep", _away)
            for act in (lambda: states.save("mean", 1, {"sum": 2}), lambda: states.load("mean")):
                with pytest.raises(LedgerUnusable):
                    act()
        assert states.load("mean") == (1, {"sum": 2})
    restored(store, tmp_path / "copy")
    with Ledger(store) as ledger, pytest.raises(LedgerOutdated):
        States(ledger, "clinic").load("mean")


def _away(*_: object) -> bool:
    raise LedgerUnusable("away")
