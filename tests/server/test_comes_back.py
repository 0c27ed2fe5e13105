"""What failed once works again: loads, probes, workers, counts that two write at once."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from benchmarks.postgres import cluster, missing
from benchmarks.service import free_port, in_folder, prepared, running
from sqlalchemy import event
from sqlalchemy.engine import make_url
from uvicorn import Config

from whitecrow.demo import CARD, DATA
from whitecrow.errors import NotReady
from whitecrow.ledger.engine import engine_for
from whitecrow_server._curator_pool import State
from whitecrow_server._history import counted, overrun
from whitecrow_server._listening import Workers, bound
from whitecrow_server._processes import DatasetProcess
from whitecrow_server._store import Readiness

from .conftest import House


def test_a_dataset_that_takes_long_to_read_holds_up_no_other(
    opened: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that takes long comes first by its name."""
    load, over = DatasetProcess.load, threading.Event()

    def slow(self: DatasetProcess, tell: Any) -> Any:
        if self._name == "a":
            over.wait(60)
        return load(self, tell)

    monkeypatch.setattr(DatasetProcess, "load", slow)
    service = opened(patience=30.0).service
    custodian = service.people.get("custodian")
    service.register(custodian, "a", {"file": "clinic.csv"}, card=_card("a"), readers=["ana"])
    service.register(custodian, "b", {"file": "clinic.csv"}, card=_card("b"), readers=["ana"])
    try:
        assert service.curator(custodian, "b") is not None
        assert not service.pool.state(service.listing(custodian, "a")).settled.is_set()
    finally:
        over.set()
    assert service.curator(custodian, "a") is not None


def test_a_load_that_failed_is_tried_again(
    opened: Callable[..., House], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is away when it is first read, and comes back."""
    monkeypatch.setattr("whitecrow_server._curator_pool._RETRY_SECONDS", (0.2, 1.0))
    data = tmp_path / "data"
    data.mkdir()
    for name in ("clinic.csv", "ward.csv"):
        shutil.copy(DATA, data / name)
    house = opened(data=str(data), patience=30.0)
    service = house.service
    custodian = service.people.get("custodian")
    (data / "ward.csv").write_bytes(b"")
    service.register(custodian, "ward", {"file": "ward.csv"}, card=_card("ward"), readers=["ana"])
    listing = service.listing(custodian, "ward")
    until = time.monotonic() + 60
    while service.pool.state(listing).tries < 2 and time.monotonic() < until:
        time.sleep(0.05)
    assert service.pool.state(listing).tries >= 2
    shutil.copy(DATA, data / "ward.csv")
    while time.monotonic() < until:
        try:
            service.curator(custodian, "ward")
            break
        except NotReady:
            time.sleep(0.05)
    assert service.dataset(custodian, "ward")["ready"]


def _card(name: str) -> str:
    return CARD.read_text(encoding="utf-8").replace('name = "clinic"', f'name = "{name}"')


def test_a_load_waits_longer_after_each_failure() -> None:
    state = State(1)
    for wait in (5, 10, 20, 40, 80, 160, *[300] * 6):
        before = time.monotonic()
        state.failed("away")
        assert before + wait <= state.retry_at <= time.monotonic() + wait
    assert not state.over


@pytest.mark.timing
def test_readiness_recovers_from_a_probe_that_hangs(
    opened: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One connection is lost without a word; the next probe takes another."""
    store, stuck, hangs = opened().service.store, threading.Event(), [True]
    probe = store.probe

    def hanging() -> None:
        if hangs.pop() if hangs else False:
            stuck.wait(60)
        probe()

    monkeypatch.setattr(store, "probe", hanging)
    monkeypatch.setattr("whitecrow_server._store._HOLDS_SECONDS", 0.1)
    readiness = Readiness(store, None, patience=1.0)
    with pytest.raises(NotReady):
        readiness.check()
    time.sleep(0.15)
    readiness.check()
    stuck.set()


def test_missed_deadlines_are_counted_by_many_at_once(opened: Callable[..., House]) -> None:
    store = opened().service.store
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: overrun(store, "clinic", f"kind {i % 2}"), range(40)))
    assert counted(store, "clinic") == {"kind 0": 20, "kind 1": 20}


@pytest.mark.skipif(bool(missing()), reason=missing() or "there")
def test_missed_deadlines_are_counted_by_many_machines_at_once() -> None:
    """Of two who find no row, both add one: an update and then an insert would collide."""
    from whitecrow_server._store import Store
    from whitecrow_server._tables import migrate

    with cluster() as server:
        stores = [Store(server.url) for _ in range(4)]
        migrate(stores[0])
        ready = threading.Barrier(4)

        def count(store: Store) -> None:
            for i in range(25):
                ready.wait()
                overrun(store, f"clinic {i}", "count")

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(count, stores))
        assert [counted(stores[0], f"clinic {i}") for i in range(25)] == [{"count": 4}] * 25
        for store in stores:
            store.close()


def test_connections_to_postgresql_notice_that_nobody_is_there() -> None:
    pytest.importorskip("psycopg")
    url = "postgresql+psycopg://crow@db/crow"
    given: list[dict[str, Any]] = []

    def seen(dialect: object, record: object, _: object, parameters: dict[str, Any]) -> None:
        given.append(dict(parameters))
        raise ConnectionError

    for more in ("", "?options=-c%20search_path%3Dcrow&keepalives_idle=3"):
        engine = engine_for(make_url(url + more), patience=1)
        event.listen(engine, "do_connect", seen)
        with pytest.raises(ConnectionError):
            engine.raw_connection()
    for one in given:
        assert one["tcp_user_timeout"] == 30_000
        assert one["keepalives"] == 1
        assert "statement_timeout" in one["options"]
    assert given[0]["keepalives_idle"] == 10
    assert given[1]["keepalives_idle"] == "3"
    assert given[1]["options"].endswith("-c search_path=crow")


# Workers


class _Worker:
    """Stands in for a worker's process."""

    def __init__(self, config: Config, sockets: list[socket.socket]) -> None:
        self.sockets, self.pid = sockets, 1
        self.process: Any = self
        self.alive, self.answers, self.ready, self.exitcode = True, True, False, None
        self.killed = False

    def start(self) -> None: ...
    def join(self) -> None: ...

    def is_alive(self) -> bool:
        return self.alive

    def is_ready(self, timeout: float) -> bool:
        return self.answers and self.ready

    def ping(self, timeout: float) -> bool:
        return self.answers

    def kill(self) -> None:
        self.killed, self.alive = True, False


@pytest.fixture
def supervisor(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("whitecrow_server._listening.Process", _Worker)
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    sockets = bound("127.0.0.1", 0, 3)
    workers = Workers(Config("none:app", workers=3), sockets)
    workers.init_processes()
    yield workers
    for one in sockets:
        one.close()
    for number, handler in kept.items():
        signal.signal(number, handler)


def test_a_worker_that_is_still_starting_is_left_alone(supervisor: Any) -> None:
    slow = supervisor.processes[1]
    slow.answers = False
    for _ in range(5):
        supervisor.keep_subprocess_alive()
    assert not slow.killed
    slow.answers = slow.ready = True
    supervisor.keep_subprocess_alive()
    slow.answers = False  # it has answered before: now it hangs
    supervisor.keep_subprocess_alive()
    assert slow.killed
    assert supervisor.processes[1] is not slow


def test_workers_that_end_together_come_back_each_on_its_own_socket(supervisor: Any) -> None:
    for dead in (0, 2):
        supervisor.processes[dead].alive = False
    supervisor.keep_subprocess_alive()
    sockets = [one.sockets for one in supervisor.processes]
    assert [len(one) for one in sockets] == [1, 1, 1]
    assert len({one[0].fileno() for one in sockets}) == 3


def test_a_worker_that_cannot_start_ends_a_service_that_never_ran(supervisor: Any) -> None:
    first = supervisor.processes[0]
    first.alive, first.exitcode = False, 3
    supervisor.keep_subprocess_alive()
    assert supervisor.should_exit.is_set()


def test_a_worker_that_cannot_start_for_now_is_tried_again(supervisor: Any) -> None:
    """The database is away for a while: those who served before must not end with it."""
    first = supervisor.processes[0]
    first.ready = True
    supervisor.keep_subprocess_alive()
    first.alive, first.exitcode = False, 3
    supervisor.keep_subprocess_alive()
    assert not supervisor.should_exit.is_set()
    assert supervisor.processes[0] is not first


@pytest.mark.timing
def test_one_worker_ends_with_grace_when_its_terminal_does(tmp_path: Path) -> None:
    """SIGHUP: who is being answered gets the answer."""
    database = in_folder(tmp_path)
    tokens = prepared(database, ["ana"], budget="100")
    with running(database, "--deadline", "screen=1.5", port=free_port()) as there:
        program = [sys.executable, "-c", _ASK, there.url, tokens["ana"]]
        with subprocess.Popen(program, stdout=subprocess.PIPE) as asked:
            assert asked.stdout is not None
            assert asked.stdout.readline() == b"asking\n"
            time.sleep(0.5)
            os.kill(there.pid, signal.SIGHUP)
            assert asked.stdout.read() == b"True\n"


_ASK = """
import sys
import whitecrow as wc
with wc.Client(sys.argv[1], sys.argv[2], patience=60) as client:
    client.price(wc.Screen({"age": 20, "bmi": 25.0}, model=wc.DistanceAnomaly(beta=5, radius=4.0),
                           epsilon="1/100"))
with wc.Client(sys.argv[1], sys.argv[2], patience=0) as client:
    print("asking", flush=True)
    model = wc.DistanceAnomaly(beta=5, radius=4.0)
    print(client.screen({"age": 20, "bmi": 25.0}, model=model, epsilon="1/100").charged)
"""
