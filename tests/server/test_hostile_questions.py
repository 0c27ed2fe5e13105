"""A question is data: whatever it names, nothing is imported, called, opened or written."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow.cli import whitecrow
from whitecrow.demo import CARD, DATA
from whitecrow.ledger import Budget, ChargeRequest, Ledger, Reservation
from whitecrow.ledger.verification import verify
from whitecrow.questions import read_question

from .conftest import Caller

RECORD = {"ward": "maternity", "insurance": "public", "year": "2023", "cost": 14000}
NAME = "local_outlier_factor"


def hostile(folder: Path) -> list[Any]:
    """Detectors that would import, create a file, or cost more than public limits allow."""
    written = {"filename": str(folder / "made-by-a-question"), "mode": "wb"}
    old = [
        ("sklearn.datasets._rcv1:GzipFile", written),
        ("sklearn.utils._mocking:MockDataFrame", {}),
        ("sklearn.manifold:TSNE", {}),
        ("os:system", {"command": "true"}),
        ("numpy:memmap", {"filename": str(folder / "made"), "mode": "w+", "shape": 8}),
    ]
    return [
        *({"kind": "fitted", "estimator": e, "parameters": p} for e, p in old),
        *({"kind": "fitted", "name": e, "parameters": p} for e, p in old),
        *({"kind": e, **p} for e, p in old),
        *(e for e, _ in old),
        {"kind": "fitted", "name": ["sklearn.manifold"], "parameters": {}},
        {"kind": "fitted", "name": {"a": 1}},
        {"kind": ["fitted"]},
        {"kind": "fitted", "name": NAME, "parameters": ["n_neighbors"]},
        {"kind": "fitted", "name": NAME, "parameters": {"metric": "sklearn.manifold:TSNE"}},
        {"kind": "fitted", "name": NAME, "parameters": {"name": "ecod", "self": 1}},
        {"kind": "fitted", "name": NAME, "parameters": {"n_neighbors": 10**9}},
        {"kind": "fitted", "name": NAME, "parameters": {"n_neighbors": True}},
        {"kind": "fitted", "name": NAME, "parameters": {"n_neighbors": "5"}},
        {"kind": "fitted", "name": NAME, "parameters": {"contamination": 1e-300}},
        {"kind": "fitted", "name": "isolation_forest", "parameters": {"n_estimators": 10**9}},
        {"kind": "fitted", "name": "isolation_forest", "parameters": {"seed": None}},
        {"kind": "fitted", "name": "isolation_forest", "parameters": {"n_jobs": -1}},
        {"kind": "fitted", "name": "knn", "parameters": {"method": "__import__('os')"}},
    ]


def explain(detector: Any) -> dict[str, Any]:
    said = {"record": RECORD, "metric": "cost", "detector": detector, "epsilon": "1/10"}
    return {"kind": "explain", "notion": "conditional", **said}


@contextmanager
def nothing_happens(folder: Path) -> Iterator[None]:
    """Nothing is imported and no file appears."""
    modules, files = set(sys.modules), sorted(folder.rglob("*"))
    yield
    assert set(sys.modules) == modules
    assert sorted(folder.rglob("*")) == files


BENIGN = {"kind": "fitted", "name": NAME, "parameters": {"n_neighbors": 5}}


def test_a_hostile_detector_imports_and_writes_nothing_in_the_library(tmp_path):
    curator = wc.Curator.open(str(DATA), card=str(CARD), ledger="sqlite://", budget="5")
    curator.price(read_question(explain(BENIGN)))  # whatever an honest question loads
    curator.price(read_question(explain("lof")))
    for detector in hostile(tmp_path):
        with nothing_happens(tmp_path):
            with pytest.raises(wc.InvalidInput):
                curator.price(read_question(explain(detector)))
            with pytest.raises(wc.InvalidInput):
                wc.Explain.from_json(explain(detector))


def test_pricing_an_honest_fitted_detector_loads_no_other_library():
    code = (
        "import json, sys; import whitecrow as wc; from whitecrow.questions import read_question;"
        "card = wc.Card.load(sys.argv[1]); asked = read_question(json.loads(sys.argv[2]));"
        "print(asked.price(card).notion, any(m in sys.modules for m in ('sklearn', 'pyod')))"
    )
    line = [sys.executable, "-c", code, str(CARD), json.dumps(explain(BENIGN))]
    found = subprocess.run(line, capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["conditional", "False"]


def test_a_hostile_detector_imports_and_writes_nothing_over_http(call: Caller, tmp_path):
    until = time.monotonic() + 120
    while call("ana", "POST", "/v1/datasets/clinic/price", json=explain("lof")).status_code == 503:
        assert time.monotonic() < until, "the dataset was not loaded"
    call("ana", "POST", "/v1/datasets/clinic/ask", json=explain("lof"))
    for detector in hostile(tmp_path):
        asked = explain(detector)
        bodies = {"price": asked, "ask": asked, "plan": {"questions": [asked]}}
        for route, body in bodies.items():
            with nothing_happens(tmp_path):
                found = call("ana", "POST", f"/v1/datasets/clinic/{route}", json=body)
            assert found.status_code in (400, 422), (route, detector, found.text)


def test_a_hostile_detector_imports_and_writes_nothing_on_the_terminal(tmp_path):
    shutil.copy(DATA, tmp_path / "clinic.csv")
    data, card = str(tmp_path / "clinic.csv"), ("--card", str(CARD))
    batch = tmp_path / "questions.json"

    def plan(detector: Any) -> int:
        batch.write_text(json.dumps([explain(detector)]), encoding="utf-8")
        line = ["--json", "plan", data, str(batch), *card]
        return CliRunner().invoke(whitecrow, line).exit_code

    assert plan("lof") in (0, 1)
    for detector in hostile(tmp_path):
        with nothing_happens(tmp_path):
            assert plan(detector) == 2, detector
    named = ["explain", data, *card, "--record", json.dumps(RECORD), "--of", "cost"]
    CliRunner().invoke(whitecrow, [*named, "--detector", "none"])  # loads the command itself
    with nothing_happens(tmp_path):
        for name in ("sklearn.manifold:TSNE", "os:system"):
            line = [*named, "--epsilon", "1", "--detector", name, "--price-only"]
            assert CliRunner().invoke(whitecrow, line).exit_code == 2


def test_a_hostile_question_in_a_ledger_is_read_as_text(tmp_path):
    path = tmp_path / "stored.db"
    url = f"sqlite:///{path}"
    everything = hostile(tmp_path)
    with Ledger(url) as ledger:
        ledger.open("clinic", budget=Budget.of("1000"))
        for number, detector in enumerate(everything):
            price = wc.DifferentialPrivacy("1/100")
            held, _ = ledger.reserve(
                "clinic", ChargeRequest("ana", str(number), explain(detector), price)
            )
            assert isinstance(held, Reservation)
            ledger.settle("clinic", held, {"answer": None})
            held.release()
        verify(ledger, "clinic")
    commands = [["show"], ["verify"], ["export"], ["export", "--format", "csv"]]

    def replay() -> None:
        for command in commands:
            line = ["--json", "ledger", command[0], url, *command[1:]]
            found = CliRunner().invoke(whitecrow, line)
            assert found.exit_code == 0, found.output
        with Ledger(url) as ledger:
            assert len(ledger.entries("clinic")) >= 2 * len(everything)
            verify(ledger, "clinic")

    replay()
    with nothing_happens(tmp_path):
        replay()
