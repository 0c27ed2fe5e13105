"""Record and replay: with frozen answers, neighbouring data look the same to the last byte.

The other half of "depends on the data through a mechanism only". A curator is asked questions of
every kind (some twice, some that cannot be paid, some not allowed, some nonsense, one that fails
behind the boundary), first over one database, then over its neighbours; each mechanism is made to
say the same every time, and everything an analyst or an operator could see is written down: prices,
descriptions, plans, progress, releases with their statements, errors, log lines, the order in which
the house calls its parts, and the ledger's entries (but their clock, the hashes that cover it, and
the records' fingerprint, which a secret key drawn anew for each account makes random).
"""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.count import Count
from whitecrow.curator import Curator
from whitecrow.curator.execution import InProcess
from whitecrow.curator.opening import Opened
from whitecrow.data import Card, Column, Dataset
from whitecrow.errors import WhitecrowError
from whitecrow.explain import Explain
from whitecrow.identify import Identify
from whitecrow.learning import Learn
from whitecrow.ledger import Ledger
from whitecrow.lookahead import Lookahead
from whitecrow.monitor import Monitor
from whitecrow.place.balls import BALLS
from whitecrow.profile import Profile
from whitecrow.publish import Publish
from whitecrow.question import Question, QuestionType
from whitecrow.screen import Screen
from whitecrow.screening import Screening
from whitecrow.subspaces import Subspaces
from whitecrow.tune import Tune
from whitecrow_audit.audit.shipped import Records, table

CARD = Card(
    "members",
    (
        Column("x", "integer", 0, 99),
        Column("y", "integer", 0, 99),
        Column("ward", "category", categories=("a", "b")),
        Column("day", "integer", 0, 30),
    ),
)


_FROZEN: dict[str, Any] = {}
"""What the mechanism first answered to each question: it says the same ever after."""

UNLUCKY = "1/97"
"""Questions at this price fail behind the boundary."""


def questions() -> Iterator[Question]:
    """Yield questions of every kind, and with every outcome."""
    model, tenth = DistanceAnomaly(3, 5.0), Fraction(1, 10)
    here: Mapping[str, Any] = {"x": 40, "y": 40}
    yield Identify(here, model=model, epsilon="1/10")
    yield Identify(here, model=model, epsilon="1/10")  # asked before: free
    yield Identify({"x": 90, "y": 2}, model=model, epsilon="1/10", notion="differential")
    yield Screen({"x": 1, "y": 99}, model=model, epsilon="1/10")
    yield Screen({"x": 1, "y": 99}, model=model, epsilon=UNLUCKY)
    yield Screen({"x": 1, "y": 99}, model=model, epsilon=UNLUCKY)  # failed before: not run again
    yield Screen({"z": 1}, model=model, epsilon="1/10")  # no such column
    series: Any = {"columns": ["x", "y"], "model": model, "epsilon": "1/10", "delta": "1e-9"}
    yield Screening(**series)  # paid, asked, asked before
    for _ in range(2):
        yield Screening(here, **series)
    yield Lookahead(["ward"], model=DistanceAnomaly(20, 0), k=2, epsilon="1/10")
    for mechanism in ("smooth", "global"):
        yield Count(["x", "y"], model=model, epsilon="1/10", mechanism=mechanism)
    yield Count(["ward"], model=model, epsilon="1/10")  # not a column of numbers
    yield Subspaces(1, 1, columns=["x", "y"], model=model, epsilon="1/10")
    yield Tune(["x"], share="1/10", radii=[1, 2, 4], beta=3, epsilon="1/10")
    person = {"ward": "a", "x": 40}
    for notion in ("differential", "conditional"):  # the policy allows no conditional answers
        yield Explain(person, metric="x", detector=model, epsilon="1/10", notion=notion)
    yield Publish(statistic="count", time="day", start=0, period=1, horizon=30, epsilon=tenth)
    yield Publish(statistic="count", time="day", start=0, period=1, horizon=30, rho=tenth**2)
    yield Profile(["x", "ward"], epsilon="1/10")
    yield Learn(["x"], epsilon="1/10")
    for step in (1, 2, 1):  # paid, going on, asked before
        yield Monitor(
            ["x"], time="day", start=0, period=10, horizon=3, through=step, epsilon="1/10"
        )
    yield Count(["x"], model=model, epsilon=500)  # cannot be paid


class _Notes(list[str]):
    def told(self, name: str, act: Callable[..., Any]) -> Callable[..., Any]:
        """Log a call, then make it."""

        def wrapped(*given: Any, **named: Any) -> Any:
            self.append(f"call {name}")
            return act(*given, **named)

        return wrapped


class _Frozen(Curator):
    """A curator whose mechanisms answer the same whatever the data, and whose calls are logged."""

    _dataset: Dataset
    notes: _Notes
    leak: Callable[[_Frozen, Question], None] | None = None

    def __init__(self, holding: Opened, **named: Any) -> None:
        execution = _FrozenExecution(self, holding)
        super().__init__(holding, execution=execution, **named)


class _FrozenExecution(InProcess):
    """Gathers the facts of the data, and releases the same whatever they are."""

    def __init__(self, owner: _Frozen, holding: Opened) -> None:
        super().__init__(holding.dataset, holding.engine)
        self._owner = owner

    def code(self, question: Question) -> QuestionType[Any, Any, Any]:
        code, owner = super().code(question), self._owner

        def gather(asked: Any, records: Any, engine: Any, progress: Any) -> Any:
            if owner.leak is not None:
                owner.leak(owner, question)
            if question.canonical not in _FROZEN:  # drawn apart: nothing of it is written down
                facts = code.gather(asked, records, engine, None)
                _FROZEN[question.canonical] = (
                    code.release(asked, facts, None)
                    if code.series is None
                    else code.series.resume(asked, facts, {}, None)
                )
            facts = code.gather(asked, records, engine, progress)
            if question.to_json().get("epsilon") == UNLUCKY:
                raise ValueError(f"one of {owner._dataset.size} records is odd")
            return facts

        def release(asked: Any, facts: Any, *rest: Any) -> Any:
            return _FROZEN[question.canonical]

        told = owner.notes.told("release", release)
        series = None if code.series is None else replace(code.series, resume=told)
        return replace(code, gather=owner.notes.told("gather", gather), release=told, series=series)


class _Told(Ledger):
    """A ledger that logs its calls."""

    def watch(self, notes: _Notes) -> None:
        for name in ("reserve", "settle", "fail"):
            setattr(self, name, notes.told(name, getattr(self, name)))


# Mutants: houses that tell something beside the answer


def _log_the_size(curator: _Frozen, question: Question) -> None:
    logging.getLogger("whitecrow").debug("reading %d records", curator._dataset.size)


def _refuse_by_data(curator: _Frozen, question: Question) -> None:
    """Fail for some data and not for others; even the one constant sentence tells which."""
    if curator._dataset.size % 2:
        raise ValueError("too few")


def _order_by_data(curator: _Frozen, question: Question) -> None:
    """Ask the ledger once more where there are many records."""
    if curator._dataset.size >= len(BASE["x"]):
        curator.remaining()
        curator.notes.append("call remaining")


LEAKS = {
    "a log line with the number of records": _log_the_size,
    "a refusal that depends on the data": _refuse_by_data,
    "a call that depends on the data": _order_by_data,
}


# The pairs

BASE: dict[str, list[Any]] = {
    "x": [number * 37 % 100 for number in range(60)],
    "y": [number * 53 % 100 for number in range(60)],
    "ward": ["ab"[number * 7 % 2] for number in range(60)],
    "day": [number * 11 % 30 for number in range(60)],
}


def _with(x: int, y: int, ward: str, day: int) -> Records:
    new = {"x": x, "y": y, "ward": ward, "day": day}
    return {name: [*values, new[name]] for name, values in BASE.items()}


def neighbours() -> dict[str, Records]:
    """Return neighbours of the base: records gone, added, far out, on the very spot asked about."""
    return {
        "the first record gone": {name: values[1:] for name, values in BASE.items()},
        "the last record gone": {name: values[:-1] for name, values in BASE.items()},
        "one more, like others": _with(50, 50, "a", 3),
        "one more, far out": _with(99, 0, "b", 29),
        "one more, asked about": _with(40, 40, "a", 0),
    }


def transcript(
    records: Records, leak: Callable[[_Frozen, Question], None] | None = None
) -> list[str]:
    """Return everything that can be seen while a curator of these records is asked."""
    notes, ledger = _Notes(), _Told("sqlite://", geometry=BALLS)
    curator = _Frozen.open(
        table(records), card=CARD, budget="3, 1e-6", ledger=ledger, name="members"
    )
    assert isinstance(curator, _Frozen)
    curator.notes, curator.leak = notes, leak
    ledger.watch(notes)
    with _logged() as log:
        for number, question in enumerate(questions()):
            _ask(curator, question, ("ana", "bo")[number % 2])
            if question.kind == "lookahead":  # refused: the failure before it closed the dataset
                for failed in curator.failures():
                    curator.review(failed.seq, reason="looked")
                _ask(curator, question, "ana")
    notes.append(log.getvalue())
    asked = [Screen({"x": 3, "y": 3}, model=DistanceAnomaly(3, 5.0), epsilon="1/10")]
    notes.append(str(curator.plan(asked)))
    notes += [str(curator.remaining()), *curator.totals().statements(), repr(curator)]
    for entry in ledger.entries("members"):
        seen = {key: value for key, value in entry.to_json().items() if key not in _CLOCK}
        if "data" in seen["body"]:
            keyed = {**seen["body"]["data"], "fingerprint": "under a secret key"}
            seen["body"] = {**seen["body"], "data": keyed}
        notes.append(json.dumps(seen, sort_keys=True))
    curator.close()
    return notes


_CLOCK = ("at", "hash", "previous")


def _ask(curator: _Frozen, question: Question, analyst: str) -> None:
    notes = curator.notes
    try:
        notes += [str(curator.price(question)), str(curator.describe(question))]
        release = curator.ask(
            question,
            analyst=analyst,
            progress=lambda done, total, what: notes.append(f"{what} {done}/{total}"),
        )
        notes.append(json.dumps(release.to_json()))
    except WhitecrowError as error:
        notes.append(f"{type(error).__name__}: {error} {vars(error)}")
    notes.append(str(curator.remaining(analyst)))


@contextmanager
def _logged() -> Iterator[io.StringIO]:
    """Catch every log line, at every level."""
    log = io.StringIO()
    handler, root = logging.StreamHandler(log), logging.getLogger("whitecrow")
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield log
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


@dataclass(frozen=True)
class Replay:
    """What the replay found."""

    lines: int  # how much was visible over the base
    different: tuple[str, ...]  # the neighbours that did not look the same: none, if all is well
    missed: tuple[str, ...]  # the mutants that did: none, if the replay sees what it should

    @property
    def ok(self) -> bool:
        """Whether neighbours look the same and every mutant that leaks is caught."""
        return not self.different and not self.missed

    def words(self) -> str:
        """Return one sentence."""
        same = (
            f"{len(neighbours())} neighbours look the same in all {self.lines} lines"
            if not self.different
            else f"other lines over: {', '.join(self.different)}"
        )
        mutants = f"{len(LEAKS) - len(self.missed)} of {len(LEAKS)} mutants caught"
        return f"Record and replay, answers frozen: {same}; {mutants}."


def replay() -> Replay:
    """Ask the same of neighbouring data, answers frozen, and compare all that can be seen."""
    base = _bytes(transcript(BASE))
    different = [
        name for name, records in neighbours().items() if _bytes(transcript(records)) != base
    ]
    missed = [name for name, leak in LEAKS.items() if not _seen(leak)]
    return Replay(base.count(b"\n") + 1, tuple(different), tuple(missed))


def _seen(leak: Callable[[_Frozen, Question], None]) -> bool:
    base = _bytes(transcript(BASE, leak))
    return any(_bytes(transcript(records, leak)) != base for records in neighbours().values())


def _bytes(lines: Sequence[str]) -> bytes:
    return "\n".join(lines).encode()
