"""Writers share transactions and turns: what one meets does not stay with the others."""

from __future__ import annotations

import itertools
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import whitecrow as wc
from whitecrow.errors import LedgerUnusable, Unavailable
from whitecrow.ledger import Budget, ChargeRequest, Ledger, Reservation
from whitecrow.ledger.database import GroupCommit
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.ledger.verification import verify
from whitecrow.place.balls import BALLS

TENTH = wc.DifferentialPrivacy("1/10")


def located(name: str, center: float, analyst: str = "ana") -> ChargeRequest:
    ball = {"columns": ["x"], "metric": "euclidean", "center": [center], "radius": 1.0}
    return ChargeRequest(analyst, name, {}, TENTH, ball)


def opened(path: Path) -> Ledger:
    ledger = Ledger(path, geometry=BALLS)
    ledger.open("d", budget=Budget.of("1"))
    return ledger


def charge(ledger: Ledger, order: ChargeRequest) -> None:
    held, _ = ledger.reserve("d", order)
    assert isinstance(held, Reservation)
    ledger.settle("d", held, 1)
    held.release()


def books(ledger: Ledger) -> Any:
    finding = verify(ledger, "d", geometry=BALLS)
    assert finding.ok, finding
    return ledger.snapshot("d").spent.located.differential


class Failing:
    """The connection on which a store is written, of which one commit fails."""

    def __init__(self, connection: Any, commits: Iterator[int], place: int) -> None:
        self._connection, self._commits, self._place = connection, commits, place

    def commit(self) -> None:
        if next(self._commits, None) == self._place:
            raise sqlite3.OperationalError("disk I/O error")
        self._connection.commit()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def let_fail(ledger: Ledger, place: int, patch: pytest.MonkeyPatch) -> None:
    """Let a commit fail: the next one, or a later one."""
    session = ledger.database._writing()
    patch.setattr(session, "raw", Failing(session.raw, iter(range(1, place + 1)), place))


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not true():
        assert time.monotonic() < until
        time.sleep(0.001)


def test_what_a_failed_commit_charged_is_on_no_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "l.db") as ledger:
        charge(ledger, located("a", 0.0))
        let_fail(ledger, 1, monkeypatch)
        with pytest.raises(Unavailable, match="disk reports an error"):
            ledger.reserve("d", located("b", 0.5))
        charge(ledger, located("c", 0.5))  # touches a; b was never charged
        assert books(ledger) == 2 * TENTH.epsilon
        charge(ledger, located("b", 9.0))
        assert books(ledger) == 2 * TENTH.epsilon


def test_a_commit_that_fails_fails_for_all_who_share_it_and_for_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "l.db") as ledger, ThreadPoolExecutor(5) as pool:
        charge(ledger, located("first", 0.0))
        let_fail(ledger, 2, monkeypatch)
        begun, go_on = threading.Event(), threading.Event()

        def hold(account: Any) -> None:
            begun.set()
            go_on.wait(10)

        ahead = pool.submit(ledger.write, "d", hold)
        begun.wait(10)
        shared = [pool.submit(ledger.reserve, "d", located(f"{i}", i / 9)) for i in range(4)]
        wait_until(lambda: len(ledger.database._line._waiting) == 4)
        go_on.set()
        ahead.result()
        assert all(isinstance(job.exception(10), Unavailable) for job in shared)
        assert books(ledger) == TENTH.epsilon
        for i in range(4):  # not one of them was charged, and nobody holds a claim on any
            charge(ledger, located(f"{i}", i / 9))
        assert books(ledger) == 5 * TENTH.epsilon


def test_a_commit_that_finds_the_file_taken_is_tried_again_and_done_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Busy(Failing):
        def commit(self) -> None:
            if next(self._commits, None) is not None:
                error = sqlite3.OperationalError("database is locked")
                error.sqlite_errorcode = sqlite3.SQLITE_BUSY_RECOVERY
                raise error
            self._connection.commit()

    with opened(tmp_path / "l.db") as ledger:
        charge(ledger, located("a", 0.0))
        session = ledger.database._writing()
        monkeypatch.setattr(session, "raw", Busy(session.raw, iter(range(3)), 0))
        charge(ledger, located("b", 9.0))
        assert [entry.kind for entry in ledger.entries("d")] == ["open", *2 * ["reserve", "settle"]]
        assert books(ledger) == TENTH.epsilon


def test_a_connection_that_is_lost_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lost(Failing):
        def commit(self) -> None:
            self._connection.close()
            raise sqlite3.OperationalError("disk I/O error")

        def rollback(self) -> None:
            raise sqlite3.OperationalError("disk I/O error")

    with opened(tmp_path / "l.db") as ledger:
        charge(ledger, located("a", 0.0))
        session = ledger.database._writing()
        monkeypatch.setattr(session, "raw", Lost(session.raw, iter(()), 0))
        with pytest.raises(Unavailable, match="disk reports an error"):
            ledger.reserve("d", located("b", 9.0))
        charge(ledger, located("b", 9.0))
        assert len(ledger.entries("d", kind="reserve")) == 2
        assert books(ledger) == TENTH.epsilon


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_writes_on_a_connection_of_its_own(tmp_path: Path) -> None:
    with opened(tmp_path / "l.db") as ledger:
        charge(ledger, located("a", 0.0))
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            charge(ledger, located("b", 9.0))
            os.write(write, b"b")
            os.close(write)
            os._exit(0)
        assert os.read(read, 1) == b"b"
        charge(ledger, located("c", 18.0))
        os.waitpid(child, 0)
        charge(ledger, located("d", 27.0))
        assert len(ledger.entries("d", kind="settle")) == 4
        assert books(ledger) == TENTH.epsilon


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("order", list(itertools.product((False, True), repeat=3)))
def test_what_a_fork_wrote_stays_when_its_parent_closes_first(
    tmp_path: Path, order: tuple[bool, bool, bool]
) -> None:
    """SQLite's note of what locks the process holds is inherited, the locks are not."""
    reads, writes, parent_writes = order
    ledger = opened(tmp_path / "l.db")
    charge(ledger, located("a", 0.0))
    (ready, begun), (go, closed) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        if writes:
            charge(ledger, located("b", 9.0))
        if reads:
            ledger.snapshot("d")
        os.write(begun, b"b")
        os.read(go, 1)
        charge(ledger, located("c", 18.0))
        os._exit(0)
    os.read(ready, 1)
    if parent_writes:
        charge(ledger, located("d", 27.0))
    ledger.close()
    os.write(closed, b"c")
    assert os.waitpid(child, 0)[1] == 0
    with opened(tmp_path / "l.db") as again:
        assert len(again.entries("d", kind="settle")) == 2 + writes + parent_writes
        assert books(again) == TENTH.epsilon
        assert verify(again, "d").ok


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_waits_for_other_threads_and_may_not_use_what_was_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_child() -> str:
        told, tell = os.pipe()
        if (child := os.fork()) == 0:
            try:
                charge(ledger, located("b", 9.0))
                os.write(tell, b"charged")
            except LedgerUnusable as refused:
                os.write(tell, str(refused).encode())
            os._exit(0)
        os.waitpid(child, 0)
        return os.read(told, 1000).decode()

    with opened(tmp_path / "l.db") as ledger:
        charge(ledger, located("a", 0.0))
        reading = threading.Event()

        def read(account: AccountTransaction) -> None:
            reading.set()
            time.sleep(0.2)

        with ThreadPoolExecutor(1) as pool:
            pool.submit(ledger.read, "d", read)
            reading.wait()
            assert in_child() == "charged"
        monkeypatch.setattr("whitecrow.ledger.database._FORK_SECONDS", 0.05)
        assert "Start a process anew" in ledger.read("d", lambda _: in_child())
        assert "Start a process anew" in ledger.write("d", lambda _: in_child())
        charge(ledger, located("c", 18.0))
        assert len(ledger.entries("d", kind="settle")) == 3


def test_an_act_that_is_undone_after_its_entry_is_on_no_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "l.db") as ledger:
        charge(ledger, located("a", 0.0))

        def broken(*given: object, **named: object) -> None:
            raise OSError("no locks left")

        with monkeypatch.context() as patch:
            patch.setattr(ledger._claims, "take", broken)
            with pytest.raises(Unavailable):
                ledger.reserve("d", located("b", 0.5))
        charge(ledger, located("c", 0.5))
        assert books(ledger) == 2 * TENTH.epsilon


def test_two_ledgers_see_each_others_spends_voids_and_caps_at_once(tmp_path: Path) -> None:
    with opened(tmp_path / "l.db") as one, opened(tmp_path / "l.db") as two:
        charge(one, located("a", 0.0))
        charge(two, located("b", 0.5, "bo"))
        held, standing = one.reserve("d", located("c", 0.2))
        assert isinstance(held, Reservation)
        assert standing.spent.located.differential == 3 * TENTH.epsilon
        held.release()
        two.void("d", held.seq, reason="never answered")
        assert books(one) == 2 * TENTH.epsilon
        two.amend("d", reason="less", budget=Budget.of("1/5"))
        with pytest.raises(wc.BudgetExhausted):
            one.reserve("d", located("d", 0.1))
        two.amend("d", reason="more", budget=Budget.of("2"))
        two.allow("d", "ana", Budget.of("1/10"), reason="a share")
        with pytest.raises(wc.BudgetExhausted, match="'ana'"):
            one.reserve("d", located("d", 0.1))
        two.allow("d", "ana", None, reason="no share")
        charge(one, located("d", 0.1))
        assert books(two) == 3 * TENTH.epsilon


# Other processes


def test_a_stuck_process_makes_asks_unavailable_and_spends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whitecrow.ledger.database.PATIENCE_SECONDS", 0.2)
    path = tmp_path / "l.db"
    with opened(path) as ledger, ThreadPoolExecutor(4) as pool:
        stuck = sqlite3.connect(path, isolation_level=None)
        stuck.execute("BEGIN IMMEDIATE")
        asks = [pool.submit(ledger.reserve, "d", located(f"{i}", 5.0 * i)) for i in range(4)]
        for ask in asks:
            assert isinstance(ask.exception(10), Unavailable)
        assert [entry.kind for entry in ledger.entries("d")] == ["open"]
        stuck.execute("ROLLBACK")
        stuck.close()
        charge(ledger, located("0", 0.0))
        assert books(ledger) == TENTH.epsilon


@pytest.mark.timing
def test_whoever_finds_the_file_taken_begins_soon_after_it_is_free(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    with opened(path) as ledger, ThreadPoolExecutor(1) as pool:
        busy = sqlite3.connect(path, isolation_level=None)
        waited = []
        for i in range(5):
            busy.execute("BEGIN IMMEDIATE")
            asked = pool.submit(ledger.reserve, "d", located(f"{i}", 5.0 * i))
            time.sleep(0.3)  # by then SQLite's own pauses would have grown to a tenth of a second
            busy.execute("ROLLBACK")
            free = time.monotonic()
            asked.result(10)
            waited.append(time.monotonic() - free)
        busy.close()
    assert min(waited) < 0.05


# The line


def working(begun: threading.Event, go_on: threading.Event) -> Callable[..., None]:
    """Work that stops after its first act until it may go on."""

    def work(fetch: Callable[[], list[Any]]) -> None:
        for job in fetch():
            try:
                job.result = job.act(None)
            except ValueError as error:
                job.error = error
        begun.set()
        go_on.wait(10)

    return work


def test_whoever_waits_behind_a_stuck_leader_leaves_the_line() -> None:
    begun, go_on = threading.Event(), threading.Event()
    line: GroupCommit[None] = GroupCommit(working(begun, go_on), 0.05)
    done: list[int] = []
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(line.run, lambda _: done.append(1))
        begun.wait(10)
        with pytest.raises(Unavailable, match="Nothing was spent"):
            line.run(lambda _: done.append(2))
        go_on.set()
        first.result()
    line.run(lambda _: done.append(3))
    assert done == [1, 3]


def test_an_interrupted_leader_tells_those_it_worked_for_and_hands_over() -> None:
    begun, go_on = threading.Event(), threading.Event()
    calls: list[int] = []

    def work(fetch: Callable[[], list[Any]]) -> None:
        calls.append(1)
        if len(calls) == 1:
            begun.set()
            go_on.wait(10)
            wait_until(lambda: len(line._waiting) == 2)
            fetch()
            raise KeyboardInterrupt
        for job in fetch():
            job.result = "done"

    line: GroupCommit[None] = GroupCommit(work, 10.0)
    with ThreadPoolExecutor(3) as pool:
        leader = pool.submit(line.run, lambda _: None)
        begun.wait(10)
        behind = [pool.submit(line.run, lambda _: None) for _ in range(2)]
        go_on.set()
        assert isinstance(leader.exception(10), KeyboardInterrupt)
        for job in behind:
            assert isinstance(job.exception(10), Unavailable)
        assert pool.submit(line.run, lambda _: None).result(10) == "done"


def test_an_act_that_raises_is_undone_alone() -> None:
    free = threading.Event()
    free.set()
    line: GroupCommit[None] = GroupCommit(working(threading.Event(), free), 10.0)

    def refuse(_: None) -> None:
        raise ValueError("refused")

    with pytest.raises(ValueError, match="refused"):
        line.run(refuse)
    assert line.run(lambda _: 7) == 7
