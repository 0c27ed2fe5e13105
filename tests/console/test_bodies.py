"""Bodies that are slow, deep or odd, to every address that takes one: words, and no fault."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from whitecrow_server.console import site_of

from .conftest import House, Visitor, build

SECONDS = 0.3


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = Path(tmp_path_factory.mktemp("bodies"))
    found = build(folder, patience=120.0, body_seconds=SECONDS, upload_seconds=SECONDS)
    found.service.start()
    found.service.curator(found.person("ana"), "clinic")
    yield found
    found.service.close()


def _routes(house: House) -> list[tuple[str, str]]:
    """Method and address of all that takes a body, with what there is in the place of names."""
    names = {"name": "clinic", "kind": "screen", "digest": "0" * 64, "ledger": "l", "device": "d"}
    found = [
        (method, route.path.format_map({**names, "code": "c"}))
        for route in (*house.app.routes, *site_of(house.app.state.handler).router.routes)
        for method in getattr(route, "methods", None) or ()
        if method in ("POST", "PUT", "PATCH")
    ]
    assert len(found) > 40
    return found


async def _said(
    house: House, method: str, path: str, headers: dict[str, str], body: bytes, *, slow: bool
) -> int:
    """The status of the reply to a request, whose body never ends if it is slow."""
    pieces = [{"type": "http.request", "body": body, "more_body": slow}]
    status: list[int] = []

    async def receive() -> dict[str, Any]:
        if pieces:
            return pieces.pop(0)
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            status.append(message["status"])

    path, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": query.encode(),
        "headers": [(name.lower().encode(), one.encode()) for name, one in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    await asyncio.wait_for(house.app(scope, receive, send), 30)
    return status[0]


def _headers(house: House, carla: Visitor, path: str) -> dict[str, str]:
    if path.startswith("/v1"):
        token, _ = house.service.people.issue("custodian", days=1)
        known = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    else:
        cookies = "; ".join(f"{name}={value}" for name, value in carla.cookies.items())
        known = {"cookie": cookies, "content-type": "application/x-www-form-urlencoded"}
    return {"host": "localhost", "x-csrf": carla.csrf, **known}


DEEP = "[" * 20_000 + "]" * 20_000
INSIDE = '{"a":' * 5_000 + "1" + "}" * 5_000
FIELDS = ("question", "card", "columns", "records", "policy", "source", "readers", "reason")


@pytest.mark.parametrize("text", [DEEP, INSIDE], ids=["lists", "objects"])
def test_deep_json_below_the_size_limit_is_refused_everywhere(house: House, text: str) -> None:
    carla = house.visitor("custodian")

    async def all_of_them() -> dict[str, int]:
        found = {}
        for method, path in _routes(house):
            body = text
            if not path.startswith("/v1"):
                fields = dict.fromkeys(FIELDS, text[:9_000]) | {"kind": "screen", "name": "x"}
                body = urlencode({**fields, "csrf": carla.csrf})
            if path.endswith(("/sign-out", "/upload", "/sessions/end")):
                continue
            headers = _headers(house, carla, path)
            found[f"{method} {path}"] = await _said(
                house, method, path, headers, body.encode(), slow=False
            )
        return found

    statuses = asyncio.run(all_of_them())
    assert {path: one for path, one in statuses.items() if one >= 500} == {}
    taken = {path for path, one in statuses.items() if " /v1" in path and one not in (404, 422)}
    assert taken == {"POST /v1/keys"}  # which takes no body, and looks at none


def test_a_body_that_comes_too_slowly_is_given_up_everywhere(house: House) -> None:
    """The first byte of it is there, the rest never comes; nothing waits longer than it may."""
    carla = house.visitor("custodian")
    before = sorted(Path(house.settings.data or "").iterdir())

    async def all_of_them() -> dict[str, int]:
        routes = [
            (method, f"{path}?kind=csv" if path.endswith("/upload") else path)
            for method, path in _routes(house)
        ]
        replies = await asyncio.gather(
            *(
                _said(house, method, path, _headers(house, carla, path), b"{", slow=True)
                for method, path in routes
            )
        )
        return dict(zip((f"{method} {path}" for method, path in routes), replies, strict=True))

    statuses = asyncio.run(all_of_them())
    taken = {path for path, one in statuses.items() if one not in (408, 404, 303)}
    # Those that read no body reply at once, whatever is sent.
    assert {path for path in taken if statuses[path] >= 500} == set()
    assert sum(one == 408 for one in statuses.values()) > 30, statuses
    assert sorted(Path(house.settings.data or "").iterdir()) == before  # no part of a file stays


def test_a_question_in_a_form_is_read_as_strictly_as_in_a_request(house: House) -> None:
    ana = house.visitor("ana")
    for written in (
        DEEP[15_000:-15_000],
        json.dumps({"kind": "screen", "record": json.loads("[" * 40 + "]" * 40)}),
    ):
        for act in ("now", "dummy"):
            reply = ana.post(f"/datasets/clinic/ask/screen/{act}", {"question": written})
            assert reply.status_code == 422, reply.text
