"""Explain, audited: released contexts of two attributes, by every search and under both notions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Card, Column, read
from whitecrow.explain import Explain, Isolation
from whitecrow.explain.mechanism import ExplainFacts, gather, searched
from whitecrow.explain.unaccounted import law_of
from whitecrow_audit.audit.case import Case, Laws, both, worst_case
from whitecrow_audit.audit.shipped import Asked, Records, table
from whitecrow_audit.audit.tester import Law

CARD = Card(
    "people",
    (
        Column("a", "category", categories=("0", "1")),
        Column("b", "category", categories=("0", "1")),
        Column("z", "integer", 0, 9),
    ),
)
OWN = {"a": "0", "b": "0", "z": 6}
"""The record that is asked about; it is in no database."""

Record = tuple[int, int, int]
Database = tuple[Record, ...]
Pair = tuple[Database, Database]
Spoil = Callable[[ExplainFacts], ExplainFacts]

SEARCHES = (
    ("direct", 3, 1, ("a", "b"), 20_000),
    ("uniform", 2, 6, ("a",), 10_000),
    ("walk", 2, 1, ("a",), 25_000),
    ("dfs", 4, 1, ("a", "b"), 15_000),
    ("bfs", 4, 1, ("a", "b"), 15_000),
)
"""Each search with its ε, samples, attributes and most draws: those for which few tell much."""

FAR = tuple((a, b, 0) for a, b in itertools.product((0, 1), repeat=2))
NEAR = tuple((a, b, 6) for a, b in itertools.product((0, 1), repeat=2))


def _records(x: Database) -> Records:
    return {
        "a": [str(a) for a, _, _ in x],
        "b": [str(b) for _, b, _ in x],
        "z": [z for _, _, z in x],
    }


def _facts(question: Explain, x: Database) -> ExplainFacts:
    return gather(question, read(table(_records(x)), CARD))


def matching(question: Explain, x: Database) -> frozenset[int]:
    """Return the contexts in which the record is an outlier: what the promise is conditional on."""
    every = list(range(4))
    matches = _facts(question, x).exact_graph.match(every)
    return frozenset(context for context, fits in zip(every, matches, strict=True) if fits)


def _view(answer: Any) -> Hashable:
    if answer["context"] is None:
        return None
    return tuple((name, *values) for name, values in answer["context"].items())


@dataclass(frozen=True)
class _Asking:
    """One search, priced at an ε, with what a mutant does to its facts."""

    search: str
    epsilon: int
    notion: str = "conditional"
    spoil: Spoil | None = None
    attributes: tuple[str, ...] = ("a", "b")
    samples: int = 1

    def question(self, factor: Fraction = Fraction(1)) -> Explain:
        return Explain(
            OWN,
            metric="z",
            attributes=self.attributes,
            detector=DistanceAnomaly(1, 1.0),
            epsilon=self.epsilon * factor,
            search=self.search,
            samples=self.samples,
            notion=self.notion,
            utility=None if self.notion == "conditional" else Isolation(2),
        )

    def law(self, factor: Fraction, x: Database) -> Law:
        question = self.question(factor)
        facts = _facts(question, x)
        facts = facts if self.spoil is None else self.spoil(facts)
        law = law_of(partial(searched, question, facts))
        labels = facts.space.labels
        return {
            _view({"context": None if context is None else labels(context)}): chance
            for context, chance in law.items()
        }

    def case(self, name: str, pairs: Iterable[Pair], most: int = 20_000) -> Case:
        remembered = lru_cache(maxsize=None)(self.law)

        def laws(pair: Pair, factor: Fraction) -> Laws:
            return both(partial(remembered, factor), pair)

        def asked(pair: Pair) -> Asked:
            return Asked(self.question(), CARD, both(_records, pair), _view, self.spoil)

        def where(pair: Pair) -> str:
            return f"records (a, b, z) {pair[0]} ~ {pair[1]}"

        return worst_case(name, pairs, laws, asked, where=where, near=0.5, most=most)


def _more(x: Database, kinds: Iterable[Record]) -> Iterator[Pair]:
    return ((x, tuple(sorted((*x, record)))) for record in kinds)


def _crowds() -> Iterator[Pair]:
    """Far records, up to three of a kind, and one more: the record stays an outlier everywhere."""
    for counts in itertools.product((0, 3), repeat=3):
        x = tuple(r for r, n in zip(FAR[1:], counts, strict=True) for _ in range(n))
        yield from _more(x, FAR[1:])


def _growing() -> list[Pair]:
    """Where one attribute is asked about: more and more people with its other value."""
    return [pair for n in range(3) for pair in _more(FAR[2:3] * n, FAR[2:3])]


def _everybody() -> Iterator[Pair]:
    """Up to two records, near or far, and one more."""
    kinds = (*FAR[1:], *NEAR[:2])
    for size in range(3):
        for x in itertools.combinations_with_replacement(kinds, size):
            yield from _more(x, kinds)


def _sure(times: int, facts: ExplainFacts) -> ExplainFacts:
    return replace(facts, eta=times * facts.eta)


def cases() -> Iterator[Case]:
    for kind, epsilon, samples, attributes, most in SEARCHES:
        crowds = list(_crowds()) if len(attributes) == 2 else _growing()
        ask = _Asking(kind, epsilon, samples=samples, attributes=attributes)
        yield ask.case(f"conditional, {kind}", crowds, most=most)
        broken = replace(ask, epsilon=1, spoil=partial(_sure, 8))
        yield broken.case(f"mutant: conditional, {kind}, eight times the weight", crowds)
    ask = _Asking("direct", 2)
    question = ask.question()
    outside = [p for p in _everybody() if matching(question, p[0]) != matching(question, p[1])]
    yield ask.case("mutant: the condition left out", outside)
    everybody = list(_everybody())
    yield _Asking("direct", 4, "differential").case("unconditional, direct", everybody)
    broken = _Asking("direct", 2, "differential", partial(_sure, 4))
    yield broken.case("mutant: unconditional, four times the weight", everybody)
