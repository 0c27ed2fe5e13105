"""Padding when many ask at once: times of computations do not add up to something visible."""

from __future__ import annotations

import importlib
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests

from whitecrow import questions
from whitecrow_server import default_deadlines

from .conftest import House, listening

FALSE_ALARM = 1e-6
PEOPLE = tuple(f"p{i}" for i in range(15))


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    questions.register(importlib.import_module("slow_question").TYPE)
    yield
    del questions._registered["slowly"]


def _invite(house: House, people: tuple[str, ...]) -> None:
    service = house.service
    custodian = service.people.get("custodian")
    for name in people:
        service.members.invite(custodian, name, "analyst")
        house.tokens[name] = service.people.issue(name, days=1)[0]


def _at_once(
    url: str, house: House, people: tuple[str, ...], bodies: list[dict[str, Any]]
) -> list[float]:
    """Let everybody ask at the same moment; return how long the replies took, in order."""
    ready = threading.Barrier(len(people))

    def ask(who: str, body: dict[str, Any]) -> float:
        with requests.Session() as session:
            session.headers.update(house.headers(who))
            session.get(f"{url}", timeout=60)  # the connection is there
            ready.wait()
            started = time.perf_counter()
            reply = session.post(f"{url}/ask", json=body, timeout=120)
            assert reply.status_code == 200, reply.text
            return time.perf_counter() - started

    with ThreadPoolExecutor(len(people)) as pool:
        return sorted(pool.map(ask, people, bodies))


@pytest.mark.timing
def test_many_at_once_leave_at_published_moments_whatever_each_took(
    slowly: None, opened: Callable[..., House]
) -> None:
    house = opened(deadlines={"slowly": 0.5})
    people = PEOPLE[:8]
    _invite(house, people)
    custodian = house.service.people.get("custodian")
    house.service.amend(custodian, "clinic", readers=["*"], reason="everybody")
    moments = {}
    with listening(house) as url:
        there = f"{url}/v1/datasets/clinic"
        loaded = {"kind": "slowly", "outlier": False, "number": 1000}
        _at_once(there, house, people[:1], [loaded])
        for turn, outlier in enumerate((False, True)):
            bodies = [
                {"kind": "slowly", "outlier": outlier, "number": 100 * turn + i}
                for i in range(len(people))
            ]
            moments[outlier] = _at_once(there, house, people, bodies)
    for times in moments.values():
        assert [round(took / 0.5) for took in times] == list(range(1, len(people) + 1))


@pytest.mark.timing
@pytest.mark.study
@pytest.mark.timeout(3600)
def test_fifteen_at_once_about_a_crowded_and_an_empty_place_are_alike(
    opened: Callable[..., House], tmp_path: Path
) -> None:
    import pyarrow
    import pyarrow.parquet
    from scipy.stats import ks_2samp

    rows, names = 2_000_000, [f"c{i}" for i in range(10)]
    values = np.random.default_rng(5).normal(size=(rows, len(names)))
    data = tmp_path / "data"
    data.mkdir()
    table = pyarrow.table({name: values[:, i] for i, name in enumerate(names)})
    pyarrow.parquet.write_table(table, data / "crowd.parquet")
    (data / "clinic.csv").write_bytes((Path(_demo()) / "clinic.csv").read_bytes())
    house = opened(data=str(data), deadlines=default_deadlines(), patience=120.0)
    _invite(house, PEOPLE)
    columns = [{"name": name, "type": "number", "lower": -100, "upper": 100} for name in names]
    card = {"name": "crowd", "unit": "record", "size_public": False, "columns": columns}
    card["records_at_most"] = 2_000_000
    custodian = house.service.people.get("custodian")
    house.service.register(
        custodian, "crowd", {"file": "crowd.parquet"}, card=card, budget="1000", readers=["*"]
    )

    def bodies(place: float, turn: int) -> list[dict[str, Any]]:
        return [
            {
                "kind": "screen",
                "record": dict.fromkeys(names, place),
                "model": {"beta": 5, "radius": 2.0 + turn / 1000 + i / 100_000},
                "epsilon": "1/100000",
            }
            for i in range(len(PEOPLE))
        ]

    crowded: list[list[float]] = []
    empty: list[list[float]] = []
    with listening(house) as url:
        there = f"{url}/v1/datasets/crowd"
        _at_once(there, house, PEOPLE, bodies(0.0, 999))
        for turn in range(30):
            for place, kept in ((0.0, crowded), (50.0, empty)):
                kept.append(_at_once(there, house, PEOPLE, bodies(place, turn)))
    deadline = house.service.deadline(custodian, "crowd", "screen")
    assert deadline == 2 * default_deadlines()["screen"]  # 20 million values, by the card
    slots = [[round(took / deadline) for took in times] for times in (*crowded, *empty)]
    # A machine that stands still for a moment delays whoever computes just then. It does so
    # rarely, and whatever the place is: the tests below include these rounds.
    overran = sum(times[-1] - len(PEOPLE) for times in slots)
    assert overran <= len(slots) * len(PEOPLE) // 100, slots
    # What is left beside the schedule: all replies, and the batches as a whole.
    beside = [
        [took - deadline * round(took / deadline) for times in some for took in times]
        for some in (crowded, empty)
    ]
    assert ks_2samp(*beside).pvalue > FALSE_ALARM
    longer = sum(
        statistics.mean(one) > statistics.mean(other)
        for one, other in zip(empty, crowded, strict=True)
    )
    assert 1 < longer < 29  # by chance once in ten million


def _demo() -> str:
    from whitecrow.demo import DATA

    return str(DATA.parent)
