"""Random sequences of questions through ``Curator.ask``, and what their account says of them.

Every question goes the whole way: card, policy, price, ledger, engine, mechanism. A recording
execution keeps the facts that the curator gathered; from these the exact laws of all answers follow
(``laws``), on both of two neighbouring databases. The account's totals must bound their joint loss
on every pair they speak of; whether they speak of this pair is decided by ``world``, from the rows.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet

from whitecrow import Curator
from whitecrow.curator.execution import InProcess
from whitecrow.errors import BudgetExhausted, InvalidInput, PolicyViolation
from whitecrow.ledger import Ledger
from whitecrow.place.balls import BALLS
from whitecrow.privacy import Guarantee, ZeroConcentrated

from . import laws
from .together import attempt
from .world import Step, Together, World, covers, steps, table, world

NOTIONS = ("differential", "concentrated", "sensitive", "conditional")
BUDGET = "100000, 1/100"
BUDGETS = (BUDGET, f"{BUDGET}, either")
SLACK = 1e-6
ORDERS = (1.01, 2.0, 8.0)

_NAMES = itertools.count()


class _Recording(InProcess):
    """Answers as always, and keeps the facts."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.facts: list[tuple[Any, Any]] = []

    def code(self, question: Any) -> Any:
        code = super().code(question)

        def gather(*given: Any) -> Any:
            found = code.gather(*given)
            self.facts.append((question, found))
            return found

        return replace(code, gather=gather)


class _Watched(Curator):
    """A curator whose facts can be looked at, by this test."""

    def __init__(self, holding: Any, **named: Any) -> None:
        self.recording = _Recording(holding.dataset, holding.engine)
        super().__init__(holding, execution=self.recording, **named)


@dataclass
class Asked:
    """One database and everything that was asked of it.

    Parameters
    ----------
    facts : list
        For each step the question and its facts; None if nothing was computed, or if it is a step
        of a series or an attempt with another site.
    prices : list
        For each step what it promised; None if it was refused.
    totals : Totals
        What the account says at the end.
    series : dict
        For each series, by question and card, its question and the facts of each closed step; for
        screenings with the places that were asked about.
    rounds : list
        What another site's coordinator has seen, round by round.
    """

    facts: list[tuple[Any, Any] | None] = field(default_factory=list)
    prices: list[Guarantee | None] = field(default_factory=list)
    totals: Any = None
    series: dict[tuple[str, int], tuple[Any, list[Any]]] = field(default_factory=dict)
    rounds: list[Any] = field(default_factory=list)
    curators: list[_Watched] = field(default_factory=list)


def ask(
    there: World, side: int, asked: list[Step], ledger: Ledger, folder: Path, budget: str
) -> Asked:
    """Ask all questions of one of the two databases, on one account."""
    name = f"joint-{next(_NAMES)}"
    account = {"ledger": ledger, "name": name, "budget": budget}
    open_: dict[tuple[int, str, int], _Watched] = {}
    found = Asked()
    for step in asked:
        for revision in range(step.revision + 1):  # revisions are seen one after the other
            _open(there, side, replace(step, revision=revision), open_, account, folder)
        curator = open_[step.card, step.engine, step.revision]
        curator.recording.facts = []
        found.facts.append(None)
        try:
            price = curator.price(step.question)
            if isinstance(step, Together):
                found.rounds.extend(attempt(curator, step))
            else:
                curator.ask(step.question)
        except (InvalidInput, PolicyViolation, BudgetExhausted):
            found.prices.append(None)
            continue
        found.prices.append(price)
        for question, facts in curator.recording.facts:
            if question.kind == "monitor":
                key = question.paid_as().canonical, step.card
                found.series.setdefault(key, (question.paid_as(), []))[1].append(facts)
            elif question.kind == "screening":
                key = f"{question.canonical} {step.revision}", step.card
                places = step.question.places(curator.card)
                found.series.setdefault(key, (question, []))[1].append((facts, places))
            else:
                found.facts[-1] = question, facts
    found.totals = next(iter(open_.values())).totals()
    found.curators = list(open_.values())
    return found


def _close(asked: Asked) -> None:
    """Give back the connections to records; facts may have read them until now."""
    for curator in asked.curators:
        curator._dataset.close()  # the ledger is shared


def _open(
    there: World,
    side: int,
    step: Step,
    known: dict[tuple[int, str, int], _Watched],
    account: Mapping[str, Any],
    folder: Path,
) -> None:
    key = step.card, step.engine, step.revision
    if key in known:
        return
    rows = table(there.revisions[step.revision][side])
    source: Any = rows
    if {"sql", "spark"} & {*there.engines}:
        source = folder / f"{account['name']}-{step.revision}.parquet"
        if not source.exists():
            pyarrow.parquet.write_table(rows, source)
    opened = _Watched.open(
        source,
        card=there.cards[step.card],
        engine=step.engine,
        policy={"notions": NOTIONS, "unit": there.unit},
        advance=None if step.revision == 0 else "the data changed",
        growth=there.growth,
        **account,
    )
    assert isinstance(opened, _Watched)
    known[key] = opened


@dataclass
class Result:
    """What came of one sequence."""

    asked: list[str] = field(default_factory=list)
    notions: list[str] = field(default_factory=list)
    lines: int = 0
    rounds: int = 0
    losses: dict[str, float] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def within(self, promise: str, loss: float, said: float) -> bool:
        """Keep how much of a promise is used up, and say whether it is kept."""
        if said:
            self.losses[promise] = max(self.losses.get(promise, 0.0), loss / said)
        return loss <= said * (1 + SLACK) + (0 if promise == "epsilon" else SLACK * SLACK)


def judge(
    there: World, asked: list[Step], ledger: Ledger, folder: Path, budget: str = BUDGET
) -> Result:
    """Ask both databases and compare the joint law with what each line of the account says."""
    one, two = (ask(there, side, asked, ledger, folder, budget) for side in (0, 1))
    try:
        return _judged(there, one, two)
    finally:
        _close(one)
        _close(two)


def _judged(there: World, one: Asked, two: Asked) -> Result:
    result = Result()
    if [price is None for price in one.prices] != [price is None for price in two.prices]:
        result.violations.append("refused on one side only")
        return result
    if one.totals.statements() != two.totals.statements():
        result.violations.append("the account says something else of the neighbour")
    released = [
        (here[0], here[1], other[1])
        for here, other in zip(one.facts, two.facts, strict=True)
        if here is not None and other is not None
    ]
    released += [
        (question, closed, two.series[key][1]) for key, (question, closed) in one.series.items()
    ]
    result.asked = [question.kind for question, _, _ in released]
    result.rounds = len(one.rounds)
    result.notions = [type(price).__name__ for price in one.prices if price is not None]
    conditions = _conditions(one, two)
    listed = [part for each in released for part in laws.parts(*each)]
    listed += laws.counted(one.rounds, two.rounds)
    for line in ("differential", "sensitive", "conditional"):
        total = getattr(one.totals, line)
        if total is None or not _speaks(total, there, conditions):
            continue
        result.lines += 1
        said = _violation(total, listed, result)
        if said:
            result.violations.append(f"{line}: {said}")
    return result


def _conditions(one: Asked, two: Asked) -> Mapping[str, bool]:
    """What each clause means: that of the first question that was released under it."""
    found: dict[str, bool] = {}
    for price, here, other in zip(one.prices, one.facts, two.facts, strict=True):
        if here is None or other is None:
            continue
        for clause in getattr(price, "conditions", ()):
            found.setdefault(clause, laws.conditioned(here[0], here[1], other[1]))
    return found


def _speaks(total: Any, there: World, conditions: Mapping[str, bool]) -> bool:
    zones = getattr(total, "zones", ())
    if there.unit == "replace_one" and zones:
        return False
    return all(covers(zone, there) for zone in zones) and all(
        conditions[clause] for clause in getattr(total, "conditions", ())
    )


def _violation(total: Any, listed: list[laws.Part], result: Result) -> str:
    if isinstance(total, ZeroConcentrated):
        for order in ORDERS:
            found = laws.renyi(listed, order)
            if not result.within("rho", found / order, float(total.rho)):
                return f"Renyi {found:.6g} of order {order} above rho {total.rho}"
        return ""
    epsilon = float(total.epsilon)
    if total.delta == 0:
        found = laws.worst(listed)
        kept = result.within("epsilon", found, epsilon)
        return "" if kept else f"loss {found:.6g} above {epsilon:.6g}"
    found = laws.beyond(listed, epsilon)
    kept = result.within("delta", found, float(total.delta))
    return "" if kept else f"delta {found:.3g} above {float(total.delta):.3g}"


@dataclass
class Outcome:
    """What many sequences covered, and what came of them.

    Parameters
    ----------
    seen : Counter
        How often each thing was met.
    losses : dict
        The largest part of a promise that was used up, for epsilon, delta and rho.
    violations : list of str
        What was above its promise.
    """

    seen: Counter[str] = field(default_factory=Counter)
    losses: dict[str, float] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def note(self, number: int, there: World, asked: list[Step], result: Result) -> None:
        """Add one sequence."""
        self.violations.extend(f"sequence {number}: {said}" for said in result.violations)
        for promise, used in result.losses.items():
            self.losses[promise] = max(self.losses.get(promise, 0.0), used)
        seen = self.seen
        seen.update(result.asked)
        seen.update(result.notions)
        seen.update(f"engine {step.engine}" for step in asked)
        seen.update(["sequences", there.unit, f"unit {there.cards[0].unit}"])
        seen["rounds with another site"] += result.rounds
        seen["attempts with another site"] += sum(isinstance(step, Together) for step in asked)
        monitored = [step for step in asked if step.question.kind == "monitor"]
        over = {(step.question.paid_as().canonical, step.revision) for step in monitored}
        seen[f"series over revisions, {there.growth}"] += len(over) > len({one for one, _ in over})
        seen["lines"] += result.lines
        seen["spoken of"] += result.lines > 0
        seen["used up"] += result.losses.get("epsilon", 0.0) > 0.999
        for name in ("card", "engine", "revision"):
            seen[f"two {name}s"] += len({getattr(step, name) for step in asked}) > 1


def engines(number: int, *, spark: bool = False) -> tuple[str, ...]:
    """The engines of a sequence: another beside ``local`` in every fifth."""
    if spark and number % 200 == 7:
        return "local", "spark"
    return {0: ("local", "sql"), 5: ("local", "gpu")}.get(number % 10, ("local",))


def fuzz(
    first: int,
    count: int,
    folder: Path,
    *,
    kinds: Sequence[str] | None = None,
    most: int = 5,
    stop: bool = False,
    spark: bool = False,
    **fixed: Any,
) -> Outcome:
    """Run sequences number ``first`` and on.

    Parameters
    ----------
    first, count : int
        The number of a sequence is its seed.
    folder : Path
        For the files that an engine reads.
    kinds, most, fixed : optional
        What to draw from, where not all is wanted; see :mod:`world`.
    stop : bool
        End with the first violation.
    spark : bool
        Some sequences on Spark too, which is slow to start.
    """
    outcome = Outcome()
    with Ledger("sqlite://", geometry=BALLS) as ledger:
        for number in range(first, first + count):
            random = Random(number)
            there = world(random, engines=engines(number, spark=spark), **fixed)
            asked = steps(random, there, most, kinds)
            budget = BUDGETS[number % len(BUDGETS)]
            outcome.note(number, there, asked, judge(there, asked, ledger, folder, budget))
            if stop and outcome.violations:
                break
    return outcome
