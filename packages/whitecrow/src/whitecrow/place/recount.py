"""Balls in memory and what they cost together, to check what an account says of them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from whitecrow.ledger.spatial import MOST_TOUCHED
from whitecrow.place.balls import BALLS, Location, Space, space_of


class Recount:
    """The balls asked about so far and what they cost together, in memory.

    Examples
    --------
    >>> ball = {"columns": ["age"], "metric": "euclidean", "center": [30.0], "radius": 5.0}
    >>> recount, tenth = Recount(), Fraction(1, 10)
    >>> recount.add(ball, tenth), recount.add({**ball, "center": [90.0]}, tenth)
    (Fraction(1, 10), Fraction(0, 1))
    """

    def __init__(self) -> None:
        self._sheets: dict[Space, _Sheet] = {}
        self.price = Fraction(0)
        """The price of all balls so far."""

    def add(self, new: Location | None, epsilon: Fraction) -> Fraction:
        """Add one ball and return what it added to the price; one without a place costs all."""
        extra = epsilon
        if new is not None:
            extra = self._sheets.setdefault(space_of(new), _Sheet()).add(new, epsilon)
        self.price += extra
        return extra


class _Sheet:
    """The balls over one set of columns and one metric, found by the cells of a grid."""

    def __init__(self) -> None:
        self._price = Fraction(0)
        self._balls: list[tuple[Location, Fraction]] = []
        self._cells: dict[float, dict[tuple[float, float], list[int]]] = {}

    def add(self, new: Location, epsilon: Fraction) -> Fraction:
        """Add a ball; return by how much the price grew, the largest sum of ε at a point."""
        u, v, far, rounding = BALLS.keys(new)
        near = [self._balls[i] for i in self._near(u, v, far + rounding)]
        touches = BALLS.touching(new, [ball for ball, _ in near]) if near else ()
        met = [entry for entry, touching in zip(near, touches, strict=True) if touching]
        # Exact, for as many as an account looks at: what it is charged may be bounded otherwise.
        inside = BALLS.depth(new, epsilon, met, self._price, MOST_TOUCHED)
        extra = min(epsilon, max(Fraction(0), inside - self._price))
        side = _side(far)
        cells = self._cells.setdefault(side, {})
        cells.setdefault((u // side, v // side), []).append(len(self._balls))
        self._balls.append((new, epsilon))
        self._price += extra
        return extra

    def _near(self, u: float, v: float, far: float) -> list[int]:
        """The balls in cells that a ball may reach."""
        near: list[int] = []
        for side, cells in self._cells.items():
            wide = far + side
            if not wide / side < 8:  # too many cells to look into one by one
                near += [i for listed in cells.values() for i in listed]
                continue
            for a in np.arange((u - wide) // side, (u + wide) // side + 1).tolist():
                for b in np.arange((v - wide) // side, (v + wide) // side + 1).tolist():
                    near += cells.get((a, b), ())
        return near


def _side(far: float) -> float:
    """The side of the cells for balls of this reach: a power of two that is no less."""
    return float(2.0 ** max(-1000, math.frexp(far)[1])) if far < 1e300 else np.inf
