"""Whatever goes wrong between a spend and its answer takes one path, whatever its class."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import threading
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import toy_question
from toy_question import Toy

import whitecrow as wc
from whitecrow import custodian
from whitecrow.curator.execution import behind
from whitecrow.custodian import CUSTODIAN_LOG
from whitecrow.errors import ComputationFailed, LedgerBusy, NotAllowed
from whitecrow.question import Question
from whitecrow.questions import type_of

CLASSES = (
    wc.InvalidInput,
    NotAllowed,
    wc.BudgetExhausted,
    wc.DataChanged,
    LedgerBusy,
    KeyError,
    MemoryError,
    RecursionError,
    OverflowError,
    StopIteration,
)
ROWS = pa.table({"x": [1.0, 2.0, 3.0]})


@contextlib.contextmanager
def custodian_reads() -> Iterator[io.StringIO]:
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    CUSTODIAN_LOG.addHandler(handler)
    yield said
    CUSTODIAN_LOG.removeHandler(handler)


def fails(cause: type[BaseException]) -> Any:
    def act(*_: object, **__: object) -> Any:
        raise cause("the record 7 is odd")

    return act


def failed_once(
    curator: wc.Curator, question: Question, log: Path, *, computed: bool = True
) -> None:
    """It is charged if anything was computed, told in one sentence and logged; all is closed."""
    before = curator.remaining()["differential"]
    with pytest.raises(ComputationFailed) as told:
        curator.ask(question)
    assert str(told.value) == custodian.FAILED
    assert told.value.__cause__ is None
    assert "record 7" in log.read_text(encoding="utf-8")
    assert (curator.remaining()["differential"] < before) == computed
    assert len(curator.failures()) == 1
    with pytest.raises(wc.Unavailable, match=r"custodian|failed"):
        curator.ask(Toy(99, "1/1000"))


@pytest.mark.parametrize("cause", CLASSES)
@pytest.mark.parametrize("where", ["gather", "entered", "limits"])
def test_every_class_of_exception_is_a_failure_like_any(
    where: str, cause: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    curator = wc.Curator.open(ROWS, name="toys", ledger=tmp_path / "l.whitecrow.db")
    if where == "gather":
        monkeypatch.setattr(toy_question, "ON_GATHER", [fails(cause)])
    elif where == "entered":
        monkeypatch.setattr(Toy, "entered", fails(cause))
    else:
        answer = curator._execution.answer
        monkeypatch.setattr(curator, "limits", fails(cause))
        monkeypatch.setattr(
            curator._execution,
            "answer",
            lambda question, *, limits, progress: limits() and answer(question),
        )
    failed_once(curator, Toy(1, "1/10"), tmp_path / "l.whitecrow.db-custodian.log")
    curator.close()


def test_an_answer_that_cannot_be_kept_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    curator = wc.Curator.open(ROWS, name="toys", ledger=tmp_path / "l.whitecrow.db")
    monkeypatch.setattr(Toy, "entered", lambda self, answer, entry: {"record 7": float("nan")})
    with pytest.raises(ComputationFailed):
        curator.ask(Toy(1, "1/10"))
    assert len(curator.failures()) == 1


@pytest.mark.parametrize("where", ["show", "following", "resume"])
def test_a_step_of_a_series_fails_as_any_question_does(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = wc.Card("t", (wc.Column("x", lower=0, upper=9), wc.Column("t", "integer", 0, 9)))
    table = pa.table({"x": np.ones(20), "t": np.arange(20) % 3})
    log = tmp_path / "l.whitecrow.db"
    curator = wc.Curator.open(table, card=card, name="t", ledger=log, budget="3")
    code = type_of(_monitor())
    assert code.series is not None
    broken = replace(code, series=replace(code.series, **{where: fails(wc.InvalidInput)}))
    for module in ("curator.curator", "curator.execution"):
        monkeypatch.setattr(f"whitecrow.{module}.type_of", lambda question: broken)
    # What was closed so far is looked at before anything is charged or computed.
    written = tmp_path / "l.whitecrow.db-custodian.log"
    failed_once(curator, _monitor(), written, computed=where != "show")


def _monitor() -> wc.Monitor:
    return wc.Monitor(["x"], time="t", start=0, period=1, horizon=2, through=1, epsilon="1/10")


def test_warnings_of_private_code_reach_the_custodian_alone(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    curator = wc.Curator.open(ROWS, name="toys")

    def warn() -> None:
        np.float64(1e308) * np.array([10.0])
        worker = threading.Thread(target=lambda: np.array([1.0]) / np.array([0.0]))
        worker.start()
        worker.join()

    monkeypatch.setattr(toy_question, "ON_GATHER", [warn])
    with warnings.catch_warnings(), custodian_reads() as said:
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: sys.stderr.write(f"shown: {message}")  # type: ignore[assignment]
        curator.ask(Toy(1))
        assert "overflow" in said.getvalue()
        assert "divide by zero" in said.getvalue()
        assert capfd.readouterr() == ("", "")
        warnings.warn("of public code", stacklevel=1)
        assert "shown: of public code" in capfd.readouterr().err


def test_warnings_are_shown_again_after_the_last_of_several() -> None:
    shown = warnings.showwarning
    inside, go_on = threading.Event(), threading.Event()

    def compute() -> None:
        inside.set()
        go_on.wait(10)

    other = threading.Thread(target=lambda: behind("test", None, compute))
    other.start()
    inside.wait(10)
    behind("test", None, lambda: None)
    assert warnings.showwarning is not shown
    go_on.set()
    other.join()
    assert warnings.showwarning is shown


def test_a_further_step_of_a_series_that_is_paid_is_not_refused_beforehand() -> None:
    card = wc.Card("t", (wc.Column("x", lower=0, upper=9), wc.Column("t", "integer", 0, 9)))
    table = pa.table({"x": np.ones(20), "t": np.arange(20) % 3})
    curator = wc.Curator.open(table, card=card, ledger="sqlite://", budget="1/10")
    first = _monitor()
    assert curator.stored(first) is None
    assert curator.ask(first).charged
    following = wc.Monitor(**{**_PARAMETERS, "through": 2})
    assert curator.stored(following) is None  # nothing is left, and nothing is due
    assert not curator.ask(following).charged
    with pytest.raises(wc.BudgetExhausted):
        curator.stored(wc.Monitor(**{**_PARAMETERS, "epsilon": "1/20"}))


_PARAMETERS: dict[str, Any] = {
    "columns": ["x"], "time": "t", "start": 0, "period": 1, "horizon": 2, "through": 1,
    "epsilon": "1/10",
}  # fmt: skip
