"""Monitor, checked: what the shipped steps ask noise for, on every edge of a small universe.

The steps are run with a tape instead of noise (:mod:`whitecrow_audit.verify.tape`). Instead of
records there are *lives*: what a record is at each step. It may stay, come late, be corrected or
go. From one run of revisions to the next its period may be another, and the series is paid once a
run. A person may have another record, of another period, at every step.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.data import Card, Column
from whitecrow.exhaustive import Report
from whitecrow.histogram.facts import counted_rows
from whitecrow.histogram.noise_budget import NoiseBudget
from whitecrow.monitor.facts import MonitorFacts, Weighted
from whitecrow.monitor.mechanism import resume
from whitecrow.monitor.question import Monitor
from whitecrow.monitor.streams import Reader, Strategy
from whitecrow_audit.verify.tape import Tape, worst_of
from whitecrow_audit.verify.universes import Checks, Histogram, together

STEPS = 3
CARD = Card("small", (Column("x", lower=0, upper=1), Column("t", "integer", lower=0, upper=2)))

Life = tuple[tuple[float, int] | None, ...]
"""At each step the value and the period of a record, or None while it is not in the data."""

RECORDS: tuple[Life, ...] = (
    ((0.1, 0), (0.1, 0), (0.1, 0)),
    (None, (0.9, 0), (0.9, 0)),
    ((0.1, 0), (0.9, 0), None),
    (None, (0.9, 1), (0.1, 1)),
)
"""One stays, one comes late, one is corrected and goes, one is of the second period."""

Runs = tuple[int, ...]
"""How many steps are closed in each run of revisions, one after the other."""


def _moving(runs: Runs) -> tuple[Life, ...]:
    """Every way to have a period in each run, with a value that is corrected at every step."""
    return tuple(
        tuple((0.1 if step % 2 else 0.9, period) for step, period in enumerate(life))
        for life in (
            [period for period, steps in zip(periods, runs, strict=True) for _ in range(steps)]
            for periods in product(range(STEPS), repeat=len(runs))
        )
        if all(period <= step for step, period in enumerate(life))
    )


PERSONS: tuple[Life, ...] = (
    ((0.1, 0), (0.1, 1), (0.1, 2)),
    ((0.9, 0), None, (0.1, 0)),
    (None, (0.9, 1), (0.1, 2)),
)


def _rows(lives: tuple[Life, ...], x: Histogram, step: int, period: int) -> Any:
    rows = [
        life[step]
        for life, count in zip(lives, x, strict=True)
        for _ in range(count)
        if life[step] is not None
    ]
    values = [value for value, when in rows if when == period]  # type: ignore[misc]
    return np.array(values, dtype=np.float64).reshape(-1, 1)


def _facts(lives: tuple[Life, ...], x: Histogram) -> MonitorFacts:
    """Count lives as they are at the step, which has one weight a period so far."""

    def count(cells: Weighted) -> npt.NDArray[np.int64]:
        step = len(cells.weights) - 1
        parts = [
            weight * counted_rows(_rows(lives, x, step, period), cells.counting)
            for period, weight in enumerate(cells.weights)
        ]
        return np.asarray(np.sum(parts, axis=0), dtype=np.int64)

    return MonitorFacts(count, CARD)


@dataclass(frozen=True)
class _Alone(Strategy):
    """Broken: every step is noised as if it were the only one."""

    def reach(self, *, user: bool) -> int:
        return min(self.rows[-1][-1], self.rows[0][0]) ** (1 if self.law == "laplace" else 2)


class _Unpaid(Reader):
    """Broken: the alarm's histograms come on top of the price."""

    def counts(self, cells: Any, share: Fraction, tables: int, groups: Any = None) -> Any:
        share = Fraction(1) if share == Fraction(1, 5) else share
        return super().counts(cells, share, tables, groups)


class _Taped:
    """The question with a tape for its noise budget, or as a mutant has it."""

    def __init__(self, question: Monitor, tape: Tape, user: bool, **broken: Any) -> None:
        self._question, self._tape, self._user, self._broken = question, tape, user, broken

    def __getattr__(self, name: str) -> Any:
        return getattr(self._question, name)

    def plan(self, card: Card) -> Strategy:
        shipped = self._question.plan(card)
        if self._broken.get("running_sums"):
            ones = tuple((1,) * (step + 1) for step in range(STEPS))
            return _Alone(shipped.law, ones)
        return _Alone(shipped.law, shipped.rows) if self._broken.get("alone") else shipped

    def reader(self, card: Card, past: Any, span: tuple[int, int], draw: Any = None) -> Reader:
        budget: Any = self._tape
        make = _Unpaid if self._broken.get("unpaid") else Reader
        return make(budget, self.plan(card), past, span, self._user, draw)


def _run(lives: tuple[Life, ...], user: bool, x: Histogram, tape: Tape, **broken: Any) -> Hashable:
    """Close all steps over some lives; return what is public of it."""
    delta = "1e-6" if tape.law == "gaussian" else "0"
    asked = Monitor(["x"], time="t", start=0, period=1, horizon=STEPS, epsilon=1, delta=delta)
    question: Any = _Taped(asked, tape, user, **broken)
    shown = json.dumps(resume(question, _facts(lives, x), {}))
    if broken.get("exact_window"):
        return shown, len(_rows(lives, x, STEPS - 1, STEPS - 1))
    return shown


def all_steps(
    law: str, lives: tuple[Life, ...] = RECORDS, user: bool = False, seeds: int = 2, **broken: Any
) -> Report:
    """Return the worst loss of all steps together on every edge, over some public seeds."""
    budget = NoiseBudget(law, Fraction(1, 2), "add_remove", 1)
    return worst_of(partial(_run, lives, user, **broken), budget, len(lives), 1, seeds)


def all_runs(law: str, runs: Runs, paid: int) -> Report:
    """Return the worst loss of records that move from run to run, beside so many prices."""
    worst = together(all_steps(law, (life,), seeds=1) for life in _moving(runs))
    return replace(worst, bound=paid * worst.bound)


def _mutant(words: str, law: str, lives: tuple[Life, ...] = RECORDS, **broken: Any) -> Checks:
    return {f"mutant: {words}": partial(all_steps, law, lives, seeds=1, **broken)}


CHECKS: Checks = {
    **{
        f"loss of all steps, {law}, {words}": partial(run, law)
        for law in ("laplace", "gaussian")
        for words, run in (
            ("records", all_steps),
            ("persons", partial(all_steps, lives=PERSONS, user=True)),
            ("one run", partial(all_runs, runs=(3,), paid=1)),
            ("two runs", partial(all_runs, runs=(2, 1), paid=2)),
            ("three runs", partial(all_runs, runs=(1, 1, 1), paid=3)),
        )
    },
    **_mutant("each step noised as if alone", "gaussian", alone=True),
    **_mutant("running sums, each noised as if alone", "laplace", running_sums=True),
    **_mutant("a window from exact counts", "gaussian", PERSONS, user=True, exact_window=True),
    **_mutant("the alarm on top of the price", "gaussian", unpaid=True),
    **_mutant("persons whose records change, priced as records", "gaussian", PERSONS),
    "mutant: records that move from run to run, paid once": partial(
        all_runs, "laplace", (1, 1, 1), 1
    ),
    "mutant: records that move between two runs, paid once": partial(
        all_runs, "gaussian", (2, 1), 1
    ),
}
