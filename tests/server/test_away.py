"""When something is away: what callers are told, who tries again, and what the probes say."""

from __future__ import annotations

import json
import logging
import sqlite3
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from benchmarks.postgres import cluster, missing
from sqlalchemy.exc import OperationalError

import whitecrow as wc
from whitecrow.custodian import CUSTODIAN_LOG, FAILED
from whitecrow.errors import ComputationFailed, DatasetClosed, NotReady, TooMany, retry_after
from whitecrow.ledger.store import CLOSED
from whitecrow.privacy import DifferentialPrivacy
from whitecrow_server import Settings, create_app
from whitecrow_server._store import Readiness

from .conftest import Caller, House, identify, settings_for, settle_in


@pytest.mark.skipif(bool(missing()), reason=missing() or "there")
def test_connections_that_were_cut_are_replaced_without_a_503() -> None:
    """PostgreSQL ends every connection, as a restart does; the next requests do not notice."""
    with cluster() as server:
        settings = settings_for(Path(), database=server.url, patience=60)
        app = create_app(settings)
        house = House(settings, app, settle_in(app.state.service))
        house.service.start()
        try:
            call, path = Caller(house), "/v1/datasets/clinic"
            assert call("ana", "POST", f"{path}/ask", json=identify(0)).status_code == 200
            for i in range(3):
                with house.service.store._engine.connect() as connection:
                    connection.exec_driver_sql(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    )
                    connection.commit()
                assert call("ana", "GET", path).status_code == 200
                assert call("auditor", "GET", f"{path}/ledger").status_code == 200
                asked = call("ana", "POST", f"{path}/ask", json=identify(i + 1))
                assert asked.status_code == 200, asked.text
                assert call("nobody", "GET", "/readyz").status_code == 200
        finally:
            house.service.close()


@pytest.mark.parametrize(
    ("error", "after"),
    [
        (wc.Unavailable("away"), 5),
        (NotReady("soon"), 2),
        (TooMany(after=7), 7),
        (wc.LedgerCorrupt("bad"), 60),
        (ComputationFailed(FAILED), 60),
        (DatasetClosed(CLOSED), 60),
        (wc.InvalidInput("wrong"), None),
    ],
)
def test_every_503_and_429_says_when_to_come_again(
    opened: Callable[..., House],
    monkeypatch: pytest.MonkeyPatch,
    error: wc.WhitecrowError,
    after: int | None,
) -> None:
    house = opened()

    def refuse(*given: object, **more: object) -> None:
        raise error

    monkeypatch.setattr(house.service, "datasets", refuse)
    reply = Caller(house)("ana", "GET", "/v1/datasets")
    assert reply.headers.get("Retry-After") == (None if after is None else str(after))
    assert retry_after(error) == after


# Probes


def _full(*given: object, **more: object) -> None:
    raise OperationalError("UPDATE", None, Exception("database or disk is full"))


@pytest.fixture
def asked_anew() -> Iterator[None]:
    """Readiness looks at the database every time, not once a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("whitecrow_server._store._HOLDS_SECONDS", 0.0)
        yield


def test_readiness_fails_when_the_database_takes_no_writes(
    opened: Callable[..., House], asked_anew: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = opened()
    call = Caller(house)
    assert call("nobody", "GET", "/readyz").json() == {"status": "ready"}
    before = house.service.store.version()
    with house.service.store.transaction(write=False) as connection:
        monkeypatch.setattr(type(connection), "execute", _full)
    reply = call("nobody", "GET", "/readyz")
    assert (reply.status_code, "Retry-After" in reply.headers) == (503, True)
    assert call("nobody", "GET", "/healthz").status_code == 200
    monkeypatch.undo()
    assert call("nobody", "GET", "/readyz").status_code == 200
    assert house.service.store.version() == before  # probes make nobody forget anything


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of a few megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("mounting a disk needs the right to")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


def test_a_full_disk_is_not_ready_and_alive(small_disk: Path, asked_anew: None) -> None:
    settings = settings_for(small_disk)
    app = create_app(settings)
    house = House(settings, app, {})
    call = Caller(house)
    try:
        assert call("nobody", "GET", "/readyz").status_code == 200
        with (small_disk / "filler").open("wb") as file:
            try:
                while True:
                    file.write(b"x" * 65536)
                    file.flush()
            except OSError:
                pass
        assert call("nobody", "GET", "/readyz").status_code == 503
        assert call("nobody", "GET", "/healthz").status_code == 200
        (small_disk / "filler").unlink()
        assert call("nobody", "GET", "/readyz").status_code == 200
    finally:
        house.service.close()


@pytest.mark.timing
def test_a_database_that_hangs_is_not_ready_in_time(opened: Callable[..., House]) -> None:
    store = opened().service.store
    readiness = Readiness(store, None, patience=0.3)
    with store.transaction():  # holds the one place for writers
        started = time.monotonic()
        for _ in range(3):
            with pytest.raises(NotReady):
                readiness.check()
        assert time.monotonic() - started < 10
        probes = [one for one in threading.enumerate() if one.name == "whitecrow-probe"]
        assert len(probes) == 1


# What is written down, and what is not said


def _broken(*given: object, **more: object) -> None:
    raise RuntimeError("the record of Ms Canary")


@pytest.mark.parametrize("chosen", [False, True])
def test_the_log_that_a_fault_names_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: bool
) -> None:
    where = str(tmp_path / "chosen.log") if chosen else None
    settings = settings_for(tmp_path, custodian_log=where)
    app = create_app(settings)
    house = House(settings, app, settle_in(app.state.service))
    try:
        monkeypatch.setattr(house.service, "datasets", _broken)
        reply = Caller(house)("ana", "GET", "/v1/datasets")
    finally:
        house.service.close()
        for handler in list(CUSTODIAN_LOG.handlers):
            if not isinstance(handler, logging.NullHandler):
                CUSTODIAN_LOG.removeHandler(handler)
    assert reply.status_code == 500
    assert "The custodian's log has the cause" in reply.text
    assert "Canary" not in reply.text
    log = settings.log_file
    assert log == (Path(where) if where else tmp_path / "service.db-custodian.log")
    assert log.read_text(encoding="utf-8").count("RuntimeError: the record of Ms Canary") == 1
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_without_a_file_ledger_the_log_lies_where_the_service_was_started() -> None:
    settings = Settings(database="postgresql+psycopg://whitecrow@/whitecrow")
    assert settings.log_file == Path("whitecrow-custodian.log")
    assert settings.beside_ledger is None


@pytest.mark.parametrize("trouble", ["database or disk is full", "malformed", "locked", "odd"])
def test_no_message_shows_an_analyst_where_the_ledger_lies(
    opened: Callable[..., House], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    house = opened()
    call, path = Caller(house), "/v1/datasets/clinic"

    def broken(*given: object, **named: object) -> None:
        raise sqlite3.OperationalError(f"{trouble}: {house.settings.database}")

    monkeypatch.setattr("whitecrow.ledger.database.Session", broken)
    for reply in (
        call("ana", "POST", f"{path}/ask", json=identify(1)),
        call("ana", "POST", f"{path}/plan", json={"questions": [identify(2)]}),
        call("ana", "GET", f"{path}/ledger"),
        call("ana", "GET", path),
    ):
        assert reply.status_code == 503
        # Whether the dataset was bound to its records before, or could not be any more.
        told = ("ledger of this service", "cannot be read at the moment")
        assert any(words in reply.text for words in told)
        for private in (str(tmp_path), "sqlite", "service.db"):
            assert private not in reply.text


# The client


class _Moody(BaseHTTPRequestHandler):
    """Refuses as it is told to, then answers."""

    moods: ClassVar[list[tuple[int, dict[str, str]]]] = []
    asked = 0

    def do_POST(self) -> None:
        type(self).asked += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        status, headers = self.moods.pop(0) if self.moods else (200, {})
        price = DifferentialPrivacy("1").to_json()
        body = json.dumps({"words": "w", "price": price, "figures": {}}).encode()
        if status != 200:
            body = b'{"error": {"type": "Unavailable", "reason": "not now"}}'
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *given: Any) -> None:
        pass


@pytest.fixture
def moody() -> Iterator[tuple[str, type[_Moody]]]:
    handler = type("Handler", (_Moody,), {"moods": [], "asked": 0})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", handler
    server.shutdown()
    server.server_close()


QUESTION = wc.Identify(
    {"age": 90.0, "bmi": 45.0}, model=wc.DistanceAnomaly(beta=5, radius=4.0), epsilon="1/2"
)


def _price(url: str, patience: float) -> Any:
    with wc.Client(url, "wc_token", dataset="clinic", patience=patience) as client:
        return client.price(QUESTION)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
@pytest.mark.parametrize("headers", [{}, {"Retry-After": "1"}])
def test_a_client_tries_again_until_it_is_answered(
    moody: tuple[str, type[_Moody]], status: int, headers: dict[str, str]
) -> None:
    url, handler = moody
    handler.moods = [(status, headers)] * 2
    assert _price(url, 20.0).epsilon == 1
    assert handler.asked == 3


@pytest.mark.timing
def test_a_client_does_not_wait_longer_than_its_patience(moody: tuple[str, type[_Moody]]) -> None:
    url, handler = moody
    handler.moods = [(503, {"Retry-After": "60"})] * 2
    started = time.monotonic()
    with pytest.raises(wc.Unavailable, match="not now"):
        _price(url, 5.0)
    assert time.monotonic() - started < 30
    assert handler.asked == 1


def test_a_client_keeps_to_the_moment_it_is_told(moody: tuple[str, type[_Moody]]) -> None:
    from email.utils import formatdate

    url, handler = moody
    handler.moods = [(503, {"Retry-After": formatdate(time.time() + 2, usegmt=True)})]
    started = time.monotonic()
    _price(url, 20.0)
    assert time.monotonic() - started > 0.5


@pytest.mark.parametrize("status", [400, 401, 403, 422, 500])
def test_a_refusal_is_not_asked_for_twice(moody: tuple[str, type[_Moody]], status: int) -> None:
    url, handler = moody
    handler.moods = [(status, {})]
    with pytest.raises(wc.WhitecrowError):
        _price(url, 5.0)
    assert handler.asked == 1
