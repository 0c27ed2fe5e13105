"""Balls that were weighed: what each adds, and what a batch of them adds together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from whitecrow.ledger.account import Located, charged, is_for_everyone
from whitecrow.privacy import Guarantee

__all__ = ["Ball", "Batch", "Depths", "Location", "Place", "Weighed"]

Location = dict[str, Any]


@dataclass(frozen=True)
class Ball:
    """A located spend: where, how much, whose, and whether its promise is to everyone."""

    location: Location
    epsilon: Fraction
    analyst: str
    everyone: bool
    seq: int = 0

    @classmethod
    def of(cls, location: Location, price: Guarantee, analyst: str, seq: int = 0) -> Ball:
        """The ball of a release; only pure releases are located."""
        epsilon: Fraction = price.epsilon  # type: ignore[union-attr]
        return cls(location, charged(epsilon), analyst, is_for_everyone(price), seq)


Depths = tuple[Fraction | None, ...]
"""Of one ball on four charts: the dataset's two lines, the analyst's two lines."""


Place = tuple[str, int, float, float]
"""Where a ball is looked up: its sheet, the band of its size, and two coordinates."""


@dataclass(frozen=True)
class Weighed:
    """What one more ball adds, as of one version of its sheet.

    Parameters
    ----------
    depths : tuple
        The new ball's, on each chart; None on a differential chart if its promise is not to all.
    extra, own : Located
        What it adds to the dataset's account and to the analyst's.
    version : int
        The sheet's.
    place : tuple
        Where the ball is looked up: sheet, size and two coordinates.
    """

    depths: Depths
    extra: Located
    own: Located
    version: int
    place: Place


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
        for chart, depth in enumerate(weighed.depths):
            if depth is not None:
                key = (sheet, chart, ball.analyst if chart >= 2 else "")
                self._largest[key] = max(self._largest.get(key, depth), depth)

    def on(self, sheet: str) -> Sequence[tuple[Ball, Weighed]]:
        """The balls on a sheet, in their order."""
        return self._balls.get(sheet, ())

    def prices(self, sheet: str, analyst: str, kept: Sequence[Fraction]) -> list[Fraction]:
        """The prices of a sheet's four charts, with these balls on it."""
        keys = ((sheet, chart, analyst if chart >= 2 else "") for chart in range(len(kept)))
        return [
            max(price, self._largest.get(key, price)) for key, price in zip(keys, kept, strict=True)
        ]
