"""Several services on one PostgreSQL, behind a proxy: one service, whichever node one meets.

Nodes are processes of their own on loopback, as machines would be: nothing is shared but the
database and the files of records. Larger sizes run with ``--study``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction

import pytest
import requests
from benchmarks import postgres
from benchmarks.proxy import Proxy, proxied
from benchmarks.service import Running, free_port, prepared

import whitecrow as wc
from whitecrow.ledger import Ledger
from whitecrow.ledger.verification import verify
from whitecrow.place.balls import BALLS
from whitecrow_server import Service, Settings

MODEL = wc.DistanceAnomaly(beta=5, radius=4.0)
ANALYSTS = ("ana", "bob", "cleo", "dan")
OPTIONS = ("--no-pad", "--rate", "0")

pytestmark = pytest.mark.skipif(bool(postgres.missing()), reason=postgres.missing() or "there")


@pytest.fixture
def server() -> Iterator[postgres.Cluster]:
    with postgres.cluster() as running:
        yield running


class Nodes:
    """Two nodes that can be ended and begun again on their ports."""

    def __init__(self, database: str, *options: str) -> None:
        self._database, self._options = database, options or OPTIONS
        self._ports = [free_port(), free_port()]
        self.running = [self._begun(port) for port in self._ports]

    def _begun(self, port: int) -> Running:
        return Running(self._database, port, self._options)

    @property
    def urls(self) -> list[str]:
        return [node.url for node in self.running]

    def wait(self) -> None:
        for node in self.running:
            node.wait_until_ready()

    def restart(self, which: int, *, kindly: bool = True) -> None:
        """End a node and begin it again; return when it answers."""
        if kindly:
            self.running[which].stop()
        else:
            self.running[which].kill()
        self.running[which] = self._begun(self._ports[which])
        self.running[which].wait_until_ready()

    def __enter__(self) -> Nodes:
        return self

    def __exit__(self, *raised: object) -> None:
        for node in self.running:
            node.kill()


def _body(who: int, i: int) -> dict[str, object]:
    record = {"age": 20 + who * 15, "bmi": 15 + i / 1000}
    question = wc.Screen(record, model=MODEL, epsilon=Fraction(1, 1000))
    return {"kind": "screen", **question.to_json()}


class Load:
    """People who ask without a pause, and what they were told."""

    def __init__(self, proxy: Proxy, tokens: dict[str, str], each: int) -> None:
        self.told: dict[tuple[int, int], object] = {}
        self.failed: list[str] = []
        self._threads = [
            threading.Thread(
                target=self._ask, args=(proxy.url, who, tokens[name], each), daemon=True
            )
            for who, name in enumerate(ANALYSTS)
        ]
        for thread in self._threads:
            thread.start()

    def _ask(self, url: str, who: int, token: str, each: int) -> None:
        with requests.Session() as session:
            session.headers["Authorization"] = f"Bearer {token}"
            for i in range(each):
                try:
                    reply = session.post(
                        f"{url}/v1/datasets/clinic/ask", json=_body(who, i), timeout=90
                    )
                except requests.RequestException as error:
                    self.failed.append(type(error).__name__)
                    continue
                if reply.status_code == 200:
                    self.told[who, i] = reply.json()["answer"]
                else:
                    self.failed.append(f"{reply.status_code} {reply.text[:200]}")

    def wait_for(self, number: int) -> None:
        until = time.monotonic() + 120
        while len(self.told) < number and self.alive and time.monotonic() < until:
            time.sleep(0.02)

    @property
    def alive(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def join(self) -> None:
        for thread in self._threads:
            thread.join(timeout=600)


def _nothing_lost(database: str, load: Load) -> None:
    """Every question was charged once and answered once, and told as it was answered."""
    with Ledger(database, geometry=BALLS) as ledger:
        assert verify(ledger, "clinic", geometry=BALLS, full=True).ok
        entries = ledger.entries("clinic")
        assert not ledger.unsettled("clinic")
    reserved = [entry for entry in entries if entry.kind == "reserve"]
    settled = {entry.closes: entry.content["answer"] for entry in entries if entry.kind == "settle"}
    assert len(reserved) == len({entry.digest for entry in reserved}) == len(load.told)
    stored = {}
    for entry in reserved:
        record = entry.content["question"]["question"]["record"]
        stored[record["age"], record["bmi"]] = settled[entry.seq]
    asked = {
        (20 + who * 15, 15 + i / 1000): answer for (who, i), answer in sorted(load.told.items())
    }
    assert stored == asked


def _rolling(server: postgres.Cluster, each: int, restarts: int) -> None:
    tokens = prepared(server.url, ANALYSTS, budget="1000")
    with Nodes(server.url) as nodes, proxied(nodes.urls) as proxy:
        nodes.wait()
        load = Load(proxy, tokens, each)
        total = each * len(ANALYSTS)
        for turn in range(restarts):
            load.wait_for(total * (turn + 1) // (restarts + 1))
            nodes.restart(turn % 2)
        load.join()
        assert load.failed == []
        assert len(load.told) == total
    _nothing_lost(server.url, load)


def test_a_rolling_restart_under_load_fails_no_request(server: postgres.Cluster) -> None:
    _rolling(server, each=75, restarts=2)


@pytest.mark.study
@pytest.mark.timeout(1800)
def test_a_rolling_restart_fails_none_of_ten_thousand_requests(server: postgres.Cluster) -> None:
    _rolling(server, each=2500, restarts=6)


def _restarted(server: postgres.Cluster, each: int, times: int) -> None:
    tokens = prepared(server.url, ANALYSTS, budget="1000")
    with Nodes(server.url) as nodes, proxied(nodes.urls) as proxy:
        nodes.wait()
        load = Load(proxy, tokens, each)
        for turn in range(times):
            load.wait_for(each * len(ANALYSTS) * (turn + 1) // (times + 1))
            server.stop()  # -m immediate: as if its machine had gone away
            server.start()
        load.join()
        assert load.failed == []
        assert len(load.told) == each * len(ANALYSTS)
    _nothing_lost(server.url, load)


def test_postgresql_restarted_under_load_loses_nothing_and_charges_nothing_twice(
    server: postgres.Cluster,
) -> None:
    _restarted(server, each=50, times=1)


@pytest.mark.study
@pytest.mark.timeout(1800)
def test_postgresql_restarted_again_and_again_loses_nothing(server: postgres.Cluster) -> None:
    _restarted(server, each=500, times=5)


def test_a_node_that_dies_in_the_middle_of_an_ask_loses_nothing(server: postgres.Cluster) -> None:
    """Killed, not stopped; its asks are taken up by the other node, and charged once."""
    tokens = prepared(server.url, ANALYSTS, budget="1000")
    with Nodes(server.url) as nodes, proxied(nodes.urls) as proxy:
        nodes.wait()
        load = Load(proxy, tokens, 50)
        load.wait_for(40)
        nodes.running[0].kill()
        load.join()
        assert load.failed == []
        assert len(load.told) == 200
    _nothing_lost(server.url, load)


def test_nodes_are_one_service(server: postgres.Cluster) -> None:
    """One account, one set of tokens, and a question that both are asked is charged once."""
    tokens = prepared(server.url, ANALYSTS, budget="1000")
    with ExitStack() as stack:
        nodes = stack.enter_context(Nodes(server.url))
        nodes.wait()
        told: list[wc.Release] = []
        question = wc.Screen({"age": 20, "bmi": 15.0}, model=MODEL, epsilon=Fraction(1, 1000))

        def ask(url: str, name: str) -> None:
            with wc.Client(url, tokens[name], dataset="clinic", patience=120) as client:
                told.append(client.ask(question))

        people: list[Callable[[], None]] = [
            lambda url=url, name=name: ask(url, name)  # type: ignore[misc]
            for url, name in zip(nodes.urls * 2, ANALYSTS, strict=True)
        ]
        threads = [threading.Thread(target=one) for one in people]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({one.answer for one in told}) == 1
        assert sorted(one.charged for one in told) == [False, False, False, True]
        service = Service(Settings(database=server.url))
        stack.callback(service.close)
        service.people.revoke_all("ana")
        for url in nodes.urls:
            bearer = {"Authorization": f"Bearer {tokens['ana']}"}
            assert requests.get(f"{url}/v1/me", headers=bearer, timeout=30).status_code == 401
