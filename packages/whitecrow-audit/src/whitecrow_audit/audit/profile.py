"""Profile, audited: released counts of a category, of a number, and of missing values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from whitecrow.data import Card, Column
from whitecrow.noise.laws import discrete_laplace_pmf
from whitecrow.profile import Profile, ProfileFacts, release
from whitecrow.profile.search import LAST_SHARE
from whitecrow_audit.audit.case import Case, Laws, doubled
from whitecrow_audit.audit.shipped import Asked, Records
from whitecrow_audit.audit.tester import Law
from whitecrow_audit.verify.tape import Silent

CARD = Card(
    "audited", (Column("ward", "category", categories=("a", "b")), Column("x", "integer", 0, 1))
)
EPSILON = Fraction(2)
FAR = 6
"""Released counts from here on, and below its negative, are not told apart."""

_SPAN = 80


def _column(answer: Any) -> dict[str, Any]:
    description = answer if isinstance(answer, dict) else answer.to_json()
    column: dict[str, Any] = description["columns"][0]
    return column


def _near(count: int) -> int:
    return max(-FAR, min(FAR, count))


def _first_count(answer: Any) -> Hashable:
    return _near(_column(answer)["counts"][0])


def _missing(answer: Any) -> Hashable:
    return _near(_column(answer)["missing"])


def _law(count: int, share: Fraction, factor: Fraction) -> Law:
    """The law of a count with the noise that a part of the price buys, in the view above."""
    scale = 1 / (EPSILON * share * factor)
    law: dict[Hashable, float] = {}
    for noise in range(-_SPAN, _SPAN + 1):
        seen = _near(count + noise)
        law[seen] = law.get(seen, 0.0) + discrete_laplace_pmf(noise, scale)
    total = sum(law.values())
    return {seen: chance / total for seen, chance in law.items()}


def _laws(counts: tuple[int, int], share: Fraction, factor: Fraction) -> Laws:
    return _law(counts[0], share, factor), _law(counts[1], share, factor)


def _case(
    name: str,
    column: str,
    pair: tuple[Records, Records],
    laws: Callable[[Fraction], Laws],
    view: Callable[[Any], Hashable],
    **broken: Any,
) -> Case:
    asked = Asked(Profile([column], epsilon=EPSILON), CARD, pair, view, **broken)
    return asked.case(name, " ~ ".join(str(list(records[column])) for records in pair), laws)


def _pair(column: str, *values: Any) -> tuple[Records, Records]:
    """Two databases: the second has one record more."""
    other = {"ward": "x", "x": "ward"}[column]
    usual = {"ward": "a", "x": 0}[other]

    def records(held: tuple[Any, ...]) -> Records:
        return {column: list(held), other: [usual] * len(held)}

    return records(values[:-1]), records(values)


# Mutants


def _exactly_missing(question: Profile, facts: ProfileFacts, source: None) -> Any:
    """Say exactly how many values are missing."""
    exact = facts.noisy_texts("ward", (), Silent()).missing
    answer = release(question, facts, source)
    return {**answer, "columns": [{**answer["columns"][0], "missing": exact}]}


def _exact_laws(factor: Fraction) -> Laws:
    return {1: 1.0}, {2: 1.0}


def _from_the_data(question: Profile, facts: ProfileFacts, source: None) -> Any:
    """Begin the first cell where the data begin."""
    exact = facts.noisy_texts("ward", ("a", "b"), Silent()).counts
    answer = release(question, facts, source)
    return {**answer, "columns": [{**answer["columns"][0], "counts": [min(exact)]}]}


def cases() -> Iterator[Case]:
    whole = partial(_laws, (1, 2), Fraction(1))
    last = partial(_laws, (1, 2), LAST_SHARE)
    gaps = _pair("ward", None, "a", None)
    ends = _pair("ward", "a", "b", "b", "a")
    category = _case(
        "a category's count", "ward", _pair("ward", "a", "b", "a"), whole, _first_count
    )
    yield category
    yield doubled(category)
    yield _case("missing values", "ward", gaps, whole, _missing)
    yield replace(
        _case("a number's count", "x", _pair("x", 0, 1, 0), last, _first_count),
        note="The rest of the price went into looks before, which this test does not see.",
    )
    name = "mutant: the exact number of missing values"
    yield _case(name, "ward", gaps, _exact_laws, _missing, release=_exactly_missing)
    name = "mutant: an end taken from the data"
    yield _case(name, "ward", ends, _exact_laws, _first_count, release=_from_the_data)
