"""Identify, audited: yes or no about one record, on edges of the sensitive graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from whitecrow.anomaly import (
    ContextualAnomaly,
    CountingModel,
    DistanceAnomaly,
    KernelAnomaly,
    KthNeighbourAnomaly,
    SimilarityAnomaly,
)
from whitecrow.anomaly.graph import Database, DatabaseGraph
from whitecrow.anomaly.law import is_anomaly
from whitecrow.anomaly.model import record_type
from whitecrow.data import Card, Column
from whitecrow.identify import Identify
from whitecrow.place.mechanism import PlaceFacts
from whitecrow_audit.audit.case import Case, Laws, both, doubled, worst_case
from whitecrow_audit.audit.shipped import Asked, Records
from whitecrow_audit.verify.sensitive import Universe, line

CARD = Card("line", (Column("x", "integer", 0, 9),))

Counts = tuple[int, int]
"""Copies of the record asked about, and neighbours."""

Make = Callable[[int, Fraction], Identify]
"""The question about one place, at one price."""


@dataclass(frozen=True)
class Step:
    """An edge of the sensitive graph, seen from the place that is asked about."""

    smaller: tuple[int, ...]
    larger: tuple[int, ...]
    place: int
    before: Counts
    after: Counts

    def __str__(self) -> str:
        return f"counts {self.smaller} ~ {self.larger}, asked at {self.place + 1}"

    @property
    def records(self) -> tuple[Records, Records]:
        """The two databases."""
        return records(self.smaller), records(self.larger)


def records(counts: tuple[int, ...]) -> Records:
    """Return the database with these counts at the places 0, 1, ... of a line."""
    return {"x": [value for value, count in enumerate(counts) for _ in range(count)]}


def places(universe: Universe, tau: int) -> Iterator[Step]:
    """Yield one edge for each effect that the edges of a sensitive graph have."""
    steps = universe.steps(tau)
    for at, own in enumerate(steps.own.tolist()):
        before = int(steps.copies[at]), int(steps.neighbours[at])
        smaller, larger = (
            tuple(universe.databases[number].tolist())
            for number in (steps.smaller[at], steps.larger[at])
        )
        after = before[0] + own, before[1] + 1
        yield Step(smaller, larger, int(steps.place[at]), before, after)


def _question(place: int, epsilon: Fraction, *, radius: int, **given: Any) -> Identify:
    model = DistanceAnomaly(beta=3, radius=radius)
    return Identify({"x": place}, model=model, epsilon=epsilon, **given)


def _yes(question: Identify, counts: Counts) -> float:
    wrong = question.wrong(*counts)
    return 1 - wrong if question.of_counts(*counts)[0] else wrong


def _laws(
    make: Make,
    epsilon: Fraction,
    step: Step,
    factor: Fraction,
    seen: Callable[[Counts], Counts] = lambda counts: counts,
) -> Laws:
    question = make(step.place, epsilon * factor)
    p, q = (_yes(question, seen(counts)) for counts in (step.before, step.after))
    return {True: p, False: 1 - p}, {True: q, False: 1 - q}


def _case(
    name: str, epsilon: Fraction, *, radius: int = 1, same: bool = False, **given: Any
) -> Case:
    """The worst edge; with ``same``, the worst one that leaves the true answer as it is."""
    make: Make = partial(_question, radius=radius, **given)
    example = make(0, epsilon)
    laws = partial(_laws, make, epsilon)
    steps = [
        step
        for step in places(line(3, radius, 4), example.tau)
        if not same or _truth(step.before) == _truth(step.after)
    ]

    def asked(step: Step) -> Asked:
        return Asked(make(step.place, epsilon), CARD, step.records)

    return worst_case(name, steps, laws, asked, most=30_000)


def _truth(counts: Counts) -> bool:
    return is_anomaly(*counts, beta=3)


# Other models, on databases of a small universe

_WARDS = Card(
    "wards", (Column("x", "integer", 0, 9), Column("ward", "category", categories=("A", "B")))
)
_TWO = tuple({"x": x, "ward": ward} for ward in "AB" for x in (0, 1))
_THREE = tuple({"x": x} for x in range(3))
MODELS: tuple[tuple[CountingModel, Card, tuple[dict[str, Any], ...]], ...] = (
    (KernelAnomaly(most=5, radii=[1, 2], heights=[2, 1]), CARD, _THREE),
    (KthNeighbourAnomaly(nth=3, radius=1), CARD, _THREE),
    (ContextualAnomaly(beta=2, radius=1, group=["ward"]), _WARDS, _TWO),
    (SimilarityAnomaly(beta=3, radius=1, weights={"x": 0.5, "ward": 0.75}), _WARDS, _TWO),
)


@dataclass(frozen=True)
class Pair:
    """Two databases that differ in one covered record, and the record that is asked about."""

    without: tuple[Any, ...]
    present: tuple[Any, ...]
    about: Any

    def __str__(self) -> str:
        return f"{self.without} ~ {self.present}, asked about {self.about}"

    @property
    def records(self) -> tuple[Records, Records]:
        """The two databases, column by column."""

        def columns(rows: tuple[Any, ...]) -> Records:
            names = enumerate(self.about._fields)
            return {name: [row[at] for row in rows] for at, name in names}

        return both(columns, (self.without, self.present))


def _model_case(
    model: CountingModel, card: Card, universe: tuple[dict[str, Any], ...], epsilon: Fraction
) -> Case:
    row = record_type(sorted(universe[0]))
    graph = DatabaseGraph([row(**record) for record in universe], 6)

    def make(about: Any, price: Fraction) -> Identify:
        return Identify(about._asdict(), model=model, k=1, epsilon=price)

    def laws(pair: Pair, factor: Fraction) -> Laws:
        question = make(pair.about, epsilon * factor)
        rows = pair.without, pair.present
        return both(lambda records: _law(question, records, pair.about), rows)

    def asked(pair: Pair) -> Asked:
        return Asked(make(pair.about, epsilon), card, pair.records)

    pairs = [
        Pair(graph.records(a), graph.records(b), about)
        for index, (smaller, larger) in enumerate(graph.all_pairs)
        for a, b in zip(smaller.tolist(), larger.tolist(), strict=True)
        if model.sensitive(list(graph.records(b)), graph.universe[index], 1)
        for about in graph.universe
    ]
    return worst_case(f"{model.kind}, k = 1", pairs, laws, asked)


def _law(question: Identify, rows: Database, about: Any) -> dict[bool, float]:
    truth, bound = question.of_records(list(rows), about)
    wrong = question.chance_of_error((truth, bound), 1)
    return {truth: 1 - wrong, not truth: wrong}


# Mutants


def _without_itself(counts: Counts) -> Counts:
    copies, neighbours = counts
    return copies, max(copies, neighbours - (1 if copies else 0))


def _left_out() -> Case:
    """Neighbours counted without the record itself, as a careless reading of the paper would."""
    epsilon = Fraction(1)
    make: Make = partial(_question, radius=1, k=1)
    laws = partial(_laws, make, epsilon, seen=_without_itself)

    def asked(step: Step) -> Asked:
        question = make(step.place, epsilon)
        honest = {question.of_counts(*seen): seen for seen in (step.before, step.after)}

        def spoiled(facts: PlaceFacts) -> PlaceFacts:
            counts = honest[facts.exact_truth, facts.exact_bound]
            truth, bound = question.of_counts(*_without_itself(counts))
            return replace(facts, exact_truth=truth, exact_bound=bound)

        return Asked(question, CARD, step.records, spoiled=spoiled)

    steps = places(line(3, 1, 4), make(0, epsilon).tau)
    return worst_case("mutant: the record itself not counted", steps, laws, asked)


def cases() -> Iterator[Case]:
    yield _case("sensitive, k = 1", Fraction(2), k=1)
    yield _case("sensitive, k = 1, the answer stays", Fraction(1), k=1, same=True)
    yield _case("sensitive, k = 2", Fraction(2), k=2)
    yield _case("sensitive, radius 0", Fraction(2), k=1, radius=0)
    yield _case("differential", Fraction(2), notion="differential")
    for model, card, universe in MODELS:
        yield _model_case(model, card, universe, Fraction(2))
    yield doubled(_case("sensitive, k = 1", Fraction(2), k=1))
    yield _left_out()
