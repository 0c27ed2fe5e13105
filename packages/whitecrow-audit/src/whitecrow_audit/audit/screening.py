"""Screening, audited: how many of many questions about one place are answered "anomaly"."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Card, Column
from whitecrow.screening import Screening
from whitecrow.screening.law import MOST_FLAGS, Law
from whitecrow.screening.mechanism import ScreeningFacts, answered
from whitecrow_audit.audit.case import Case, Laws, both
from whitecrow_audit.audit.shipped import Asked, Records

SHIPPED, BROKEN = (Fraction(4), Fraction(1, 10**4)), (Fraction(2), Fraction(1, 1000))
"""Prices at which a tenth more, and a mutant, show."""
CARD = Card("small", (Column("x", lower=0, upper=9),))
FEW, MANY = 4, 80
PAIR: tuple[Records, Records] = ({"x": [0]}, {"x": []})


def _question(asked: int, price: tuple[Fraction, Fraction]) -> Screening:
    """Ask about so many places; all of their balls hold the one record that there may be."""
    batch: list[dict[str, Any]] = [{"x": number / 100} for number in range(asked)]
    model, (epsilon, delta) = DistanceAnomaly(1, 1), price
    return Screening(batch=batch, model=model, epsilon=epsilon, delta=delta, limit=1)


def _total(answers: Sequence[bool]) -> int:
    return sum(answers)


def _laws(
    asked: int, price: tuple[Fraction, Fraction], factor: Fraction, *, forgets: bool = False
) -> Laws:
    law = Law.chosen(beta=1, epsilon=price[0] * factor, delta=price[1], limit=1)
    return both(lambda records: _totals(law, asked, records, forgets=forgets), (1, 0))


def _totals(law: Law, asked: int, records: int, *, forgets: bool) -> dict[int, float]:
    """The exact law of the number of flags; a mutant that forgets flags leaves nobody out."""
    chances = {0: 1.0}
    for _ in range(asked):
        after: dict[int, float] = {}
        for flags, chance in chances.items():
            active = records if forgets or flags < law.limit else 0
            yes = law.chance(active)
            after[flags + 1] = after.get(flags + 1, 0.0) + chance * yes
            after[flags] = after.get(flags, 0.0) + chance * (1 - yes)
        chances = after
    return chances


def _forgetful(question: Screening, facts: ScreeningFacts, source: None) -> list[bool]:
    """Mutant: nobody is ever left out."""
    active, law = facts.exact_active, question.law(CARD)
    answers = answered(law, active, active.fresh(MOST_FLAGS), question.places(CARD), source)
    return [bool(answer) for answer in answers]


def cases() -> Iterator[Case]:
    asked = Asked(_question(FEW, SHIPPED), CARD, PAIR, _total)
    mutant = Asked(_question(MANY, BROKEN), CARD, PAIR, _total, release=_forgetful)
    pair = "balls around one record, and without it"
    yield asked.case("as asked", pair, partial(_laws, FEW, SHIPPED))
    laws = partial(_laws, MANY, BROKEN, forgets=True)
    yield mutant.case("mutant: flags are forgotten", pair, laws)
