"""One rate for each person, however many machines answer: a bucket in PostgreSQL, lent in parts."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests
from benchmarks import postgres
from benchmarks.service import Running, prepared, running

from whitecrow.errors import TooMany
from whitecrow_server import Service, Settings
from whitecrow_server._handler import Buckets, Limits
from whitecrow_server._store import Store

pytestmark = pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing() or "there")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with postgres.cluster() as server:
        Service(Settings(database=server.url)).close()
        yield server.url


class Counted(Buckets):
    """Counts how often the database is asked."""

    asked = 0

    def lend(self, who: str, wanted: int) -> tuple[int, float]:
        self.asked += 1
        return super().lend(who, wanted)


def machine(store: Store, rate: float, burst: int) -> tuple[Limits, Counted]:
    shelf = Counted(store, rate, Limits(rate, burst).capacity)
    return Limits(rate, burst, lend=shelf.lend), shelf


def passes(limits: Limits, who: str) -> bool:
    try:
        limits.take(who)
    except TooMany:
        return False
    return True


def test_a_burst_over_three_machines_is_one_burst(url: str) -> None:
    store = Store(url)
    machines = [machine(store, 1e-6, 100)[0] for _ in range(3)]
    through = [passes(machines[i % 3], "person ana") for i in range(400)]
    assert 90 <= sum(through) <= 100
    assert passes(machines[0], "person bob")  # a bucket of his own
    store.close()


@pytest.mark.timing
def test_machines_at_once_let_through_no_more_than_burst_and_rate(url: str) -> None:
    store = Store(url)
    machines = [machine(store, 40.0, 50)[0] for _ in range(4)]
    began, through, lock = time.monotonic(), [0], threading.Lock()

    def hammer(limits: Limits) -> None:
        while time.monotonic() - began < 2:
            if passes(limits, "person cleo"):
                with lock:
                    through[0] += 1
            time.sleep(0.001)

    threads = [threading.Thread(target=hammer, args=(one,)) for one in machines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    passed = time.monotonic() - began
    assert through[0] <= 50 + 40 * passed
    assert through[0] >= 40  # and the burst is not wasted
    store.close()


def test_many_requests_ask_the_database_seldom_and_refusals_hardly_ever(url: str) -> None:
    store = Store(url)
    limits, shelf = machine(store, 1e-3, 1000)
    assert sum(passes(limits, "person dan") for _ in range(900)) == 900
    assert shelf.asked <= 900 / 100 + 3  # a hundred at a time
    before = shelf.asked
    for _ in range(2000):
        passes(limits, "person dan")
    assert shelf.asked - before <= 10
    store.close()


def test_whoever_comes_seldom_wastes_nothing(url: str) -> None:
    """Each request borrows one: a slow caller stays far below the rate on every machine."""
    moment = [1000.0]
    lent: list[int] = []

    def lend(who: str, wanted: int) -> tuple[int, float]:
        lent.append(wanted)
        return wanted, 0.0

    limits = Limits(50.0, 100, clock=lambda: moment[0], lend=lend)
    for _ in range(50):
        moment[0] += 1 / 6
        limits.take("person eve")
    assert lent == [1] * 50
    lent.clear()
    for _ in range(500):
        moment[0] += 1 / 40
        limits.take("person eve")
    assert sum(lent) <= 500 * 1.1
    assert len(lent) <= 250


def test_two_nodes_share_one_burst_of_requests() -> None:
    with postgres.cluster() as server:
        token = prepared(server.url, ["ana"], budget="1")["ana"]
        options = ("--rate", "0.01", "--no-pad", "--no-console")
        with running(server.url, *options) as one, running(server.url, *options) as other:
            headers = {"Authorization": f"Bearer {token}"}

            def status(node: Running) -> int:
                return requests.get(f"{node.url}/v1/me", headers=headers, timeout=60).status_code

            with ThreadPoolExecutor(20) as pool:  # refusals are held for a second each
                told = list(pool.map(status, (one, other) * 100))
    assert set(told) == {200, 429}
    assert 80 <= told.count(200) <= 103  # in five minutes, when the test would end, three more
