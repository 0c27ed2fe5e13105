"""Lanes: whoever sends much waits behind their own work, and other work waits for none of it."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest

from whitecrow.errors import TooMany
from whitecrow_server import _security
from whitecrow_server._handler import Lanes
from whitecrow_server._scheduling import Lane

from .conftest import Caller, House, identify


def _run(*shares: tuple[str, int], lane: Lane, seconds: float = 0.0) -> list[str]:
    """Let people send jobs at once; return whose ended, in their order."""
    ended: list[str] = []

    async def one(who: str) -> None:
        await lane.of(who).run(lambda: time.sleep(seconds))
        ended.append(who)

    async def main() -> None:
        await asyncio.gather(*(one(who) for who, number in shares for _ in range(number)))

    asyncio.run(main())
    return ended


def test_people_take_turns_however_much_one_of_them_sends() -> None:
    ended = _run(("hog", 30), ("ana", 2), lane=Lane(1, share=1, waiting=64), seconds=0.005)
    assert ended.index("ana") <= 3
    assert [i for i, who in enumerate(ended) if who == "ana"][1] <= 5


def test_one_person_gets_a_share_of_the_threads_and_no_more() -> None:
    lane, at_once, most = Lane(8, share=2, waiting=64), 0, 0
    lock = threading.Lock()

    def job() -> None:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        time.sleep(0.01)
        with lock:
            at_once -= 1

    async def main() -> None:
        await asyncio.gather(*(lane.of("ana").run(job) for _ in range(20)))

    asyncio.run(main())
    assert most == 2


def test_what_would_wait_too_long_is_told_when_to_come_again() -> None:
    lane = Lane(1, share=1, waiting=2, crowd=3)

    async def main() -> list[Any]:
        jobs = [lane.of(who).run(lambda: time.sleep(0.05)) for who in ("ana",) * 6 + ("bob",) * 6]
        return await asyncio.gather(*jobs, return_exceptions=True)

    found = asyncio.run(main())
    refused = [isinstance(one, TooMany) and one.after >= 1 for one in found]
    assert not refused[0]
    assert sum(refused[:6]) >= 3
    assert sum(refused) >= 8
    assert asyncio.run(_one(lane)) == "done"  # and it goes on


async def _one(lane: Lane) -> str:
    return await lane.of("cleo").run(lambda: "done")


def test_errors_and_hung_up_callers_leave_a_lane_as_it_was() -> None:
    lane = Lane(1, share=1, waiting=64)

    def broken() -> None:
        raise KeyError("a job's own")

    async def main() -> str:
        with pytest.raises(KeyError):
            await lane.of("ana").run(broken)
        gone = [asyncio.ensure_future(lane.of("ana").run(lambda: time.sleep(0.02))) for _ in "abc"]
        await asyncio.sleep(0.001)
        for one in gone:
            one.cancel()
        return await _one(lane)

    assert asyncio.run(main()) == "done"


@pytest.mark.parametrize("name", sorted(vars(Lanes())))
def test_a_lane_that_stands_still_holds_up_no_other_sort_of_work(house: House, name: str) -> None:
    """Each lane is filled in turn, and everything that does not need it is done all the same."""
    house.service.curator(house.service.people.get("ana"), "clinic")
    lanes, free = house.app.state.handler.lanes, threading.Event()
    there = "/v1/datasets/clinic"
    needs: dict[str, set[str]] = {
        "/readyz": {"probes"},
        there: {"admission", "reading"},
        f"{there}/ledger": {"admission", "reading"},
        f"{there}/price": {"admission", "free"},
        f"{there}/plan": {"admission", "planning"},
        f"{there}/ask": {"admission", "preparing", "computing"},
    }

    async def main() -> None:
        lane: Lane = getattr(lanes, name)
        people = [f"p{i}" for i in range(1000)]
        blocked = [asyncio.ensure_future(lane.of(who).run(free.wait)) for who in people]
        await asyncio.sleep(0.2)
        transport = httpx.ASGITransport(app=house.app)
        headers = house.headers("ana")
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as web:
            for path, lanes_needed in needs.items():
                method = "POST" if path.endswith(("price", "ask", "plan")) else "GET"
                body = {"json": identify(1)} if method == "POST" else {}
                if path.endswith("plan"):
                    body = {"json": {"questions": [identify(i) for i in range(3)]}}
                sent = asyncio.ensure_future(web.request(method, path, headers=headers, **body))
                done, _ = await asyncio.wait({sent}, timeout=0.3 if name in lanes_needed else 20)
                if name in lanes_needed:
                    assert not done or sent.result().status_code == 429, path
                else:
                    assert done, path
                    assert sent.result().status_code == 200, path
                sent.cancel()
        free.set()
        await asyncio.gather(*blocked, return_exceptions=True)

    anyio.run(main)


def test_passwords_are_hashed_by_a_process_that_gives_way(house: House) -> None:
    sessions, hasher = house.service.sessions, house.service.hasher
    sessions.set_password("bob", "correct horse battery staple")  # begins the process
    assert hasher._process is not None
    process = hasher._process.begin()._process
    assert os.getpriority(os.PRIO_PROCESS, process.pid) > os.getpriority(os.PRIO_PROCESS, 0)
    process.kill()
    process.wait()
    assert sessions.sign_in("bob", "correct horse battery staple")  # it is begun anew


def test_whoever_comes_too_often_is_refused_at_leisure(
    opened: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One connection that sends on at once has no more than so many refusals a second."""
    monkeypatch.setattr(_security, "HELD_SECONDS", 0.3)
    call = Caller(opened(rate=0.001, burst=1))
    took = []
    for status in (401, 429, 429):
        began = time.perf_counter()
        assert call("nobody", "GET", "/v1/me").status_code == status
        took.append(time.perf_counter() - began)
    assert min(took[1:]) >= 0.3


def test_requests_of_one_address_begin_one_after_the_other() -> None:
    """However many come in one moment, everybody else's come in between."""
    turns, begun = _security._Queue(), []

    async def one(address: str) -> None:
        await turns.wait(address)
        begun.append(address)

    async def main() -> None:
        hog = [asyncio.ensure_future(one("hog")) for _ in range(30)]
        hung_up = asyncio.ensure_future(one("hog"))
        await asyncio.sleep(0)
        hung_up.cancel()
        await asyncio.gather(*hog, one("ana"))

    asyncio.run(main())
    assert begun.index("ana") <= 3
    assert begun.count("hog") == 30
