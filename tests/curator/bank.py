"""Many processes that ask at once, some of them killed on the way; and the books afterwards."""

from __future__ import annotations

import json
import multiprocessing
import os
import queue
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
from toy_question import Toy

import whitecrow as wc
from whitecrow.curator import execution
from whitecrow.ledger import Ledger
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.ledger.verification import verify

ROWS = pa.table({"x": [1.0, 2.0, 3.0, 4.0, 50.0]})
EPSILON = Fraction(1, 5000)

START: Any = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")


@dataclass(frozen=True)
class Bank:
    """The set-up: who asks what, of which budget.

    Parameters
    ----------
    url : str
        The store.
    charges : int
        For how many questions the dataset's budget suffices.
    share : int
        For how many each analyst's suffices.
    """

    url: str
    charges: int
    share: int
    analysts: tuple[str, ...] = ("ana", "bo", "cy", "di")
    log: Path = field(default=Path())

    def open(self, analyst: str) -> wc.Curator:
        return wc.Curator.open(ROWS, name="bank", ledger=self.url, analyst=analyst)

    def found(self) -> None:
        """Open the account and set the allowances."""
        curator = wc.Curator.open(ROWS, name="bank", ledger=self.url, budget=self.charges * EPSILON)
        for analyst in self.analysts:
            curator.allow(analyst, self.share * EPSILON, reason="a share each")
        curator.close()

    def audit(self) -> Counter[str]:
        """Check the books; return how many entries of each kind there are."""
        with Ledger(self.url) as ledger:
            finding = verify(ledger, "bank")
            entries = ledger.entries("bank")
            standing = ledger.snapshot("bank")
        assert finding.ok, finding
        kinds = Counter(entry.kind for entry in entries)
        spent = standing.spent.epsilon
        assert spent == kinds["reserve"] * EPSILON
        assert spent <= standing.budget.differential
        assert spent + (standing.budget.differential - spent) == self.charges * EPSILON
        for analyst in self.analysts:
            share = standing.shares[analyst]
            mine = [e for e in entries if e.kind == "reserve" and e.analyst == analyst]
            assert share.spent.epsilon == len(mine) * EPSILON <= self.share * EPSILON
        # One charge a question, one answer a charge.
        assert len({e.digest for e in entries if e.kind == "reserve"}) == kinds["reserve"]
        closed = [e.closes for e in entries if e.kind == "settle"]
        assert len(set(closed)) == len(closed)
        return kinds


def ask_all(bank: Bank, analyst: str, numbers: list[int], barrier: Any, report: Any) -> None:
    """One process: ask, and tell how each ask ended."""
    ends: Counter[str] = Counter()
    answers: dict[int, Any] = {}
    with bank.open(analyst) as curator:
        barrier.wait()
        for number in numbers:
            try:
                release = curator.ask(Toy(number, EPSILON))
            except wc.BudgetExhausted:
                ends["refused"] += 1
            else:
                ends["charged" if release.charged else "free"] += 1
                answers[number] = release.answer
    report.put((ends, answers))


def run(bank: Bank, processes: int, asks: int, *, shared: float = 0.2, seed: int = 1) -> None:
    """Start the processes at a barrier and check what they did to the account."""
    bank.found()
    random_ = random.Random(seed)
    barrier, report = START.Barrier(processes), START.Queue()
    each = asks // processes
    crowd = []
    for place in range(processes):
        # Some questions are everybody's, so that the same one is asked at the same moment.
        own = [place * each + i for i in range(each)]
        numbers = [
            random_.randrange(10**6, 10**6 + each) if random_.random() < shared else n for n in own
        ]
        analyst = bank.analysts[place % len(bank.analysts)]
        crowd.append(START.Process(target=ask_all, args=(bank, analyst, numbers, barrier, report)))
    for process in crowd:
        process.start()
    ends: Counter[str] = Counter()
    seen: dict[int, Any] = {}
    for _ in crowd:
        counted, answers = _reported(report, crowd)
        ends += counted
        for number, answer in answers.items():
            assert seen.setdefault(number, answer) == answer, "two answers to one question"
    for process in crowd:
        process.join()
        assert process.exitcode == 0
    kinds = bank.audit()
    assert sum(ends.values()) == each * processes
    assert ends["charged"] == kinds["settle"] == kinds["reserve"] == bank.charges
    assert len(seen) == bank.charges


def _reported(report: Any, crowd: list[Any]) -> tuple[Counter[str], dict[int, Any]]:
    """The next report, or a failure at once if a process has died without one."""
    while True:
        try:
            found: tuple[Counter[str], dict[int, Any]] = report.get(timeout=1)
        except queue.Empty:
            assert not any(process.exitcode for process in crowd), "a process died"
        else:
            return found


POINTS = (
    "before reserve",
    "in reserve",
    "after reserve",
    "in compute",
    "after compute",
    "in settle",
    "after settle",
    "at random",
)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _around(owner: Any, name: str, act: Callable[[], None], *, before: bool) -> None:
    plain = getattr(owner, name)

    def wrapped(*given: Any, **named: Any) -> Any:
        if before:
            act()
        found = plain(*given, **named)
        if not before:
            act()
        return found

    setattr(owner, name, wrapped)


def ask_and_die(bank: Bank, analyst: str, numbers: list[int], point: str, seed: int) -> None:
    """One process that is killed at a point of its way; answers it got are written down."""
    random_ = random.Random(seed)
    countdown = random_.randrange(1, 6)

    def act() -> None:
        nonlocal countdown
        countdown -= 1
        if countdown == 0:
            _die()

    places: dict[str, tuple[Any, str, bool]] = {
        "before reserve": (Ledger, "reserve", True),
        "in reserve": (AccountTransaction, "append", False),
        "after reserve": (execution.InProcess, "answer", True),
        "in compute": (execution, "steady", True),
        "after compute": (execution.InProcess, "answer", False),
        "in settle": (AccountTransaction, "outcome", False),
        "after settle": (Ledger, "settle", False),
    }
    if point in places:
        owner, name, before = places[point]
        _around(owner, name, act, before=before)
    curator = bank.open(analyst)
    with bank.log.open("a", encoding="utf-8") as log:
        for number in numbers:
            try:
                release = curator.ask(Toy(number, EPSILON))
            except wc.BudgetExhausted:
                continue
            log.write(json.dumps([number, release.answer, release.charged]) + "\n")
            log.flush()
    os._exit(0)


def run_with_kills(bank: Bank, kills: int, *, seed: int = 7) -> int:
    """Kill processes at every point, then let a survivor ask everything; check the account."""
    bank.found()
    random_ = random.Random(seed)
    killed, started = 0, 0
    while killed < kills:
        crowd = []
        for _ in range(4):
            point = POINTS[started % len(POINTS)]
            numbers = [random_.randrange(0, 3 * bank.charges) for _ in range(8)]
            analyst = random_.choice(bank.analysts)
            job = (bank, analyst, numbers, point, random_.randrange(10**9))
            crowd.append((START.Process(target=ask_and_die, args=job), point))
            started += 1
        for process, _ in crowd:
            process.start()
        for process, point in crowd:
            if point == "at random":
                time.sleep(random_.random() * 0.05)
                process.kill()
        for process, _ in crowd:
            process.join(60)
            assert process.exitcode in (0, -signal.SIGKILL), "it died of something else"
            killed += process.exitcode != 0
    told: dict[int, Any] = {}
    for line in bank.log.read_text(encoding="utf-8").splitlines():
        number, answer, _ = json.loads(line)
        assert told.setdefault(number, answer) == answer, "two answers to one question"
    kinds = bank.audit()
    with bank.open("ana") as survivor:
        # Nothing lost: what the dead had paid for is answered without a second charge.
        waiting = survivor.unsettled()
        assert len(waiting) == kinds["reserve"] - kinds["settle"]
        for entry in waiting:
            number = entry.content["question"]["question"]["number"]
            survivor.ask(Toy(number, EPSILON), analyst=entry.analyst)
        after = bank.audit()
        assert after["reserve"] == after["settle"] == kinds["reserve"]
        for number, answer in told.items():
            assert survivor.ask(Toy(number, EPSILON)).answer == answer
        assert survivor.unsettled() == []
    return killed
