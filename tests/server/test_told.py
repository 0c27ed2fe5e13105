"""What an ask leaves in the ledger is told nobody, on no page, before its reply is due."""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import requests

import whitecrow_server
from whitecrow.errors import AccountConflict
from whitecrow.ledger import ChargeRequest, Reservation
from whitecrow.ledger.alarms import sound
from whitecrow.ledger.failures import failures, halt, review
from whitecrow.privacy import DifferentialPrivacy
from whitecrow_server import Service, create_app
from whitecrow_server.console import mount, site_of

from .conftest import ROLES, House, identify, listening, settings_for, settle_in

PASSWORD = "correct horse battery staple"  # noqa: S105 - of made-up people
PARTS = {"name": "clinic", "kind": "count", "entry": "d" * 64, "digest": "d" * 64}
COUNTED = ("whitecrow_requests_total", "whitecrow_reply_seconds", "whitecrow_requests_running")
"""What counts the very requests by which these tests look."""

LEFT_OUT = ("/console/laboratory", ".js", ".css", ".json")
"""The first draws made-up records anew each time; files are the same for everybody."""

FOLDER = Path(whitecrow_server.__file__).parent
READERS = {"entries", "history", "unsettled", "read"}
NAMES = {"timeline", "drafts", "failures", "alarms"}


class Watcher:
    """Looks at every page there is, as everybody."""

    def __init__(self, house: House) -> None:
        self._house = house
        sessions = house.service.sessions
        self._cookies = {}
        for who in ROLES:
            sessions.set_password(who, PASSWORD)
            cookie = sessions.sign_in(who, PASSWORD)[1]
            self._cookies[who] = {str(sessions.cookie()["key"]): cookie}
            house.tokens[who] = house.service.people.issue(who, days=1)[0]
        pages = site_of(house.app.state.handler).router.routes
        self._paths = sorted(set(_addresses([*house.app.routes, *pages])))
        assert len(self._paths) > 40

    def sees(self) -> dict[tuple[str, str], str]:
        """What is shown: by person and address."""
        return anyio.run(self._look)

    async def _look(self) -> dict[tuple[str, str], str]:
        transport, seen = httpx.ASGITransport(app=self._house.app), {}
        for who in ROLES:
            async with httpx.AsyncClient(
                transport=transport,
                base_url="http://localhost",
                cookies=self._cookies[who],
                headers=self._house.headers(who),
            ) as web:
                for path in self._paths:
                    reply = await web.get(path)
                    assert reply.status_code < 500, (path, reply.text)
                    seen[who, path] = _steady(f"{reply.status_code} {reply.text}")
        return seen


def _addresses(routes: list[Any]) -> Iterator[str]:
    """Every address that can be looked at, with its parts filled in."""
    for route in routes:
        if "GET" in getattr(route, "methods", ()) and not route.path.endswith(LEFT_OUT):
            yield re.sub(r"{(\w+)(:\w+)?}", lambda part: PARTS.get(part[1], "nothing"), route.path)


def _steady(text: str) -> str:
    lines = (line for line in text.splitlines() if not line.startswith(COUNTED))
    # Numbers that a page draws anew each time it is shown, to keep forms apart.
    # And a picture whose axis ends now, and the minute at which a statement is made.
    fleeting = r'value="[\w-]{30,}"|<figure.*?</figure>|says on [^<,]{10,30} UTC'
    return re.sub(fleeting, "", "\n".join(lines), flags=re.DOTALL)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Watcher]]:
    settings = settings_for(Path(tmp_path_factory.mktemp("told")), deadlines={"*": 3600.0})
    app = create_app(settings, pages=mount)
    house = House(settings, app, settle_in(app.state.service))
    house.service.start()
    try:
        house.service.curator(house.service.people.get("ana"), "clinic")
        yield house.service, Watcher(house)
    finally:
        house.service.close()


def _reserved(service: Service, digest: str, told_at: datetime) -> Reservation:
    asked = {"kind": "count", "question": {"columns": ["age"], "epsilon": "1/100"}}
    asked["question"] |= {"model": {"beta": 5, "radius": 4.0}}
    price = DifferentialPrivacy("1/100")
    order = ChargeRequest("ana", digest, asked, price, told_at=lambda written: told_at)
    held, _ = service.ledger.reserve("clinic", order)
    assert isinstance(held, Reservation)
    return held


@pytest.mark.parametrize("outcome", ["settle", "alarm", "halt", "fail"])
def test_no_page_changes_before_a_reply_is_due(
    watched: tuple[Service, Watcher], outcome: str
) -> None:
    """Not for its analyst, not for another, not for the custodian or an auditor; later it does."""
    service, watcher = watched
    ledger = service.ledger

    def close(held: Reservation, told_at: datetime) -> None:
        if outcome == "settle":
            ledger.settle("clinic", held, 17)
        elif outcome == "fail":
            ledger.fail("clinic", held)
        elif outcome == "halt":
            halt(ledger, "clinic", told_at=lambda written: told_at)
        else:
            said = {"series": held.digest, "period": outcome, "says": "more of them"}
            sound(ledger, "clinic", **said, told_at=lambda written: told_at)

    digest = {"settle": "a", "alarm": "b", "halt": "c", "fail": "d"}[outcome] * 64
    past, later = (datetime.now(UTC) + timedelta(hours=hours) for hours in (-1, 1))
    early, held = _reserved(service, digest.upper(), past), _reserved(service, digest, later)
    seen = [watcher.sees()]
    for reservation, told_at in ((early, past), (held, later)):
        close(reservation, told_at)
        if outcome in ("settle", "fail"):  # else it is computed on, as far as anybody knows
            reservation.release()
        seen.append(watcher.sees())
    changed, unchanged = (
        {key for key in one if one[key] != other[key]} for one, other in pairwise(seen)
    )
    assert changed  # somebody is told what may be told: the pages are looked at rightly
    assert unchanged == set()
    if outcome == "fail":
        with pytest.raises(AccountConflict, match="being answered at this moment"):
            service.void(service.people.get("custodian"), "clinic", held.seq, reason="why not")
    for reservation in (early, held):
        reservation.release()
    for failure in failures(ledger, "clinic"):
        review(ledger, "clinic", failure.seq, reason="a test")


def test_the_service_reads_entries_in_one_place() -> None:
    """A new page that reads the ledger by itself would be told too early."""
    found = set()
    for file in [*FOLDER.glob("*.py"), *(FOLDER / "console").glob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in READERS:
                if ast.unparse(node.value).endswith("ledger"):
                    found.add((file.name, node.attr))
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                names = {one.name for one in node.names} & NAMES
                if node.module.startswith(("whitecrow.ledger", "whitecrow.curator.drafts")):
                    found |= {(file.name, name) for name in names}
    # The custodian's review of a failure is an act, which looks at what it closes itself.
    assert {file for file, _ in found} - {"_told.py"} == {"_service.py"}
    assert {name for file, name in found if file == "_service.py"} == {"failures"}
    assert ("_told.py", "entries") in found


@pytest.mark.timing
def test_an_ask_is_counted_when_its_reply_leaves(opened: Callable[..., House]) -> None:
    house = opened(deadlines={"*": 2.0})
    house.service.curator(house.service.people.get("ana"), "clinic")
    with listening(house) as url, ThreadPoolExecutor(1) as pool:

        def counted() -> bool:
            headers = house.headers("auditor")
            numbers = requests.get(f"{url}/metrics", headers=headers, timeout=30).text
            return 'whitecrow_asks_total{kind="identify",outcome="charged"}' in numbers

        there, headers = f"{url}/v1/datasets/clinic/ask", house.headers("ana")
        reply = pool.submit(requests.post, there, json=identify(), headers=headers, timeout=30)
        while not house.service.ledger.entries("clinic", kind="settle"):
            time.sleep(0.01)
        assert not counted()
        assert not reply.done()
        assert reply.result().status_code == 200
        assert counted()


def test_a_clock_that_was_wrong_hides_nothing_until_that_day(
    watched: tuple[Service, Watcher],
) -> None:
    service = watched[0]
    held = _reserved(service, "e" * 64, datetime.now(UTC) + timedelta(days=365))
    before = service.told.end("clinic")
    service.ledger.settle("clinic", held, 17)
    held.release()
    if before[0] == held.seq:  # nothing before it has to wait
        assert service.told.end("clinic")[0] == held.seq + 1
    assert service.told.answer("clinic", "e" * 64) == ("ana", 17)
