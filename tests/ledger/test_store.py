"""A question's way through the store: one charge, claims, failures, voids, the custodian."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
import sqlalchemy as sa
from charges import charge, order, spent

import whitecrow as wc
from whitecrow.ledger import Budget, Ledger, RecordedOutcome, Reservation
from whitecrow.ledger.account import ToldAt
from whitecrow.ledger.export import to_json
from whitecrow.ledger.failures import failures, review
from whitecrow.ledger.states import States
from whitecrow.ledger.store import CLOSED
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.ledger.verification import verify
from whitecrow.place.balls import BALLS


def test_a_refused_question_leaves_nothing_behind(ledger: Ledger) -> None:
    before = ledger.snapshot("clinic")
    with pytest.raises(wc.BudgetExhausted):
        charge(ledger, order("a", wc.DifferentialPrivacy("2")))
    with pytest.raises(wc.PolicyViolation):
        ledger.reserve("clinic", order("a"), rule=_refuse)
    assert ledger.snapshot("clinic") == before


def _refuse(policy: str) -> None:
    raise wc.PolicyViolation("no")


def test_an_interrupted_question_is_taken_up_and_not_charged_twice(ledger: Ledger) -> None:
    first = charge(ledger, order("a"))
    assert [entry.seq for entry in ledger.unsettled("clinic")] == [first.seq]
    again, _ = ledger.reserve("clinic", order("a", analyst="bo"))
    assert isinstance(again, Reservation)
    assert (again.seq, again.fresh) == (first.seq, False)
    assert ledger.unsettled("clinic") == []  # somebody is computing it
    assert ledger.settle("clinic", again, [1, {"b": None}]).answered
    again.release()
    assert ledger.settle("clinic", first, "another").answer == [1, {"b": None}]
    assert spent(ledger) == Fraction(1, 4)


def test_threads_share_commits_and_nothing_else(tmp_path: Path) -> None:
    """Eight threads, each with some that are refused and some that break; only those are undone."""
    with Ledger(tmp_path / "l.db", geometry=BALLS) as ledger:
        ledger.open("clinic", budget=Budget.of("1"))

        def ask(thread: int) -> list[str]:
            ends = []
            for i in range(20):
                digest = f"{thread}.{i}"
                try:
                    if i % 5 == 4:
                        ledger.write("clinic", lambda account: _broken_act(account))
                    held, _ = ledger.reserve(
                        "clinic", order(digest, wc.DifferentialPrivacy("0.01"))
                    )
                    assert isinstance(held, Reservation)
                    ends.append(ledger.settle("clinic", held, digest).answer)
                    held.release()
                except wc.WhitecrowError as error:
                    ends.append(type(error).__name__)
            return ends

        with ThreadPoolExecutor(8) as pool:
            ends = [end for job in pool.map(ask, range(8)) for end in job]
        counted = Counter(end for end in ends if "." not in end)
        assert counted == {"LedgerUnusable": 32, "BudgetExhausted": 28}
        assert spent(ledger) == 1
        assert verify(ledger, "clinic").ok


def _broken_act(account: AccountTransaction) -> None:
    account.append("gift", body={})
    account.append("gift", body={}, closes=1)
    account.append("gift", body={}, closes=1)


def test_only_one_computes_at_a_time(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whitecrow.ledger.store.PATIENCE_SECONDS", 0.05)
    held, _ = ledger.reserve("clinic", order("a"))
    with pytest.raises(wc.Unavailable, match="being answered"):
        ledger.reserve("clinic", order("a"))
    with pytest.raises(wc.PolicyViolation, match="at this moment"):
        ledger.void("clinic", held.seq, reason="too early")
    held.release()  # type: ignore[union-attr]
    assert isinstance(ledger.reserve("clinic", order("a"))[0], Reservation)


def test_a_void_gives_back_what_was_never_answered(ledger: Ledger) -> None:
    held = charge(ledger, order("a"))
    charge(ledger, order("b", analyst="bo"))
    ledger.void("clinic", held.seq, reason="power cut")
    assert spent(ledger) == Fraction(1, 4)
    assert ledger.snapshot("clinic").shares["ana"].spent.epsilon == 0
    with pytest.raises(wc.PolicyViolation, match="already void"):
        ledger.void("clinic", held.seq, reason="again")
    with pytest.raises(wc.PolicyViolation, match="given back"):
        ledger.settle("clinic", held, "too late")
    assert charge(ledger, order("a")).seq != held.seq
    assert verify(ledger, "clinic", geometry=BALLS).ok


def test_what_was_answered_stays_spent(ledger: Ledger) -> None:
    held = charge(ledger, order("a"))
    ledger.settle("clinic", held, True)
    for seq, words in ((held.seq, "stays spent"), (held.seq + 1, "not a reservation"), (99, "not")):
        with pytest.raises(wc.PolicyViolation, match=words):
            ledger.void("clinic", seq, reason="please")


def test_a_failure_keeps_its_spend_until_it_is_voided(ledger: Ledger) -> None:
    held = charge(ledger, order("a"))
    ledger.fail("clinic", held)
    again, _ = ledger.reserve("clinic", order("a"))
    assert isinstance(again, RecordedOutcome)
    assert not again.answered
    assert [entry.seq for entry in ledger.unsettled("clinic")] == [held.seq]
    ledger.void("clinic", held.seq, reason="a bug, mended")
    assert (spent(ledger), ledger.unsettled("clinic")) == (0, [])
    ledger.settle("clinic", charge(ledger, order("a")), True)
    assert verify(ledger, "clinic", geometry=BALLS).ok


def test_a_failure_closes_the_dataset_when_its_reply_is_due_and_not_when_it_happens(
    ledger: Ledger,
) -> None:
    """Else whoever is refused learns when somebody's computation ended."""
    began = datetime.now(UTC)

    def due(seconds: float) -> ToldAt:
        return lambda _: began + timedelta(seconds=seconds)

    failed, sooner, later = (
        charge(ledger, replace(order(name), told_at=due(seconds)))
        for name, seconds in (("failed", 600), ("sooner", 300), ("later", 900))
    )
    ledger.fail("clinic", failed)
    charge(ledger, order("another"))
    # A reply that leaves before it says nothing of it; one after it finds a closed door.
    assert ledger.settle("clinic", sooner, 17).answered
    assert not ledger.settle("clinic", later, 18).answered
    States(ledger, "clinic").save("publication", 0, {})
    review(ledger, "clinic", failed.seq, reason="a full disk")
    ledger.void("clinic", later.seq, reason="the same")
    ledger.fail("clinic", charge(ledger, replace(order("told"), told_at=due(-1))))
    with pytest.raises(wc.Unavailable, match="takes no new questions"):
        charge(ledger, order("refused"))
    assert verify(ledger, "clinic", geometry=BALLS).ok


def test_a_failure_closes_the_dataset_until_the_custodian_has_looked(ledger: Ledger) -> None:
    ledger.settle("clinic", charge(ledger, order("stored")), 17)
    running, interrupted, held = (charge(ledger, order(name)) for name in "rif")
    ledger.fail("clinic", held)
    for asked in ("new", "i"):  # an interrupted one was paid for, but would compute now
        with pytest.raises(wc.Unavailable) as refused:
            ledger.reserve("clinic", order(asked))
        assert str(refused.value) == CLOSED
    with pytest.raises(wc.Unavailable, match="takes no new questions"):
        States(ledger, "clinic").save("publication", 0, {})
    assert ledger.reserve("clinic", order("stored"))[0].answer == 17  # type: ignore[union-attr]
    # An answer that was under way is not released either: which of several fail is told of none.
    late = ledger.settle("clinic", running, "under way")
    assert (late.answered, late.answer) == (False, None)
    first, second = failures(ledger, "clinic")
    assert (first.closes, second.closes) == (held.seq, running.seq)
    review(ledger, "clinic", held.seq, reason="a full disk")
    with pytest.raises(wc.PolicyViolation, match="waits for a review"):
        review(ledger, "clinic", first.seq, reason="again")
    with pytest.raises(wc.Unavailable):
        charge(ledger, order("new"))
    ledger.void("clinic", running.seq, reason="the same disk")  # giving back is a review as well
    assert ledger.snapshot("clinic").failures == 0
    ledger.settle("clinic", charge(ledger, order("new")), 18)
    ledger.settle("clinic", interrupted, 19)
    before = spent(ledger)
    ledger.void("clinic", held.seq, reason="after all")  # a reviewed spend may still be given back
    assert spent(ledger) < before
    assert verify(ledger, "clinic", geometry=BALLS).ok


def test_a_failure_that_is_hidden_from_the_account_is_found(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.db", geometry=BALLS) as ledger:
        ledger.open("clinic", budget=Budget.of("10"))
        ledger.fail("clinic", charge(ledger, order("a")))
        with ledger.database.connection() as connection:
            connection.execute(sa.text("UPDATE datasets SET failures = 0"))
        assert "failures to review" in verify(ledger, "clinic").reason


def test_the_custodians_acts_need_a_reason(ledger: Ledger) -> None:
    for reason in ("", "  "):
        with pytest.raises(wc.InvalidInput, match="reason"):
            ledger.amend("clinic", budget=Budget.of("2"), reason=reason)
        with pytest.raises(wc.InvalidInput, match="reason"):
            ledger.void("clinic", 1, reason=reason)
    with pytest.raises(wc.InvalidInput, match="not empty"):
        ledger.allow("clinic", "", None, reason="nobody")
    with pytest.raises(wc.InvalidInput, match="no dataset"):
        ledger.snapshot("nowhere")


def test_the_store_itself_refuses_a_second_answer(ledger: Ledger) -> None:
    held = charge(ledger, order("a"))
    ledger.settle("clinic", held, 1)
    second = {"kind": "settle", "digest": "a", "closes": held.seq, "body": {"answer": 2}}
    with pytest.raises(wc.Unavailable):
        ledger.write("clinic", lambda account: account.append(**second))


def test_states_are_swapped_only_in_order(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l.db") as ledger, Ledger(tmp_path / "l.db") as other:
        ledger.open("clinic", budget=Budget.of("1"))
        states, others = States(ledger, "clinic"), States(other, "clinic")
        assert states.load("mean") is None
        assert not states.save("mean", 1, {})
        assert states.save("mean", 0, {"sum": 10**40})
        assert not others.save("mean", 0, {"sum": 0})
        assert others.save("mean", 1, {"sum": 2})
        assert not states.save("mean", 1, {"sum": 3})
        assert states.load("mean") == (1, {"sum": 2})
        assert "sum" not in repr(states)
        assert "10000" not in json.dumps(to_json(ledger, "clinic"))


@pytest.mark.parametrize("shared", [True, False], ids=["one process", "another's claims"])
def test_whoever_waits_for_an_answer_leaves_the_store_in_peace(
    shared: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second ledger on the file stands for a second process: it sees only its locks."""
    first = Ledger(tmp_path / "l.db")
    first.open("clinic", budget=Budget.of("1"))
    second = first if shared else Ledger(tmp_path / "l.db")
    held, _ = first.reserve("clinic", order("a"))
    assert isinstance(held, Reservation)
    writes: list[int] = []
    write = second.database.write

    def counted(act: Callable[[Any], Any]) -> Any:
        writes.append(1)
        return write(act)

    monkeypatch.setattr(second.database, "write", counted)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(second.reserve, "clinic", order("a"))
        time.sleep(0.3)
        assert not waiting.done()
        first.settle("clinic", held, 17)
        held.release()
        outcome, _ = waiting.result(timeout=10)
    assert isinstance(outcome, RecordedOutcome)
    assert outcome.answer == 17
    # It looked, waited, and looked again; the settling is counted where both are one ledger.
    assert len(writes) <= 2 + shared


def test_whoever_opens_an_account_first_others_find_it_open(store: str) -> None:
    ready = Barrier(6)

    def opened(number: int) -> Fraction:
        with Ledger(store) as ledger:
            ready.wait()
            return ledger.open("new", budget=Budget.of(number + 1)).budget.cap("differential")

    with Ledger(store), ThreadPoolExecutor(6) as threads:  # its tables are made
        budgets = set(threads.map(opened, range(6)))
    with Ledger(store) as ledger:
        assert [entry.kind for entry in ledger.entries("new")] == ["open"]
    assert len(budgets) == 1
