"""Which questions look at one place only, and who keeps the map of places."""

from __future__ import annotations

from typing import Any

from whitecrow.data import Card
from whitecrow.ledger.atlases import Atlas
from whitecrow.privacy import Guarantee
from whitecrow.question import Question

__all__ = ["location", "new_atlas"]


def new_atlas() -> Atlas:
    """Return an empty map of balls."""
    from whitecrow.identify.overlap import Atlas as Balls

    return Balls()


def location(question: Question, price: Guarantee, card: Card) -> dict[str, Any] | None:
    """Return the ball a question looks at, or None.

    Only pure releases are located: the filter per place holds for pure epsilon (mechanisms, 10.2).
    """
    ball = getattr(question, "location", None)
    if ball is None or getattr(price, "delta", None) != 0:
        return None
    found: dict[str, Any] | None = ball(card)
    return found
