"""Accounts, audited: what several answers lose together, beside what the ledger says they cost.

The claim of a row is not a question's price but the total of the account on which all its questions
were asked. Questions about places that do not meet share a price (spatial accounting), engines
share an account, and under a card that protects people a neighbour has one person more or less.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.curator import Curator
from whitecrow.curator.opening import Opened
from whitecrow.data import Card, Column, read
from whitecrow.ledger import Ledger
from whitecrow.neighbours import open_engine
from whitecrow.neighbours.devices import NUMPY
from whitecrow.neighbours.gpu import GpuEngine
from whitecrow.place.balls import BALLS
from whitecrow.questions import type_of
from whitecrow.screen import PlaceFacts, Screen
from whitecrow_audit.audit.bounds import Claim
from whitecrow_audit.audit.case import Case, Draw, Laws, both, claim_of, worst_case
from whitecrow_audit.audit.shipped import Asked, Records, table
from whitecrow_audit.audit.tester import Law

CARD = Card("places", (Column("x", "integer", 0, 9),))
PEOPLE = Card(
    "visits",
    (Column("who", "text"), Column("x", "integer", 0, 9)),
    unit="user",
    user_column="who",
    contribution=2,
)
BETA = 3
_NUMBERS = itertools.count()


def _screen(place: int, epsilon: Fraction = Fraction(2)) -> Screen:
    return Screen({"x": place}, model=DistanceAnomaly(BETA, 1), epsilon=epsilon)


def _yes(question: Screen, neighbours: int, contribution: int = 1) -> Law:
    wrong = question.wrong(neighbours, contribution)
    yes = 1 - wrong if neighbours < BETA else wrong
    return {True: yes, False: 1 - yes}


# --- several questions on one account -------------------------------------------------------------


class _OnProcessor(Curator):
    """A curator whose engine is the code of ``gpu``, on the processor: there may be no GPU here."""

    def __init__(self, holding: Opened, **named: Any) -> None:
        dataset: Any = holding.dataset
        super().__init__(replace(holding, engine=GpuEngine(dataset, device=NUMPY)), **named)


class _Shrunken(Curator):
    """A mutant: takes a ball for its centre, so that balls that meet look disjoint."""

    def _location(self, *given: Any) -> dict[str, Any] | None:
        location = super()._location(*given)
        return None if location is None else {**location, "radius": 0.0}


@dataclass(frozen=True)
class _Batch:
    """Screens of some places, each asked by one of several curators of one account."""

    places: tuple[int, ...]
    pair: tuple[tuple[int, ...], tuple[int, ...]]
    curators: tuple[type[Curator], ...]
    accounts: int = 1

    @cached_property
    def claim(self) -> Claim:
        """What the account says of everything that was asked; of the first, if there are two."""
        opened = self._opened(self.pair[0], Ledger("sqlite://", geometry=BALLS))
        self._answers(opened)
        total = opened[0].totals().differential
        assert total is not None
        return claim_of(total)

    def _opened(self, values: tuple[int, ...], ledger: Ledger) -> list[Curator]:
        number = next(_NUMBERS)
        return [
            kind.open(
                table(_records(values)),
                card=CARD,
                ledger=ledger,
                name=f"audited account {number} {index % self.accounts}",
                budget="1000",
            )
            for index, kind in enumerate(self.curators)
        ]

    def draws(self) -> tuple[Draw, Draw]:
        """Return a way to draw all answers from each database, facts gathered once."""
        return both(self._draw, self.pair)

    def _draw(self, values: tuple[int, ...]) -> Draw:
        dataset = read(table(_records(values)), CARD)
        drawn = []
        for place, kind in zip(self.places, self.curators, strict=True):
            gpu = kind is _OnProcessor
            engine = GpuEngine(dataset, device=NUMPY) if gpu else open_engine(dataset)
            question, code = _screen(place), type_of(_screen(place))
            facts = code.gather(question, dataset, engine, None)
            drawn.append(partial(code.release, question, facts, None))
        return lambda: tuple(draw() for draw in drawn)

    def asks(self) -> tuple[Draw, Draw]:
        """Return a way to ask the curators of each database, on a fresh account each time."""
        ledger = Ledger("sqlite://", geometry=BALLS)
        return both(lambda values: partial(self._ask, values, ledger), self.pair)

    def _ask(self, values: tuple[int, ...], ledger: Ledger) -> Hashable:
        return self._answers(self._opened(values, ledger))

    def _answers(self, opened: list[Curator]) -> tuple[Hashable, ...]:
        questions = [_screen(place) for place in self.places]
        if len({*self.curators}) == 1:
            return tuple(release.answer for release in opened[0].ask_all(questions))
        return tuple(
            curator.ask(question).answer
            for curator, question in zip(opened, questions, strict=True)
        )

    def laws(self, factor: Fraction) -> Laws:
        return both(partial(self._law, factor), self.pair)

    def _law(self, factor: Fraction, values: tuple[int, ...]) -> Law:
        law: dict[tuple[bool, ...], float] = {(): 1.0}
        for place in self.places:
            near = sum(abs(value - place) <= 1 for value in values)
            answers = _yes(_screen(place, 2 * factor), near)
            law = {
                (*before, answer): p * q
                for before, p in law.items()
                for answer, q in answers.items()
            }
        return law

    def case(self, name: str) -> Case:
        places = ", ".join(map(str, self.places))
        where = f"places {places} asked of {self.pair[0]} ~ {self.pair[1]}"
        return Case("account", name, self.claim, where, self.laws, self.draws, self.asks)


def _records(values: tuple[int, ...]) -> Records:
    return {"x": list(values)}


# --- a card that protects people ------------------------------------------------------------------


def _person(neighbours: int) -> tuple[Records, Records]:
    """So many people near 0, once without and once with somebody who has two records there."""
    people: Mapping[str, list[Any]] = {
        "who": [f"p{number}" for number in range(neighbours)],
        "x": [0] * neighbours,
    }
    return people, {"who": [*people["who"], "z", "z"], "x": [*people["x"], 0, 1]}


def _person_laws(contribution: int, neighbours: int, factor: Fraction) -> Laws:
    question = _screen(0, 2 * factor)
    counts = neighbours, neighbours + 2
    return both(lambda count: _yes(question, count, contribution), counts)


def _for_one_record(facts: PlaceFacts) -> PlaceFacts:
    """Paid as if nobody had more than one record."""
    return replace(facts, step=facts.step * PEOPLE.contribution)


def _people(name: str, *, forgets: bool = False) -> Case:
    laws = partial(_person_laws, 1 if forgets else PEOPLE.contribution)
    spoiled = _for_one_record if forgets else None
    return worst_case(
        name,
        range(5),
        laws,
        lambda people: Asked(_screen(0), PEOPLE, _person(people), spoiled=spoiled),
        where="{} people near 0 ~ and somebody with two records there".format,
        mechanism="account",
    )


def cases() -> Iterator[Case]:
    fewer, more = (0, 0, 9), (0, 0, 1, 9)
    disjoint = _Batch((0, 9), (fewer, more), (Curator, Curator))
    yield disjoint.case("a batch about places apart, at one price")
    meeting = _Batch((0, 1), (fewer, more), (_Shrunken, _Shrunken))
    yield meeting.case("mutant: places that meet, taken for places apart")
    engines = _Batch((0, 1), (fewer, more), (Curator, _OnProcessor))
    yield engines.case("two engines on one account")
    alone = replace(engines, accounts=2)
    yield alone.case("mutant: an account for each engine")
    yield _people("a person with two records")
    yield _people("mutant: two records at the price of one", forgets=True)
