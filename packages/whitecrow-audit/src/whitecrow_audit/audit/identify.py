"""Identify, audited: yes or no about one record, on edges of the sensitive graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.law import is_anomaly
from whitecrow.data import Card, Column
from whitecrow.identify import Identify
from whitecrow.place.mechanism import PlaceFacts
from whitecrow_audit.audit.case import Case, Laws, broken_pair, doubled, worst_pair
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
    return {"x": [place for place, count in enumerate(counts) for _ in range(count)]}


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
    one, two = (_yes(question, seen(counts)) for counts in (step.before, step.after))
    return {True: one, False: 1 - one}, {True: two, False: 1 - two}


def _case(
    name: str, epsilon: Fraction, *, radius: int = 1, same: bool = False, **given: Any
) -> Case:
    """The worst edge; with ``same``, the worst one that leaves the true answer as it is."""
    make: Make = partial(_question, radius=radius, **given)
    example = make(0, epsilon)
    laws = partial(_laws, make, epsilon)
    claim = Asked(example, CARD, ({"x": []}, {"x": [0]})).claim
    steps = [
        step
        for step in places(line(3, radius, 4), example.tau)
        if not same or _truth(step.before) == _truth(step.after)
    ]
    step, worst = worst_pair(steps, laws, claim)
    asked = Asked(make(step.place, epsilon), CARD, step.records)
    return Case(
        "identify",
        name,
        claim,
        str(step),
        partial(laws, step),
        asked.draws,
        asked.asks,
        30_000,
        exact=worst,
    )


def _truth(counts: Counts) -> bool:
    return is_anomaly(*counts, beta=3)


# Broken twins


def _without_itself(counts: Counts) -> Counts:
    copies, neighbours = counts
    return copies, max(copies, neighbours - (1 if copies else 0))


def _left_out() -> Case:
    """Neighbours counted without the record itself, as a careless reading of the paper would."""
    epsilon = Fraction(1)
    make: Make = partial(_question, radius=1, k=1)
    laws = partial(_laws, make, epsilon, seen=_without_itself)
    question = make(0, epsilon)
    claim = Asked(question, CARD, ({"x": []}, {"x": [0]})).claim
    step, _ = broken_pair(places(line(3, 1, 4), question.tau), laws, claim)

    asked_about = make(step.place, epsilon)
    honest = {asked_about.of_counts(*seen): seen for seen in (step.before, step.after)}

    def spoiled(facts: PlaceFacts) -> PlaceFacts:
        counts = honest[facts.exact_truth, facts.exact_bound]
        truth, bound = asked_about.of_counts(*_without_itself(counts))
        return replace(facts, exact_truth=truth, exact_bound=bound)

    asked = Asked(asked_about, CARD, step.records, spoiled=spoiled)
    name = "broken twin: the record itself not counted"
    return Case("identify", name, claim, str(step), partial(laws, step), asked.draws, twin=True)


def cases() -> Iterator[Case]:
    """Yield the rows of the audit."""
    yield _case("sensitive, k = 1", Fraction(2), k=1)
    yield _case("sensitive, k = 1, the answer stays", Fraction(1), k=1, same=True)
    yield _case("sensitive, k = 2", Fraction(2), k=2)
    yield _case("sensitive, radius 0", Fraction(2), k=1, radius=0)
    yield _case("differential", Fraction(2), notion="differential")
    yield doubled(_case("sensitive, k = 1", Fraction(2), k=1))
    yield _left_out()
