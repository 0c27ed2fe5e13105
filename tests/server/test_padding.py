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
from whitecrow_server import Service
from whitecrow_server._scheduling import due

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


@pytest.mark.timing
def test_padding_hides_a_computation_that_takes_longer(
    slowly: None, opened: Callable[..., House]
) -> None:
    house = opened(deadlines={"slowly": 0.3})
    times = _reply_times(house, _slow, asks=14, threads=2)
    assert min(times[0] + times[1]) >= 0.3
    assert _p_value(times) > FALSE_ALARM


@pytest.mark.timing
def test_without_padding_the_same_test_sees_it(slowly: None, opened: Callable[..., House]) -> None:
    assert _p_value(_reply_times(opened(), _slow, asks=14, threads=1)) < FALSE_ALARM


@pytest.mark.timing
@pytest.mark.study
def test_padded_replies_about_outliers_and_inliers_are_alike(opened: Callable[..., House]) -> None:
    house = opened(deadlines={"identify": 0.1})
    assert _p_value(_reply_times(house, _identify, asks=2000, threads=8)) > FALSE_ALARM


@given(elapsed=st.floats(0, 1e4, allow_nan=False), deadline=st.floats(1e-3, 1e3, allow_nan=False))
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
        assert service.deadline(custodian, "clinic", identify()) == 0.25 * times
        shown = service.dataset(custodian, "clinic")["deadlines"]
        assert shown == {"*": 0.25 * times, "count": 2.0 * times}


@pytest.mark.timing
def test_what_a_slot_ends_in_waits_and_what_needs_none_does_not(
    opened: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refusal from public facts leaves at once; one that an ask in its slot ends in waits."""
    house = _loaded(opened, deadlines={"*": 2.0}, budget="0")
    with listening(house) as url, requests.Session() as session:
        session.headers.update(house.headers("ana"))
        there = f"{url}/v1/datasets/clinic/ask"

        def refused() -> float:
            started = time.perf_counter()
            assert session.post(there, json=identify(), timeout=30).status_code == 402
            return time.perf_counter() - started

        assert min(refused() for _ in range(3)) < 1.0
        monkeypatch.setattr(house.service, "stored", lambda *given: None)  # as if asked just now
        assert refused() >= 2.0


@pytest.mark.timing
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

    def broken(*given: object, **named: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(house.service, "answer", broken)
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


def _loaded(opened: Callable[..., House], **changes: Any) -> House:
    """A service whose records are loaded, however busy the machine is."""
    house = opened(**{"patience": 240.0, **changes})
    house.service.curator(house.service.people.get("ana"), "clinic")
    return house


def _subspaces(**more: Any) -> dict[str, Any]:
    model = {"beta": 5, "radius": 4.0, "metric": "euclidean"}
    return {"kind": "subspaces", "size": 2, "model": model, "epsilon": "1", **more}


@pytest.mark.timing
def test_a_stored_answer_waits_for_nothing(opened: Callable[..., House]) -> None:
    """It is public history: most replies leave within 50 ms, and none waits for the deadline."""
    house = _loaded(opened, deadlines={"*": 1.0})
    body = _subspaces()
    with listening(house) as url, requests.Session() as session:
        session.headers.update(house.headers("ana"))
        there = f"{url}/v1/datasets/clinic/ask"
        first = session.post(there, json=body, timeout=60).json()
        time.sleep(0.1)
        session.post(there, json=body, timeout=60)
        times = []
        for _ in range(100):
            started = time.perf_counter()
            again = session.post(there, json=body, timeout=60).json()
            times.append(time.perf_counter() - started)
            assert again["answer"] == first["answer"]
            assert again["charged"] is False
    assert sorted(times)[49] < 0.05
    assert sorted(times)[98] < 0.5


def test_an_answer_that_is_ready_and_not_yet_due_is_told_nobody(
    slowly: None, opened: Callable[..., House]
) -> None:
    """Neither by asking again nor by the page of one's questions: that would time its end."""
    house = _loaded(opened, deadlines={"slowly": 3600.0})
    service = house.service
    ana = service.people.get("ana")

    def newest() -> tuple[str, Any]:
        told = service.account(ana, "clinic")["questions"][-1]
        return told["outcome"], told["answer"]

    service.ask(ana, "clinic", _slow(False, 1))  # it is there; its reply would wait for an hour
    assert newest() == ("open", None)
    assert service.stored(service.prepare(ana, "clinic", _slow(False, 1))) is None
    service.settings = replace(service.settings, deadlines={"slowly": 0.001})
    service.ask(ana, "clinic", _slow(False, 2))
    time.sleep(0.01)
    assert newest()[0] == "answered"
    assert service.stored(service.prepare(ana, "clinic", _slow(False, 2))) is not None


def test_reply_times_that_were_shortened_release_nothing_that_was_asked_before(
    slowly: None, opened: Callable[..., House]
) -> None:
    """A restart with other deadlines, or a card that shortens them: old questions keep theirs."""
    house = _loaded(opened, deadlines={"slowly": 3600.0})
    ana = house.service.people.get("ana")
    house.service.ask(ana, "clinic", _slow(False, 1))
    other = Service(replace(house.settings, deadlines={"slowly": 0.001}))
    try:
        other.start()
        other.ask(ana, "clinic", _slow(False, 2))
        time.sleep(0.01)
        custodian = other.people.get("custodian")
        for card in (None, _card_with_size(other)):
            if card is not None:
                other.amend(custodian, "clinic", reason="a better card", card=card)
            told = [one["outcome"] for one in other.account(ana, "clinic")["questions"]]
            assert told == ["open", "answered"]
        assert other.stored(other.prepare(ana, "clinic", _slow(False, 1))) is None
    finally:
        other.close()


def _card_with_size(service: Service) -> dict[str, Any]:
    custodian = service.people.get("custodian")
    found: dict[str, Any] = service.dataset(custodian, "clinic")["card"]
    return {**found, "records_at_most": 5000}


def test_a_reply_time_follows_from_the_question_and_the_card(opened: Callable[..., House]) -> None:
    """Larger questions over more records get more time; none of it depends on the records."""
    house = opened(by_cost=True)
    service = house.service
    ana, custodian = service.people.get("ana"), service.people.get("custodian")
    times = []
    for bound in (5_000, 50_000):
        card = replace(Card.load(CARD), records_at_most=bound)
        service.amend(custodian, "clinic", card=card.to_json(), reason="another bound")
        assert service.deadline(ana, "clinic", identify()) == 0.5
        times.append(service.deadline(ana, "clinic", _subspaces()))
    few, many = times
    assert few is not None
    assert many is not None
    assert few <= 1.0
    assert many >= 4 * few


def test_late_replies_are_counted_for_the_custodian_alone(
    slowly: None, opened: Callable[..., House]
) -> None:
    house = _loaded(opened, deadlines={"slowly": 0.02})
    with listening(house) as url:
        headers, there = house.headers("ana"), f"{url}/v1/datasets/clinic"
        requests.post(f"{there}/ask", json=_slow(True, 1), headers=headers, timeout=60)

        def told(who: str) -> Any:
            found = requests.get(there, headers=house.headers(who), timeout=30).json()
            return found.get("overruns")

        until = time.monotonic() + 60
        while not told("custodian") and time.monotonic() < until:
            time.sleep(0.05)
        assert told("custodian") == {"slowly": 1}
        assert told("ana") is None
        numbers = requests.get(f"{url}/metrics", headers=house.headers("auditor"), timeout=30)
        assert "overrun" not in numbers.text


@pytest.mark.timing
def test_a_price_that_no_account_can_hold_takes_no_slot(opened: Callable[..., House]) -> None:
    """It is refused from public facts; its published reply time would be more than a minute."""
    house = _loaded(opened, by_cost=True)
    body = {"kind": "profile", "epsilon": "1/796479"}
    assert (house.service.deadline(house.service.people.get("ana"), "clinic", body) or 0) > 60
    with listening(house) as url:
        started = time.perf_counter()
        headers = house.headers("ana")
        there = f"{url}/v1/datasets/clinic/ask"
        reply = requests.post(there, json=body, headers=headers, timeout=200)
        assert (reply.status_code, time.perf_counter() - started < 30) == (422, True), reply.text
