"""A study: no reply and no page tells two datasets apart by the time at which something shows.

Questions of four kinds about neighbouring data (one record more), and about crowded and spread-out
data, all at once; replies are timed, and so is the moment at which each page that may change does.
The two samples must not be told apart by a Kolmogorov-Smirnov test at a false-alarm rate of one in
a million each.
"""

from __future__ import annotations

import importlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import requests

from whitecrow import questions
from whitecrow.demo import DATA
from whitecrow_server import _service
from whitecrow_server._processes import DatasetProcess

from .conftest import House, listening

FALSE_ALARM = 1e-6
REPLIES = int(os.environ.get("WHITECROW_TIMING_REPLIES", "300"))
ROWS = 4000
DEADLINES = {"count": 0.5, "profile": 1.0, "learn": 1.0, "monitor": 1.0, "slowly": 0.5}
PAIRS = (("few", "more"), ("crowded", "spread"))
PAGES = {
    "ledger": ("auditor", "ledger?limit=1&newest_first=true", lambda said: said["total"]),
    "history": ("own", "ledger?limit=1", lambda said: said["questions"]),
    "timeline": ("own", "timeline", lambda said: said["events"]),
}


def _table(which: str) -> pyarrow.Table:
    random = np.random.default_rng(3)
    values = random.normal(size=(ROWS + 1, 2)) * {"crowded": 0.01, "spread": 20.0}.get(which, 1.0)
    values = np.clip(values, -100, 100)[: ROWS if which == "few" else ROWS + 1]
    days = [f"2024-0{1 + i % 3}-{1 + i % 28:02}" for i in range(len(values))]
    dates = pyarrow.array(days).cast(pyarrow.date32())
    return pyarrow.table({"x": values[:, 0], "y": values[:, 1], "day": dates})


def _card(name: str) -> dict[str, Any]:
    columns: list[dict[str, Any]] = [
        {"name": one, "type": "number", "lower": -100, "upper": 100} for one in ("x", "y")
    ]
    columns.append({"name": "day", "type": "date", "lower": "2024-01-01", "upper": "2024-12-31"})
    facts = {"name": name, "unit": "record", "size_public": False, "records_at_most": 10_000}
    return {**facts, "columns": columns}


def _question(kind: str, i: int) -> dict[str, Any]:
    """A question nobody asked before."""
    epsilon = {"kind": kind, "epsilon": f"{1_000_000 + i}/1000000000"}
    if kind == "slowly":
        return {"kind": kind, "outlier": i % 2 == 1, "number": i}
    if kind == "count":
        model = {"beta": 5, "radius": 0.05}
        return {**epsilon, "columns": ["x", "y"], "model": model}
    if kind == "monitor":
        when = {"time": "day", "start": "2024-01-01", "period": "month", "horizon": 3}
        return {**epsilon, "columns": ["x", "y"], **when, "through": 1}
    return {**epsilon, "columns": ["x", "y"]}


class _Watched:
    """Asks one question after the other about a dataset, and sees when pages change."""

    def __init__(self, url: str, house: House, dataset: str) -> None:
        self._there, self._house, self._dataset = f"{url}/v1/datasets/{dataset}", house, dataset
        self._changes: dict[str, list[float]] = {page: [] for page in PAGES}
        self._over = threading.Event()

    def run(self, asked: list[dict[str, Any]]) -> dict[str, list[float]]:
        """Return how long after each ask its reply came, and each page changed last."""
        with ThreadPoolExecutor(len(PAGES)) as pool:
            watchers = [pool.submit(self._watch, page) for page in PAGES]
            try:
                times = [self._ask(one) for one in asked]
            finally:
                self._over.set()  # or nobody would ever learn of the error
            for watcher in watchers:
                watcher.result()
        found = {"reply": [ended - began for began, ended, _ in times]}
        for page, moments in self._changes.items():
            found[page] = []
            for began, _, until in times:
                mine = [moment for moment in moments if began < moment <= until]
                found[page] += [mine[-1] - began] if mine else []
        return found

    def _ask(self, body: dict[str, Any]) -> tuple[float, float, float]:
        headers = self._house.headers(self._dataset)
        began = time.perf_counter()
        reply = requests.post(f"{self._there}/ask", json=body, headers=headers, timeout=120)
        ended = time.perf_counter()
        assert reply.status_code == 200, reply.text
        time.sleep(0.2)  # the pages show it
        return began, ended, time.perf_counter()

    def _watch(self, page: str) -> None:
        who, path, read = PAGES[page]
        headers = self._house.headers(self._dataset if who == "own" else who)
        last = None
        with requests.Session() as session:
            session.headers.update(headers)
            while not self._over.is_set():
                reply = session.get(f"{self._there}/{path}", timeout=60)
                now = read(reply.json()) if reply.status_code == 200 else last
                if last is not None and now != last:
                    self._changes[page].append(time.perf_counter())
                last = now
                time.sleep(0.1)


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One more kind of question, where the processes that compute find it too."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    questions.register(importlib.import_module("slow_question").TYPE)
    yield
    del questions._registered["slowly"]


@pytest.fixture
def crowds(
    slowly: None, opened: Callable[..., House], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[House, str]]:
    # As outside of tests: after some sixty counts kernels are worth compiling, for minutes.
    monkeypatch.setattr(DatasetProcess, "warmed", True)
    data = tmp_path / "data"
    data.mkdir()
    (data / DATA.name).write_bytes(DATA.read_bytes())
    house = opened(data=str(data), deadlines=DEADLINES, patience=600.0)
    service = house.service
    custodian = service.people.get("custodian")
    for name in (name for pair in PAIRS for name in pair):
        pyarrow.parquet.write_table(_table(name), data / f"{name}.parquet")
        service.members.invite(custodian, name, "analyst")
        house.tokens[name] = service.people.issue(name, days=1)[0]
        source, card = {"file": f"{name}.parquet"}, _card(name)
        service.register(custodian, name, source, card=card, budget="1000000", readers=[name])
    for pair in PAIRS:
        for name in pair:
            service.curator(custodian, name)
    with listening(house) as url:
        yield house, url


def _alike(found: list[dict[str, list[float]]]) -> dict[str, float]:
    from scipy.stats import ks_2samp

    values = {}
    for what in found[0]:
        samples = [one[what] for one in found]
        if min(map(len, samples)) >= 10:  # of some kinds of question the timeline says nothing
            values[what] = float(ks_2samp(*samples, method="asymp").pvalue)
    return values


@pytest.mark.timing
@pytest.mark.study
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", ["count", "profile", "learn", "monitor"])
def test_no_reply_and_no_page_tells_two_datasets_apart(
    crowds: tuple[House, str], kind: str
) -> None:
    house, url = crowds
    names = [name for pair in PAIRS for name in pair]
    with ThreadPoolExecutor(len(names)) as pool:
        warm = [pool.submit(_Watched(url, house, name).run, [_question(kind, 0)]) for name in names]
        for one in warm:
            one.result()
        bodies = [_question(kind, i) for i in range(1, REPLIES + 1)]
        running = {name: pool.submit(_Watched(url, house, name).run, bodies) for name in names}
        found = {name: one.result() for name, one in running.items()}
    values = {pair: _alike([found[name] for name in pair]) for pair in PAIRS}
    for one in found.values():
        assert len(one["reply"]) == REPLIES
        assert min(len(one["ledger"]), len(one["history"])) > 0.9 * REPLIES
    assert min(min(one.values()) for one in values.values()) > FALSE_ALARM, values


@pytest.mark.timing
@pytest.mark.study
@pytest.mark.timeout(3600)
def test_without_the_gate_the_same_study_sees_it(
    crowds: tuple[House, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Padded replies alone do not hide when an entry appears on a page."""
    monkeypatch.setattr(_service, "reply_moment", lambda *given: None)
    house, url = crowds
    watched = [_Watched(url, house, name) for name in PAIRS[0]]
    bodies = [[_question("slowly", 2 * i + which) for i in range(60)] for which in (0, 1)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda one, some: one.run(some), watched, bodies))
    values = _alike(found)
    assert values["reply"] > FALSE_ALARM
    assert values["ledger"] < FALSE_ALARM
    assert values["history"] < FALSE_ALARM
