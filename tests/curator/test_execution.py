"""No fact leaves except through a mechanism."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import logging
import pickle
import random
import re
import traceback
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import toy_question
from toy_question import Toy

import whitecrow as wc
from whitecrow import custodian
from whitecrow import questions as registry
from whitecrow.curator import execution
from whitecrow.ledger import Entry
from whitecrow.ledger.store import CLOSED
from whitecrow.limits import UNLIMITED
from whitecrow.question import Question

ROWS = 1237  # a number that occurs nowhere else
CANARY = 77654.321
# Whole numbers count only as numbers: hashes and noisy decimals contain any digits.
CANARIES = re.compile(r"CANARY|77654\.3|1,237|(?<![\w.])(77654|1237)(?![\w.])")

CARD = wc.Card(
    "patients",
    (
        wc.Column("x", lower=0, upper=100_000),
        wc.Column("y", lower=0, upper=100),
        wc.Column("ward", "category", categories=("a", "b", "c")),
        wc.Column("day", "date", lower="2024-01-01", upper="2024-01-31"),  # type: ignore[arg-type]
        wc.Column("note", "text"),
    ),
)
MODEL = wc.DistanceAnomaly(beta=3, radius=8.0)


def rows(drop: int | None = None, extra: float | None = None) -> pa.Table:
    """Records with canaries among them; a neighbour lacks one record or has one more."""
    draw = np.random.default_rng(5)
    table = {
        "x": [*draw.uniform(0, 1000, ROWS - 1).round(3), CANARY],
        "y": [*draw.uniform(0, 100, ROWS - 1).round(3), 50.0],
        "ward": [*draw.choice(["a", "b", "c"], ROWS - 1), "c"],
        "day": [date(2024, 1, 1 + int(k)) for k in [*draw.integers(0, 31, ROWS - 1), 8]],
        "note": ["CANARY"] * ROWS,
    }
    if drop is not None:
        table = {name: [*values[:drop], *values[drop + 1 :]] for name, values in table.items()}
    if extra is not None:
        more = {"x": extra, "y": 1.0, "ward": "a", "day": date(2024, 1, 30), "note": "n"}
        table = {name: [*values, more[name]] for name, values in table.items()}
    return pa.table(table)


def questions(count: int) -> Iterator[Any]:
    """Questions of every kind; some cannot be paid, some are not allowed, some are nonsense."""
    draw = random.Random(11)
    for number in range(count):
        kind = draw.randrange(24)
        record = {"x": round(draw.uniform(0, 1000), 1), "y": round(draw.uniform(0, 100), 1)}
        price = draw.choice(["1/1000", "1/500"])
        if kind < 6:
            yield wc.Identify(record, model=MODEL, epsilon=price)
        elif kind < 9:
            yield wc.Screen(record, model=MODEL, epsilon=price)
        elif kind == 9:
            yield wc.Count(["x", "y"], model=MODEL, epsilon=f"0.{1000 + number}")
        elif kind == 10:
            yield wc.Explain(
                {"ward": "c", "y": 50.0},
                metric="y",
                detector=wc.DistanceAnomaly(beta=3, radius=1.0),
                epsilon=f"0.{1000 + number}",
                notion="differential",
            )
        elif kind == 11:
            yield wc.Publish(
                statistic="count",
                time="day",
                start="2024-01-01",
                horizon=15,  # about half the records: a noisy total is never near ROWS
                epsilon=f"0.{1000 + number}",
            )
        elif kind == 12:
            yield wc.Screen({"x": -5.0, "y": 0.0}, model=MODEL, epsilon=price)  # out of bounds
        elif kind == 13:
            yield wc.Identify({"z": 1.0}, model=MODEL, epsilon=price)  # no such column
        elif kind == 14:
            yield Toy(number, "500")  # too much
        elif kind == 15:
            yield Toy(number, price, "conditional")  # not allowed
        elif kind == 16:
            yield Toy(-1 - number)  # refused by its check
        elif kind < 20:
            yield Toy(number, price, draw.choice(["differential", "sensitive"]))
        else:
            yield Toy(10**6 + number % 7, price)  # often asked before; fails behind the wall


FROZEN = {
    "identify": True,
    "screen": False,
    "count": 17,
    "explain": {"context": None, "words": "everyone"},
    "publish": {"series": []},
    "toy": True,
}


def fails(question: Question) -> bool:
    return question.kind == "toy" and question.to_json()["number"] >= 10**6


class Watcher:
    """Sees everything that an analyst could see, and writes it down."""

    def __init__(self, table: pa.Table, **options: Any) -> None:
        self.curator = wc.Curator.open(
            table, card=CARD, budget="10", name="patients", engine="local", **options
        )
        self.curator.allow("bo", "1/2", reason="a share")
        self.seen: list[str] = []
        self.frames: list[str] = []

    def note(self, *things: object) -> None:
        self.seen.extend(str(thing) for thing in things)

    def ask(self, question: Any, analyst: str) -> None:
        toy_question.ON_GATHER.clear()
        if fails(question):
            toy_question.ON_GATHER.append(_break)
        try:
            self.note(self.curator.price(question), self.curator.describe(question))
            release = self.curator.ask(
                question,
                analyst=analyst,
                progress=lambda done, total, what: self.note("progress", done, total, what),
            )
            self.note(repr(release), json.dumps(release.to_json()), pickle.dumps(release))
        except wc.WhitecrowError as error:
            self.note(type(error).__name__, error, repr(error), vars(error))
            self.frames.append(_behind(error))
            if str(error) == CLOSED and len(self.frames) % 2:
                for failed in self.curator.failures():
                    self.curator.review(failed.seq, reason="looked")

    def export(self) -> str:
        """The account without its clock, hence without its hashes."""
        return json.dumps(
            [
                {k: v for k, v in e.to_json().items() if k not in ("at", "hash", "previous")}
                for e in self.curator.ledger.entries("patients")
            ]
        )


def _behind(error: Exception) -> str:
    """What a debugger would show: causes, contexts, and every frame with its variables."""
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    return "".join(told.format())


def _break() -> None:
    raise ValueError(f"CANARY: the record {CANARY} of {ROWS} is odd")


@pytest.fixture
def everything_logged() -> Iterator[io.StringIO]:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    root, level = logging.getLogger(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield written
    root.removeHandler(handler)
    root.setLevel(level)


def test_a_thousand_asks_show_no_canary(
    everything_logged: io.StringIO, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    watcher = Watcher(rows(), ledger=tmp_path / "l.whitecrow.db")
    for number, question in enumerate(questions(1000)):
        watcher.ask(question, ("ana", "bo", "cy")[number % 3])
    curator = watcher.curator
    watcher.note(repr(curator), curator.remaining(), curator.totals(), curator.unsettled())
    watcher.note(watcher.export(), everything_logged.getvalue(), *capfd.readouterr())
    for word in ("BudgetExhausted", "NotAllowed", "InvalidInput", "ComputationFailed", "progress"):
        assert word in watcher.seen, f"the asks never led to {word}"
    text = "\n".join([*watcher.seen, *watcher.frames])
    assert not (found := CANARIES.search(text)), text[found.start() - 100 : found.end() + 100]
    # The cause is where it belongs: in a file that only its owner reads.
    log = tmp_path / "l.whitecrow.db-custodian.log"
    assert "CANARY" in log.read_text(encoding="utf-8")
    assert log.stat().st_mode & 0o077 == 0
    curator.close()


def test_what_holds_records_refuses_to_be_pickled_or_shown() -> None:
    curator = Watcher(rows()).curator
    for holder in (curator, curator._dataset):
        with pytest.raises(TypeError, match="never pickled"):
            pickle.dumps(holder)
        assert not CANARIES.search(repr(holder))
    code = registry.question_type("toy")
    facts = code.gather(Toy(1), curator._dataset, None, None)
    assert f"{facts} {facts!r}" == "<facts withheld> <facts withheld>"
    with pytest.raises(TypeError):
        pickle.dumps(facts)
    with pytest.raises(TypeError):
        json.dumps(facts)


def transcript(table: pa.Table, monkeypatch: pytest.MonkeyPatch, asks: int) -> list[str]:
    """Everything visible, and the order in which the house calls its parts; answers frozen."""
    watcher = Watcher(table)
    plain = registry.question_type

    def told(name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*given: Any, **named: Any) -> Any:
            watcher.note(f"call {name}")
            return act(*given, **named)

        return wrapped

    def frozen(kind: str) -> Any:
        code = plain(kind)
        return dataclasses.replace(
            code,
            gather=told("gather", code.gather),
            release=told("release", lambda question, facts, source: FROZEN[kind]),
        )

    with monkeypatch.context() as patch:
        patch.setattr(registry, "question_type", frozen)
        for name in ("reserve", "settle", "fail"):
            patch.setattr(
                watcher.curator.ledger, name, told(name, getattr(watcher.curator.ledger, name))
            )
        for number, question in enumerate(questions(asks)):
            watcher.ask(question, ("ana", "bo", "cy")[number % 3])
            watcher.note(watcher.curator.remaining())
    return [*watcher.seen, watcher.export(), str(watcher.curator.totals().statements())]


def test_neighbouring_data_look_the_same_when_the_mechanisms_say_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = transcript(rows(), monkeypatch, 150)
    assert sum(line == "call release" for line in one) > 40
    for neighbour in (rows(drop=ROWS - 1), rows(drop=17), rows(extra=5.0), rows(extra=99_999.0)):
        assert transcript(neighbour, monkeypatch, 150) == one


def test_a_failure_is_one_constant_sentence_and_keeps_its_spend() -> None:
    curator = wc.Curator.open(pa.table({"x": [1.0]}), name="toys")
    spends: list[Entry] = []
    for number, cause in enumerate((ValueError("x = 1"), MemoryError(), wc.InvalidInput("row 1"))):
        toy_question.ON_GATHER[:] = [lambda cause=cause: _raise(cause)]
        with pytest.raises(wc.Unavailable) as failed:
            curator.ask(Toy(number, "1/10"))
        assert str(failed.value) == custodian.FAILED
        toy_question.ON_GATHER.clear()
        spends.extend(curator.unsettled())
        curator.review(curator.failures()[0].seq, reason="looked")
        # Asking again does not compute again: a failure must not become a free look.
        with pytest.raises(wc.Unavailable, match="failed"):
            curator.ask(Toy(number, "1/10"))
    assert float(curator.remaining()["differential"]) == pytest.approx(0.7)
    assert len(spends) == 3
    for entry in spends:
        curator.void(entry.seq, reason="the bug is mended")
    assert float(curator.remaining()["differential"]) == 1
    assert curator.ask(Toy(0, "1/10")).charged


def _raise(cause: Exception) -> None:
    raise cause


def test_an_answer_that_is_not_plain_json_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    curator = wc.Curator.open(pa.table({"x": [1.0]}), name="toys")
    for answer in (float("nan"), object(), {1, 2}):
        code = dataclasses.replace(
            registry.question_type("toy"), release=lambda *given, answer=answer: answer
        )
        with monkeypatch.context() as patch:
            patch.setattr(execution, "type_of", lambda question, code=code: code)
            found = curator._execution.answer(Toy(1), limits=lambda: UNLIMITED, progress=None)
        assert found is None


def test_an_interrupt_leaves_the_spend_to_be_taken_up() -> None:
    curator = wc.Curator.open(pa.table({"x": [1.0]}), name="toys")
    toy_question.ON_GATHER.append(lambda: _raise(KeyboardInterrupt()))  # type: ignore[arg-type]
    with pytest.raises(KeyboardInterrupt):
        curator.ask(Toy(1, "1/10"))
    toy_question.ON_GATHER.clear()
    assert len(curator.unsettled()) == 1
    assert curator.ask(Toy(1, "1/10")).charged
    assert float(curator.remaining()["differential"]) == pytest.approx(0.9)


def test_progress_comes_in_the_same_steps_whatever_the_size() -> None:
    def seen(size: int) -> list[tuple[int, int, str]]:
        found: list[tuple[int, int, str]] = []
        with contextlib.closing(
            wc.Curator.open(pa.table({"x": np.ones(size)}), name="toys")
        ) as curator:
            curator.ask(Toy(1), progress=lambda *step: found.append(step))
        return found

    assert seen(7) == seen(1000) == [(step, 20, "counting") for step in range(21)]
