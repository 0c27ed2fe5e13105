"""A reader's five-line model: checked, then asked by hand, by a curator, a line, a request."""

from __future__ import annotations

import importlib
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import whitecrow as wc
from whitecrow import hazmat
from whitecrow.anomaly import model as registry
from whitecrow.cli import whitecrow
from whitecrow.demo import CARD, DATA
from whitecrow.testing import check_model

from .conftest import Caller, House

CUBE = list(itertools.product((0, 1), repeat=3))
FAR = {"age": 90, "bmi": 45.0}


@pytest.fixture
def agreeing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Fewer than three records agree with it in two columns: five lines, registered."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setattr(registry, "_registered", {})
    return wc.register_model(importlib.import_module("agreeing_model").Agreeing)


def test_it_gets_its_bound_and_a_bound_too_large_at_one_place_is_refused(agreeing: Any) -> None:
    report = check_model(agreeing().label, universe=CUBE, k=1, epsilon=1, size=4)
    lone = (1, 1, 1)
    assert report.passed
    assert [report.discrepancy[(lone,) * copies, lone] for copies in range(5)] == [
        None,
        *(2, 1, 1, 2),
    ]
    assert check_model(agreeing(), universe=CUBE, k=1, epsilon=1, size=4).passed

    class Hopeful(agreeing):  # type: ignore[misc]
        def bound(self, records: Any, i: Any, k: int | None) -> int | None:
            return super().bound(records, i, k) + (sorted(records) == [lone, lone])  # type: ignore[no-any-return]

    refused = check_model(Hopeful(), universe=CUBE, k=1, epsilon=1, size=4)
    assert not refused.passed
    assert refused.counterexample is not None
    assert (lone, lone) in refused.counterexample


def test_it_answers_without_an_account_and_through_a_curator(agreeing: Any) -> None:
    people = [("m", "n", "B")] * 5 + [("f", "y", "A")]
    assert hazmat.identify(people, people[-1], model=agreeing(), k=1, epsilon=50)
    with wc.Curator.open(DATA, card=CARD, budget="200", ledger="sqlite://") as curator:
        asked = curator.screen(FAR, model="agreeing", epsilon=50)
        assert (asked.answer, asked.charged) == (True, True)
        assert curator.remaining()["differential"] == 150


def test_it_answers_in_a_terminal(agreeing: Any, tmp_path: Path) -> None:
    words = ["--json", "screen", str(DATA), "--card", str(CARD), "--budget", "200"]
    words += ["--ledger", f"sqlite:///{tmp_path / 'l.db'}", "--record", json.dumps(FAR)]
    done = CliRunner().invoke(whitecrow, [*words, "--model", "agreeing", "--epsilon", "50"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert (found["answer"], found["charged"]) == (True, True)
    assert found["question"]["model"] == {"kind": "agreeing"}


def test_it_answers_over_http_where_records_are_in_another_process(
    agreeing: Any, opened: Callable[..., House]
) -> None:
    call = Caller(opened(budget="200"))
    for model in ("agreeing", {"kind": "agreeing"}):
        body = {"kind": "screen", "record": FAR, "model": model, "epsilon": "50"}
        reply = call("ana", "POST", "/v1/datasets/clinic/ask", json=body)
        assert reply.status_code == 200, reply.text
        assert reply.json()["answer"] is True
    body = {"kind": "screening", "model": {"kind": "agreeing"}, "epsilon": "8", "delta": "1e-6"}
    refused = call("ana", "POST", "/v1/datasets/clinic/ask", json=body)
    assert refused.status_code == 422
    assert "'balls' must be at least one" in refused.text
