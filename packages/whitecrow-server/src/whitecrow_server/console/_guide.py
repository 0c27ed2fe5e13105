"""A first question, filled in from the card, for an analyst who has asked nothing yet."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from whitecrow.card import Card
from whitecrow_server.console._site import Form

_ORDER = (
    *("learn", "screening", "screen", "count", "profile", "subspaces", "explain", "monitor"),
    *("publish", "tune", "lookahead"),
)
"""Those that protect everyone and are of use to most come first."""
_LAST = "identify"
"""Its usual answer ends the guarantee for everyone."""
_WHY = {
    "learn": "One price buys a detector. It then scores any number of records, free.",
    "screen": "Describe a record that is not in the data: would it stand out?",
    "count": "How many records have few others near them?",
    "profile": "What do the columns look like? Quantiles and histograms, under a promise.",
    "identify": "Is this record an anomaly among the others?",
}
_PRICES = ("1", "1/2", "1/4", "1/10", "1/20", "1/50", "1/100")
_SHARE = 4
"""A first question should leave three quarters of the budget, where it can."""
_COLUMNS = 3

STEPS = (
    ("describe", "Describe. It is filled in for you; change what you like."),
    ("price", "See the price and the expected error. This is free."),
    ("ask", "Ask. Only this button spends."),
)
"""The way to an answer."""


@dataclass(frozen=True)
class First:
    """A suggestion: the kind of question, why this one, and what its form holds."""

    kind: str
    why: str
    typed: Form


def by_use(kinds: Collection[str]) -> list[str]:
    """Order kinds of questions by their use; those of other packages come before the last.

    Examples
    --------
    >>> by_use(["identify", "mine", "learn"])
    ['learn', 'mine', 'identify']
    """
    place = {kind: number for number, kind in enumerate(_ORDER)}
    return sorted(kinds, key=lambda kind: (kind == _LAST, place.get(kind, len(place)), kind))


def first_question(
    card: Card, allowed: Collection[str], remaining: Mapping[str, Any]
) -> First | None:
    """Suggest a first question; None where the policy lets none of the usual ones be asked.

    Everything comes from public facts: the card's bounds, the policy, what is left.

    Examples
    --------
    >>> from whitecrow import demo
    >>> found = first_question(Card.load(demo.CARD), ["count", "learn"], {"differential": "1"})
    >>> found.kind, found.typed.one("epsilon")
    ('learn', '1/4')
    """
    kind = next((kind for kind in by_use(allowed) if kind in _WHY), None)
    if kind is None:
        return None
    left = Fraction(str(remaining.get("differential", "0")))
    price = next((one for one in _PRICES if Fraction(one) * _SHARE <= left), _PRICES[-1])
    numbers = [
        column
        for column in card.columns
        if column.type in ("number", "integer")
        and column.lower is not None
        and column.upper is not None
    ][:_COLUMNS]
    typed = {"epsilon": [price]}
    if kind == "count":
        typed["columns"] = [column.name for column in numbers]
    if kind in ("screen", "identify"):
        for column in numbers:
            middle = (float(column.lower or 0) + float(column.upper or 0)) / 2
            typed[f"record.{column.name}"] = [f"{round(middle):d}"]
    return First(kind, _WHY[kind], Form(typed))
