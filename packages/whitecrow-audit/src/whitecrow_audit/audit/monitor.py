"""Monitor, audited: what the newest of two steps reveals about one record of its period.

People differ in one column of two categories, so that every table tells them apart. A window of the
newest step is read: there the count of a cell is one release, whose law is known.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from whitecrow.data import Card, Column
from whitecrow.histogram.noise_budget import Noise
from whitecrow.learning.facts import ByColumn
from whitecrow.learning.question import draw_tables, families, marginal_share
from whitecrow.monitor import Monitor, Monitored, MonitorFacts, release
from whitecrow.monitor.facts import Weighted
from whitecrow.monitor.streams import Draw, Reader
from whitecrow_audit.audit.case import Case, Laws, both, clipped, viewed
from whitecrow_audit.audit.learn import counts_of, high_law
from whitecrow_audit.audit.shipped import Asked
from whitecrow_audit.audit.tester import Law
from whitecrow_audit.verify.tape import Silent

CARD = Card(
    "people",
    (Column("c", "category", categories=("a", "b")), Column("t", "integer", lower=0, upper=1)),
)
Database = tuple[str, ...]
View = Callable[[Any], Hashable]

_MOST = 250
_FULL = 12_000


def _question(epsilon: int) -> Monitor:
    return Monitor(["c"], time="t", start=0, period=1, horizon=2, window=1, epsilon=epsilon)


def _records(kinds: Database) -> dict[str, list[Any]]:
    """One person in the first period, the others in the second."""
    return {"c": ["a", *kinds], "t": [0, *(1 for _ in kinds)]}


@lru_cache(maxsize=16)
def _noise(question: Monitor, factor: Fraction) -> tuple[Noise, int]:
    """Return the noise of the tables at a multiple of the price, and how many there are."""
    asked = question.noise_budget(CARD)
    budget = replace(asked, total=asked.total * factor)
    tables = len(draw_tables(1, families(budget.law, 1.0, budget.total), question.seed))
    share = (1 - question.drift_share) * (1 - marginal_share(budget.law, budget.total))
    return budget.histograms(share / question.plan(CARD).reach(user=False), tables), tables


def _in_tables(answer: Any) -> Hashable:
    """Say in how many tables the newest period's cell of ``b`` is not empty."""
    detector = (
        answer.detector if isinstance(answer, Monitored) else Monitored.from_json(answer).detector
    )
    return int((counts_of(detector.model, 1.0) > 0).sum())


def _law(question: Monitor, factor: Fraction, x: Database) -> Law:
    noise, tables = _noise(question, factor)
    return high_law(noise, tables, x.count("b"))


class _OneForAll(Reader):
    """Broken: the noise of one table for all of them."""

    def counts(self, cells: Any, share: Fraction, tables: int, groups: Any = None) -> Any:
        return super().counts(cells, share, 1, groups)


class _Cheap(Monitor):
    """The question of the mutant that draws so little noise."""

    def reader(
        self, card: Card, past: tuple[Any, ...], span: tuple[int, int], draw: Draw | None = None
    ) -> Reader:
        return _OneForAll(self.noise_budget(card), self.plan(card), past, span, False, draw)


def _one_for_all(question: Monitor, facts: MonitorFacts, source: Any) -> Any:
    return release(_Cheap.from_json(question.to_json()), facts, source)


def _one_for_all_law(question: Monitor, factor: Fraction, x: Database) -> Law:
    noise, tables = _noise(question, factor)
    return high_law(Noise("laplace", noise.size / tables), tables, x.count("b"))


def _exact_window(question: Monitor, facts: MonitorFacts, source: Any) -> Any:
    """Answer with the newest period's counts as they are."""
    answer = release(question, facts, source)
    model = Monitored.from_json(answer).detector.model
    cells = Weighted(ByColumn(model.grids), question.calendar, (0, 1))
    counts = facts.noisy_counts(cells, Silent())
    return {**answer, "exact": int(counts[1])}


def _exact_law(question: Monitor, factor: Fraction, x: Database) -> Law:
    return {x.count("b"): 1.0}


def _case(
    name: str,
    question: Monitor,
    law: Callable[[Monitor, Fraction, Database], Law],
    view: View,
    cut: View = lambda number: number,
    **broken: Any,
) -> Case:
    pair: tuple[Database, Database] = (("a",), ("a", "b"))

    def laws(factor: Fraction) -> Laws:
        return both(lambda x: viewed(law(question, factor, x), cut), pair)

    records = both(_records, pair)
    asked = Asked(question, CARD, records, lambda answer: cut(view(answer)), **broken)
    where = "people a | a ~ a | a, b (before the bar: an earlier period)"
    return asked.case(name, where, laws, most=_MOST, full=_FULL)


def cases() -> Iterator[Case]:
    dear, cheap = _question(16), _question(2)
    name, cut = "the newest of two steps, Laplace", clipped(5, 6)
    yield _case(name, dear, _law, _in_tables, cut)
    name = "mutant: the noise of one table for all"
    yield _case(name, cheap, _one_for_all_law, _in_tables, cut, release=_one_for_all)
    name = "mutant: a window from exact counts"
    yield _case(name, cheap, _exact_law, lambda answer: answer["exact"], release=_exact_window)
