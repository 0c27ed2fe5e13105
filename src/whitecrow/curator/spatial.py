"""Which questions look at one place only, and what the ledger must know of places."""

from __future__ import annotations

from typing import Any

from whitecrow.curator.identity import Identity
from whitecrow.data import Card
from whitecrow.place.overlap import Balls
from whitecrow.privacy import Guarantee, reading
from whitecrow.question import Question

__all__ = ["location", "new_atlas"]


new_atlas = Balls()
"""What the ledger's spatial index must know of balls."""


def location(
    question: Question, price: Guarantee, card: Card, held: Identity
) -> dict[str, Any] | None:
    """Return the ball a question looks at, or None.

    Only pure releases are located: the filter per place holds for pure epsilon
    (docs/mechanisms.md 10.2). And only balls in one database: a person whose record changes between
    two questions may lie in both. So a ball carries the revision of the data, and records that may
    change unseen have none.
    """
    ball = getattr(question, "location", None)
    if ball is None or getattr(price, "delta", None) != 0 or not held.steady:
        return None
    found: dict[str, Any] | None = ball(card)
    if found is None:
        return None
    return {**found, "card": reading(card.fingerprint(), held.revision)}
