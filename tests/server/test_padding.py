"""Padded replies: how long an answer took to compute does not show."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from whitecrow import questions
from whitecrow.data import Card
from whitecrow.demo import CARD
from whitecrow.server._padding import due

from .conftest import House, identify, listening

FALSE_ALARM = 1e-6

OUTLIER = {"age": 95, "bmi": 12.0, "systolic": 240}
INLIER = {"age": 55, "bmi": 26.0, "systolic": 125}


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One more kind of question, where the processes that compute find it too."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    questions.register(importlib.import_module("slow_question").TYPE)
    yield
    del questions._registered["slowly"]


def _reply_times(
    house: House, question: Callable[[bool, int], dict[str, Any]], asks: int, threads: int
) -> tuple[list[float], list[float]]:
    """Ask about an outlier and an inlier in turns; return how long each reply took."""
    times: tuple[list[float], list[float]] = ([], [])

    def ask(numbers: list[int]) -> None:
        with requests.Session() as session:
            session.headers.update(house.headers("ana"))
            for i in numbers:
                body = question(i % 2 == 0, i)
                started = time.perf_counter()
                reply = session.post(f"{url}/v1/datasets/clinic/ask", json=body, timeout=30)
                elapsed = time.perf_counter() - started
                assert reply.status_code == 200, reply.text
                times[i % 2].append(elapsed)

    with listening(house) as url, ThreadPoolExecutor(threads) as pool:
        ask([10_000_000, 10_000_001])  # connections, compilers
        for kept in times:
            kept.clear()
        # Neighbouring numbers go to one thread, so that each asks about both kinds in turns.
        shares = [[i for i in range(2 * asks) if i // 2 % threads == t] for t in range(threads)]
        list(pool.map(ask, shares))
    return times


def _p_value(times: tuple[list[float], list[float]]) -> float:
    from scipy.stats import ks_2samp

    return float(ks_2samp(*times).pvalue)


def _slow(outlier: bool, i: int) -> dict[str, Any]:
    return {"kind": "slowly", "outlier": outlier, "number": i}


def _identify(outlier: bool, i: int) -> dict[str, Any]:
    return {**identify(epsilon=f"{100_000 + i}e-10"), "record": OUTLIER if outlier else INLIER}


def test_padding_hides_a_computation_that_takes_longer(
    slowly: None, opened: Callable[..., House]
) -> None:
    house = opened(deadlines={"slowly": 0.3})
    times = _reply_times(house, _slow, asks=25, threads=2)
    assert min(times[0] + times[1]) >= 0.3
    assert _p_value(times) > FALSE_ALARM


def test_without_padding_the_same_test_sees_it(slowly: None, opened: Callable[..., House]) -> None:
    assert _p_value(_reply_times(opened(), _slow, asks=25, threads=1)) < FALSE_ALARM


@pytest.mark.study
def test_padded_replies_about_outliers_and_inliers_are_alike(
    opened: Callable[..., House],
) -> None:
    house = opened(deadlines={"identify": 0.1})
    assert _p_value(_reply_times(house, _identify, asks=2000, threads=8)) > FALSE_ALARM


@given(
    elapsed=st.floats(0, 1e4, allow_nan=False),
    deadline=st.floats(1e-3, 1e3, allow_nan=False),
)
def test_a_reply_is_due_at_a_multiple_of_the_deadline(elapsed: float, deadline: float) -> None:
    moment = due(elapsed, deadline)
    assert moment >= elapsed * (1 - 1e-12)
    assert moment >= deadline
    assert moment - elapsed <= deadline * (1 + 1e-9)
    assert moment / deadline == pytest.approx(round(moment / deadline))


def test_a_deadline_grows_with_the_size_on_the_card_and_not_with_the_records(
    opened: Callable[..., House],
) -> None:
    house = opened(deadlines={"*": 0.25, "count": 2.0}, records_at_most=100_000)
    service = house.service
    custodian = service.people.get("custodian")
    card = Card.load(CARD)
    width = len(card.columns)
    for bound, times in ((None, 1), (10_000_000 // width, 1), (10_000_000 // width + 1, 2)):
        changed = replace(card, records_at_most=bound)
        service.amend(custodian, "clinic", card=changed.to_json(), reason="another bound")
        assert service.deadline(custodian, "clinic", "screen") == 0.25 * times
        shown = service.dataset(custodian, "clinic")["deadlines"]
        assert shown == {"*": 0.25 * times, "count": 2.0 * times}


def test_refusals_wait_too(opened: Callable[..., House]) -> None:
    house = opened(deadlines={"*": 0.1}, budget="0")
    with listening(house) as url:
        started = time.perf_counter()
        reply = requests.post(
            f"{url}/v1/datasets/clinic/ask",
            json=identify(),
            headers=house.headers("ana"),
            timeout=30,
        )
        assert reply.status_code == 402
        assert time.perf_counter() - started >= 0.1


def test_a_slot_that_becomes_free_does_not_tell_when_an_answer_was_ready(
    slowly: None, opened: Callable[..., House]
) -> None:
    """Whoever queues behind an ask would otherwise time its computation."""
    house = opened(deadlines={"slowly": 1.0})
    custodian = house.service.people.get("custodian")
    house.service.amend(custodian, "clinic", readers=["ana", "bob"], reason="a second analyst")
    with listening(house) as url, ThreadPoolExecutor(1) as pool:
        there = f"{url}/v1/datasets/clinic"

        def ask(who: str, number: int) -> int:
            body, headers = _slow(False, number), house.headers(who)
            return requests.post(f"{there}/ask", json=body, headers=headers, timeout=60).status_code

        assert ask("ana", 0) == 200  # loaded
        started = time.perf_counter()
        first = pool.submit(ask, "ana", 1)
        time.sleep(0.3)  # the answer is ready by now, and not yet due
        priced = requests.post(
            f"{there}/price", json=identify(), headers=house.headers("ana"), timeout=30
        )
        assert priced.status_code == 200  # what reads no records needs no slot
        assert time.perf_counter() - started < 1.0
        assert ask("bob", 2) == 200
        assert time.perf_counter() - started >= 2.0
        assert first.result() == 200


def test_a_fault_of_the_service_waits_too(
    opened: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    house = opened(deadlines={"*": 0.4})

    def broken(*given: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(house.service, "ask", broken)
    with listening(house) as url:
        started = time.perf_counter()
        reply = requests.post(
            f"{url}/v1/datasets/clinic/ask",
            json=identify(),
            headers=house.headers("ana"),
            timeout=30,
        )
        assert reply.status_code == 500
        assert time.perf_counter() - started >= 0.4
