"""Before anything is read or computed the service knows who asks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import requests

from whitecrow_server import _listening as protocol
from whitecrow_server import _schemas as schemas
from whitecrow_server import _untrusted_input

from .conftest import Caller, House, identify, listening

ASK = "/v1/datasets/clinic/ask"


@pytest.mark.timing
def test_an_anonymous_ask_is_refused_at_once_and_takes_no_slot(
    opened: Callable[..., House],
) -> None:
    house = opened(deadlines={"*": 20.0})
    with listening(house) as url:
        for _ in range(3):
            started = time.perf_counter()
            reply = requests.post(f"{url}{ASK}", json=identify(), timeout=60)
            assert reply.status_code == 401
            assert time.perf_counter() - started < 10


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", ASK),
        ("POST", "/v1/datasets/clinic/price"),
        ("POST", "/v1/datasets/clinic/plan"),
        ("POST", "/v1/datasets"),
        ("PATCH", "/v1/datasets/clinic"),
        ("POST", "/v1/analysts"),
    ],
)
def test_nothing_of_a_strangers_body_is_read(house: House, method: str, path: str) -> None:
    read: list[None] = []
    said: list[Any] = []

    async def receive() -> dict[str, Any]:
        read.append(None)
        return {"type": "http.request", "body": b"[[],[]]", "more_body": True}

    async def send(message: Any) -> None:
        said.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"content-type", b"application/json")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    asyncio.run(house.app(scope, receive, send))
    assert said[0]["status"] == 401
    assert not read


def test_a_question_is_small_and_a_plan_may_be_larger(house: House) -> None:
    call = Caller(house)
    how = {"headers": {"Content-Type": "application/json"}}
    room = " " * 70_000
    for act in ("ask", "price"):
        large = json.dumps(identify()) + room
        reply = call("ana", "POST", f"/v1/datasets/clinic/{act}", content=large, **how)
        assert reply.status_code == 413
    batch = json.dumps({"questions": [identify()]}) + room
    assert call("ana", "POST", "/v1/datasets/clinic/plan", content=batch, **how).status_code == 200


def test_bodies_are_parsed_off_the_event_loop(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    where: list[str] = []
    parse = schemas.strict_json

    def noted(raw: bytes) -> Any:
        where.append(threading.current_thread().name)
        return parse(raw)

    for module in (schemas, _untrusted_input):
        monkeypatch.setattr(module, "strict_json", noted)
    call = Caller(house)
    assert call("ana", "POST", ASK, json=identify()).status_code == 200
    assert call("ana", "POST", "/v1/datasets/clinic/price", json=identify()).status_code == 200
    assert where == ["whitecrow-lane"] * 2


def _told(url: str, sent: bytes, patience: float = 20.0) -> bytes:
    """What a service says to bytes that stop in the middle, until it hangs up."""
    port = int(url.rsplit(":", 1)[1])
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as there:
        found = b""
        with contextlib.suppress(ConnectionResetError):  # it hung up with something unread
            there.sendall(sent)
            while piece := there.recv(65_536):
                found += piece
    return found


def test_a_body_that_never_ends_is_given_up(opened: Callable[..., House]) -> None:
    house = opened(body_seconds=0.3)
    head = f"POST {ASK} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    token = house.tokens["ana"]
    sent = f"{head}Authorization: Bearer {token}\r\nContent-Length: 100\r\n\r\n".encode()
    with listening(house) as url:
        assert _told(url, sent + b'{"kind":').startswith(b"HTTP/1.1 408")


def test_headers_that_never_end_are_given_up(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 0.3)
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with listening(house) as url:
        assert _told(url, b"") == b""
        assert _told(url, b"GET /healthz HTTP/1.1\r\nHost: loc") == b""
        assert _told(url, whole + b"GET /heal").startswith(b"HTTP/1.1 200")
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 60.0)
    with listening(house) as url:
        assert b"200" not in _told(url, b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 200_000)


@pytest.mark.timing
def test_a_token_that_ends_while_its_question_waits_asks_nothing(
    opened: Callable[..., House],
) -> None:
    house = opened(deadlines={"*": 1.0})
    found: list[int] = []

    call = Caller(house)
    assert call("ana", "POST", ASK, json=identify()).status_code == 200  # loaded and compiled

    async def main() -> None:
        headers = house.headers("ana")
        transport = httpx.ASGITransport(app=house.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as web:
            sent = [
                asyncio.create_task(web.post(ASK, json=identify(epsilon=price), headers=headers))
                for price in ("1/50", "1/40")
            ]
            await asyncio.sleep(0.5)
            await asyncio.to_thread(house.service.people.revoke_all, "ana")
            found.extend([(await one).status_code for one in sent])

    before = house.service.ledger.snapshot("clinic").seq
    asyncio.run(main())
    assert sorted(found) == [200, 401]
    assert house.service.ledger.snapshot("clinic").seq == before + 2
