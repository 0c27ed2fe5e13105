"""Computation in processes of their own: limits, deaths, an orderly end."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from benchmarks.service import in_folder, prepared, running

import whitecrow as wc
from whitecrow import questions
from whitecrow.anomaly import model
from whitecrow.curator import Curator
from whitecrow.curator.execution import Elsewhere
from whitecrow.custodian import CUSTODIAN_LOG, FAILED
from whitecrow.limits import Limits
from whitecrow_server._processes import DatasetProcess

from .conftest import Caller, House, identify, person


@pytest.fixture
def roughly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    questions.register(importlib.import_module("rough_question").TYPE)
    yield
    del questions._registered["roughly"]


def _rough(manner: str, number: int = 0) -> dict[str, Any]:
    return {"kind": "roughly", "manner": manner, "number": number}


def _limited(monkeypatch: pytest.MonkeyPatch, **limits: float) -> None:
    monkeypatch.setattr(Curator, "limits", lambda self, question: Limits(**limits))


def test_the_process_that_talks_to_the_network_holds_no_records(
    roughly: None, opened: Callable[..., House]
) -> None:
    house = opened()
    curator = house.service.curator(person("ana"), "clinic")
    assert isinstance(curator._dataset, Elsewhere)
    where = house.service.ask(person("ana"), "clinic", _rough("fine")).answer
    assert where != os.getpid()
    assert Path(f"/proc/{where}").exists()


def test_models_are_known_where_the_records_are(
    opened: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr(model, "_registered", {})
    wc.register_model(importlib.import_module("agreeing_model").Agreeing)
    house = opened()
    far = {"age": 90, "bmi": 45.0}
    kernel = {"kind": "kernel", "most": 12, "radii": [2, 4], "heights": [2, 1]}
    for named in (kernel, {"kind": "agreeing"}):
        asked = {"kind": "screen", "record": far, "model": named, "epsilon": "20"}
        release = house.service.ask(person("ana"), "clinic", asked)
        assert release.answer is True
        assert release.question["model"]["kind"] == named["kind"]
    with pytest.raises(wc.InvalidInput, match="no model 'os'"):
        house.service.ask(person("ana"), "clinic", {**asked, "model": {"kind": "os"}})


def test_a_dataset_is_ready_once_its_kernels_are_loaded(
    opened: Callable[..., House], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that no analyst waits for a compiler."""
    told: list[str] = []
    load = DatasetProcess.load

    def heard(self: DatasetProcess, tell: Callable[[str, int], None]) -> Any:
        return load(self, lambda stage, percent: told.append(stage))

    monkeypatch.setattr(DatasetProcess, "load", heard)
    monkeypatch.setattr(DatasetProcess, "warmed", True)  # as it is outside of tests
    opened().service.curator(person("ana"), "clinic")
    assert told[0] == "reading"
    assert told[-1] == "compiling"


def test_a_card_without_a_bound_has_the_services_and_every_question_has_limits(
    opened: Callable[..., House],
) -> None:
    """Without a bound a computation could be ended because of its records."""
    curator = opened().service.curator(person("ana"), "clinic")
    assert curator.card.most_records is None
    found = curator.limits(wc.Count(model=wc.DistanceAnomaly(3, 1.0), epsilon=1))
    assert found.seconds < 600
    assert found.bytes < 8e9


def test_more_records_than_the_services_bound_are_not_loaded_and_the_custodian_is_told(
    opened: Callable[..., House],
) -> None:
    call = Caller(opened(records_at_most=1000))
    refused = call("ana", "POST", "/v1/datasets/clinic/ask", json=identify(1))
    assert refused.status_code == 503
    assert "1,000" not in refused.text
    told = call("custodian", "GET", "/v1/datasets/clinic").json()["progress"]
    assert "more than 1,000 records" in told["reason"]


@pytest.mark.parametrize(
    ("manner", "limits", "longest", "told"),
    [
        ("memory", {"bytes": 1e6}, 60.0, "MemoryError"),
        (
            "busy",
            {"seconds": 0.5},
            60.0,
            "clinic, heavy the process that computed was ended by signal 24 (SIGXCPU)",
        ),
        ("wait", {}, 1.0, "clinic, heavy the process that computed took longer than"),
        (
            "die",
            {},
            60.0,
            "clinic, heavy the process that computed was ended by signal 9 (SIGKILL)",
        ),
    ],
)
def test_a_computation_that_breaks_a_limit_is_one_constant_failure(
    roughly: None,
    opened: Callable[..., House],
    monkeypatch: pytest.MonkeyPatch,
    manner: str,
    limits: dict[str, float],
    longest: float,
    told: str,
) -> None:
    causes: list[str] = []
    handler = logging.Handler()
    monkeypatch.setattr(handler, "emit", lambda record: causes.append(record.getMessage()))
    monkeypatch.setattr(CUSTODIAN_LOG, "handlers", [handler])
    house = opened(longest_seconds=longest)
    call = Caller(house)
    assert call("ana", "POST", "/v1/datasets/clinic/ask", json=_rough("fine")).status_code == 200
    _limited(monkeypatch, **limits)
    reply = call("ana", "POST", "/v1/datasets/clinic/ask", json=_rough(manner))
    assert reply.status_code == 503
    assert reply.json() == {
        "error": {"type": "Unavailable", "cause": "ComputationFailed", "reason": FAILED}
    }
    # The spend is kept, and the failure is in the account: the custodian must look.
    kinds = [entry.kind for entry in house.service.ledger.entries("clinic")]
    assert kinds.count("reserve") == 2
    assert kinds.count("settle") == 1
    assert told in " ".join(" ".join(causes).split())


def test_a_process_that_died_is_replaced(roughly: None, opened: Callable[..., House]) -> None:
    house = opened()
    ana = person("ana")
    first = house.service.ask(ana, "clinic", _rough("fine", 1)).answer
    process = house.service.pool.process(house.service.listing(ana, "clinic"))
    os.kill(first, signal.SIGKILL)
    while process.alive:
        time.sleep(0.05)
    second = house.service.ask(ana, "clinic", _rough("fine", 2)).answer
    assert second != first


def test_closing_ends_a_computation_at_once_and_keeps_its_spend_open(
    roughly: None, opened: Callable[..., House]
) -> None:
    """A restart is no failure of the question: whoever asks again goes on with the same spend."""
    house = opened()
    ana = person("ana")
    where = house.service.ask(ana, "clinic", _rough("fine")).answer
    seen: list[BaseException] = []

    def ask() -> None:
        try:
            house.service.ask(ana, "clinic", _rough("wait"))
        except BaseException as error:  # noqa: BLE001 - looked at below
            seen.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    while [entry.kind for entry in house.service.ledger.entries("clinic")].count("reserve") < 2:
        time.sleep(0.02)
    started = time.monotonic()
    house.service.pool.close()
    asking.join(timeout=60)
    assert time.monotonic() - started < 60  # the computation would take ten minutes
    assert not Path(f"/proc/{where}/exe").exists()
    assert isinstance(seen[0], wc.Unavailable)
    assert "stopping" in str(seen[0])
    assert len(house.service.ledger.unsettled("clinic")) == 1


@pytest.mark.timing
def test_a_service_asked_to_stop_ends_within_seconds(tmp_path: Path) -> None:
    """Whatever waits for its deadline: its answer is stored, and given to whoever asks again."""
    database = in_folder(tmp_path)
    token = prepared(database, ["ana"], budget="100")["ana"]
    with running(database, "--deadline", "identify=60", "--rate", "0") as there:
        asking = threading.Thread(target=_ask, args=(there.url, token), daemon=True)
        asking.start()
        time.sleep(2.0)
        started = time.monotonic()
        there.stop()
        assert time.monotonic() - started < 30


def _ask(url: str, token: str) -> None:
    bearer = {"Authorization": f"Bearer {token}"}
    with contextlib.suppress(requests.RequestException):
        requests.post(f"{url}/v1/datasets/clinic/ask", json=identify(), headers=bearer, timeout=60)
