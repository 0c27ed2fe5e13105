"""Which questions look at one place only, and who keeps the map of places."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from whitecrow.curator.identity import Identity
from whitecrow.data import Card
from whitecrow.identify.overlap import Atlas
from whitecrow.privacy import Guarantee, reading
from whitecrow.question import Question

__all__ = ["Places", "location", "new_atlas"]


class Places(Atlas):
    """The map of balls, which does not compute twice what one ball adds.

    The transaction that charges a ball asks what it adds; when its entry is read back and the ball
    goes on the map, that is known. Where balls crowd, it is also slow to compute.
    """

    def __init__(self) -> None:
        super().__init__()
        self._known: tuple[object, Fraction, Fraction] | None = None

    def extra(self, new: dict[str, Any] | None, epsilon: Fraction) -> Fraction:
        """Return what one more ball would add to the price."""
        if self._known is None or self._known[:2] != (new, epsilon):
            self._known = (new, epsilon, super().extra(new, epsilon))
        return self._known[2]

    def add(
        self, new: dict[str, Any] | None, epsilon: Fraction, extra: Fraction | None = None
    ) -> Fraction:
        """Add one ball and return what it added, which is ``extra`` where that is known."""
        if extra is not None:
            self._known = (new, epsilon, extra)
        added = super().add(new, epsilon)
        self._known = None
        return added


def new_atlas() -> Places:
    """Return an empty map of balls."""
    return Places()


def location(
    question: Question, price: Guarantee, card: Card, held: Identity
) -> dict[str, Any] | None:
    """Return the ball a question looks at, or None.

    Only pure releases are located: the filter per place holds for pure epsilon (mechanisms, 10.2).
    And only balls in one database: a person whose record changes between two questions may lie in
    both. So a ball carries the revision of the data, and records that may change unseen have none.
    """
    ball = getattr(question, "location", None)
    if ball is None or getattr(price, "delta", None) != 0 or not held.steady:
        return None
    found: dict[str, Any] | None = ball(card)
    if found is None:
        return None
    return {**found, "card": reading(card.fingerprint(), held.revision)}
