"""A service that dies under load loses nothing: spends, answers and clients survive it."""

from __future__ import annotations

import threading
import time
from fractions import Fraction
from pathlib import Path

import pytest
from benchmarks.postgres import missing
from benchmarks.server_kills import studied
from benchmarks.service import Running, free_port, in_folder, prepared, running

import whitecrow as wc
from whitecrow.ledger import Ledger
from whitecrow.ledger.verification import verify
from whitecrow.place.balls import BALLS

MODEL = wc.DistanceAnomaly(beta=5, radius=4.0)
PRICE = Fraction(1, 1000)
ANALYSTS = ("ana", "bob", "cleo", "dan")


def _question(who: int, i: int) -> wc.Screen:
    """A different question for every person and number."""
    record = {"age": 20 + who * 15, "bmi": 15 + i / 10}
    return wc.Screen(record, model=MODEL, epsilon=PRICE)


def _ask_until(
    stop: threading.Event, url: str, who: int, token: str, told: dict[tuple[int, int], object]
) -> None:
    with wc.Client(url, token, patience=60) as client:
        for i in range(400):
            if stop.is_set():
                return
            told[who, i] = client.ask(_question(who, i)).answer


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.study)])
def test_a_killed_service_comes_back_with_every_answer(tmp_path: Path, workers: str) -> None:
    database, port = in_folder(tmp_path), free_port()
    tokens = prepared(database, ANALYSTS, budget="100")
    options = ("--no-pad", "--rate", "0", "--workers", workers)
    first = Running(database, port, options)
    told: dict[tuple[int, int], object] = {}
    stop = threading.Event()
    people = [
        threading.Thread(target=_ask_until, args=(stop, first.url, who, tokens[name], told))
        for who, name in enumerate(ANALYSTS)
    ]
    try:
        first.wait_until_ready()
        for person in people:
            person.start()
        while len(told) < 20:
            time.sleep(0.02)
    finally:
        first.kill()
    before = len(told)
    with running(database, *options, port=port):
        try:
            until = time.monotonic() + 20
            while len(told) < before + 20 and time.monotonic() < until:
                time.sleep(0.02)
        finally:
            stop.set()
            for person in people:
                person.join(timeout=30)
        assert len(told) >= before + 20
        for (who, i), answer in sorted(told.items())[:40]:
            with wc.Client(first.url, tokens[ANALYSTS[who]]) as client:
                again = client.ask(_question(who, i))
            assert (again.answer, again.charged) == (answer, False)
    with Ledger(database, geometry=BALLS) as ledger:
        assert verify(ledger, "clinic", geometry=BALLS).ok
        assert not ledger.unsettled("clinic")
        entries = ledger.entries("clinic")
    kinds = [entry.kind for entry in entries]
    # Every question was charged once and answered once, whatever its client had to repeat.
    assert kinds.count("reserve") == kinds.count("settle") == len(told)
    assert len({entry.digest for entry in entries if entry.kind == "reserve"}) == len(told)


@pytest.mark.study
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost_doubled_or_free_when_processes_and_the_database_die(
    tmp_path: Path, seed: int
) -> None:
    """Two workers, padding on: 300 kills, and 40 stops of PostgreSQL as by a power cut."""
    kills, stops = 50, 10 if seed < 4 else 0  # the other parts are on SQLite
    if stops and missing():
        pytest.skip(missing())
    finding = studied(tmp_path, kills=kills, stops=stops, postgres=bool(stops), seed=seed)
    assert finding.verified
    assert (finding.lost, finding.doubled, finding.free) == (0, 0, 0)
    assert len(finding.told) > kills
    assert finding.killed.total() == kills + stops
