"""The shipped way from a question to an answer: the curator's own code, card check and samplers.

A curator answers by ``gather`` (facts, computed from the records) and ``release`` (the mechanism,
with the operating system's randomness), both found in its registry. Facts are a function of the
records, so they are gathered once for each database and every draw is one call of ``release``;
that gathering again gives the same facts is checked. :meth:`Asked.asks` goes the whole way through
:meth:`whitecrow.Curator.ask`, with a fresh account for each answer, because a curator answers a
repeated question from its store.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from whitecrow.curator import Curator
from whitecrow.data import Card, read
from whitecrow.ledger import Ledger
from whitecrow.neighbours import open_engine
from whitecrow.place.balls import BALLS
from whitecrow.question import Question
from whitecrow.questions import type_of
from whitecrow_audit.audit.bounds import Claim
from whitecrow_audit.audit.case import Case, Draw, Laws, both, claim_of

Records = Mapping[str, Sequence[Any]]
"""A database: the values of each column."""

_NUMBERS = itertools.count()
_NOTIONS = ("differential", "concentrated", "sensitive", "conditional")
_BUDGET = "1000000, 1/2"


@dataclass(frozen=True)
class Asked:
    """A question put to two neighbouring databases."""

    question: Question  # what is asked
    card: Card  # the public facts, the same for both
    # Which differ in one record (or one person, if the card protects people).
    pair: tuple[Records, Records]
    # What the tester looks at: a function of the answer alone.
    view: Callable[[Any], Hashable] = lambda answer: answer
    spoiled: Callable[[Any], Any] | None = None  # for mutants: does something wrong to the facts
    # For mutants: answers instead of the shipped mechanism.
    release: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        if not _neighbours(self.pair, _unit(self.question), self.card):
            raise ValueError("the two databases must differ in one record, or one person's")

    @cached_property
    def claim(self) -> Claim:
        """What the curator would charge."""
        self.question.check(self.card)
        return claim_of(self.question.price(self.card))

    def draws(self) -> tuple[Draw, Draw]:
        """Return a way to draw an answer from each database, facts gathered once."""
        return both(self._draw, self.pair)

    def _draw(self, records: Records) -> Draw:
        dataset = read(table(records), self.card)
        engine = open_engine(dataset, "local")
        code = type_of(self.question)
        facts, again = (code.gather(self.question, dataset, engine, None) for _ in range(2))
        if not same_facts(facts, again):
            raise RuntimeError(f"{self.question.kind} gathered other facts a second time")
        facts = _remembering(facts)
        if self.spoiled is not None:
            facts = self.spoiled(facts)
        release, view = self.release or code.release, self.view
        return lambda: view(release(self.question, facts, None))

    def asks(self) -> tuple[Draw, Draw]:
        """Return a way to ask a curator of each database, on a fresh account each time."""
        ledger = Ledger("sqlite://", geometry=BALLS)
        return both(lambda records: partial(self._ask, records, ledger), self.pair)

    def case(self, name: str, pair: str, laws: Callable[[Fraction], Laws], **more: Any) -> Case:
        """Return the case of this question."""
        given = {"mechanism": self.question.kind, **more}
        return Case(
            name=name,
            claim=self.claim,
            pair=pair,
            laws=laws,
            draws=self.draws,
            asks=self.asks,
            **given,
        )

    def _ask(self, records: Records, ledger: Ledger) -> Hashable:
        curator = Curator.open(
            table(records),
            card=self.card,
            ledger=ledger,
            name=f"audit {next(_NUMBERS)}",
            policy={"notions": _NOTIONS, "unit": _unit(self.question)},
            budget=_BUDGET,
        )
        return self.view(curator.ask(self.question).answer)


def table(records: Records) -> Any:
    """Return a database as an Arrow table."""
    import pyarrow

    return pyarrow.table({name: list(values) for name, values in records.items()})


def same_facts(one: Any, other: Any) -> bool:
    """Say whether two facts, which refuse to be compared, hold the same.

    Ways to further facts (functions) are not followed: what they return is gathered by the same
    code from the same records.
    """
    if isinstance(one, FunctionType | MethodType | partial):
        return type(one) is type(other)
    if isinstance(one, np.ndarray):
        return type(other) is np.ndarray and bool(np.array_equal(one, other))
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same_facts, one, other))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(same_facts(one[key], other[key]) for key in one)
    if is_dataclass(one):
        names = [entry.name for entry in fields(one)]
    elif hasattr(one, "__dict__"):
        names = list(vars(one))
    else:
        return bool(one == other)
    return type(one) is type(other) and all(
        same_facts(getattr(one, name), getattr(other, name)) for name in names
    )


def _remembering(facts: Any) -> Any:
    """Let facts that compute further facts when asked remember them: they do not change."""
    if not hasattr(facts, "count"):
        return facts
    return replace(facts, count=lru_cache(maxsize=None)(facts.count))


def _unit(question: Question) -> str:
    return str(getattr(question, "relation", "add_remove"))


def _neighbours(pair: tuple[Records, Records], unit: str, card: Card) -> bool:
    """Say whether two databases differ by one record, added or (if that is the unit) replaced.

    Under a card that protects people: by the records of one person.
    """
    first, second = (Counter(zip(*records.values(), strict=True)) for records in pair)
    if card.user_column is not None:
        column = list(pair[0]).index(card.user_column)
        return len({row[column] for row in ((first - second) + (second - first))}) == 1
    gone, come = (first - second).total(), (second - first).total()
    return (gone, come) == (1, 1) if unit == "replace_one" else gone + come == 1
