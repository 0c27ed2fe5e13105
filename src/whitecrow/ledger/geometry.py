"""What the spatial index must know of balls; the ledger itself knows nothing of metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from whitecrow.ledger.account import charged, is_for_everyone
from whitecrow.privacy import Guarantee

__all__ = ["ANYWHERE", "AddUp", "Ball", "Geometry", "Location"]

Location = dict[str, Any]
Weights = Sequence[tuple[Location, Fraction]]

ANYWHERE = "anywhere"
"""The sheet of balls of which only their sum is known."""


class Geometry(Protocol):
    """What must be known of balls; the ledger itself knows nothing of metrics."""

    def sheet(self, ball: Location) -> str:
        """A name for the balls among which places are compared; other sheets add up."""

    def keys(self, ball: Location) -> tuple[float, float, float]:
        """Two coordinates and a reach: balls touch only if each differs by at most both reaches."""

    def touching(self, ball: Location, others: Sequence[Location]) -> Sequence[bool]:
        """Which of the others may share a point with a ball."""

    def depth(self, ball: Location, epsilon: Fraction, met: Weights, enough: Fraction) -> Fraction:
        """Bound the sum of epsilon at any point of a ball, over it and the balls it meets.

        A bound that is no more than ``enough`` need not be improved.
        """


class AddUp:
    """The geometry that knows no places: everything adds up, which is never too little."""

    def sheet(self, ball: Location) -> str:
        """All balls are on one sheet."""
        return ANYWHERE

    def keys(self, ball: Location) -> tuple[float, float, float]:
        """All balls are in one place."""
        return 0.0, 0.0, math.inf

    def touching(self, ball: Location, others: Sequence[Location]) -> Sequence[bool]:
        """All balls touch."""
        return [True] * len(others)

    def depth(self, ball: Location, epsilon: Fraction, met: Weights, enough: Fraction) -> Fraction:
        """All balls add up."""
        return sum((weight for _, weight in met), epsilon)


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
