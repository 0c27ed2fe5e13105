"""A batch of questions about places, priced together before any of them is asked."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from whitecrow.ledger.spatial import Ball, Weighed


class Batch:
    """Balls that would come before the next one, by sheet, and the prices that they bring.

    The largest depths are kept as balls come: a long batch would else compare every pair.
    """

    def __init__(self) -> None:
        self._balls: dict[str, list[tuple[Ball, Weighed]]] = {}
        self._largest: dict[tuple[str, int, str], Fraction] = {}

    def add(self, ball: Ball, weighed: Weighed) -> None:
        """Put one more ball behind the others."""
        sheet = weighed.place[0]
        self._balls.setdefault(sheet, []).append((ball, weighed))
        for tally, depth in enumerate(weighed.depths):
            if depth is not None:
                key = (sheet, tally, ball.analyst if tally >= 2 else "")
                self._largest[key] = max(self._largest.get(key, depth), depth)

    def on(self, sheet: str) -> Sequence[tuple[Ball, Weighed]]:
        """The balls on a sheet, in their order."""
        return self._balls.get(sheet, ())

    def prices(self, sheet: str, analyst: str, kept: Sequence[Fraction]) -> list[Fraction]:
        """The prices of a sheet's four tallies, with these balls on it."""
        keys = ((sheet, tally, analyst if tally >= 2 else "") for tally in range(len(kept)))
        return [
            max(price, self._largest.get(key, price)) for key, price in zip(keys, kept, strict=True)
        ]
