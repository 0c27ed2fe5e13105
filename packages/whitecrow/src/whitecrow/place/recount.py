"""Balls in memory and what they cost together: for checks, and for the price of a batch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from whitecrow.place.balls import (
    BALLS,
    Location,
    Place,
    common,
    deepest,
    depth_inside,
    exact_in,
    place_of,
    reach,
    touching,
    weights_of,
)

_ZERO = Fraction(0)


def batch_price(locations: Sequence[Location | None], epsilons: Sequence[Fraction]) -> Fraction:
    """Return the price of asking about all of these balls, in this order.

    Examples
    --------
    >>> ball = {"columns": ["age"], "metric": "euclidean", "center": [30.0], "radius": 5.0}
    >>> far, near = {**ball, "center": [60.0]}, {**ball, "center": [38.0]}
    >>> tenth = Fraction(1, 10)
    >>> batch_price([ball, far], [tenth, tenth]), batch_price([ball, near], [tenth, tenth])
    (Fraction(1, 10), Fraction(1, 5))
    """
    recount = Recount()
    recount.add_all(zip(locations, epsilons, strict=True))
    return recount.price


class Recount:
    """The balls asked about so far and what they cost together, in memory.

    Examples
    --------
    >>> ball = {"columns": ["age"], "metric": "euclidean", "center": [30.0], "radius": 5.0}
    >>> recount = Recount()
    >>> recount.add(ball, Fraction(1, 10))
    Fraction(1, 10)
    >>> recount.extra({**ball, "center": [90.0]}, Fraction(1, 10))
    Fraction(0, 1)
    """

    def __init__(self) -> None:
        self._sheets: dict[Place, _Sheet] = {}
        self._elsewhere = Fraction(0)

    @property
    def price(self) -> Fraction:
        """The price of all balls so far."""
        return self._elsewhere + sum((s.price for s in self._sheets.values()), Fraction(0))

    def extra(self, new: Location | None, epsilon: Fraction) -> Fraction:
        """Return what one more ball would add to the price."""
        if new is None:
            return epsilon
        sheet = self._sheets.get(place_of(new))
        return epsilon if sheet is None else sheet.extra(new, epsilon)

    def add(self, new: Location | None, epsilon: Fraction) -> Fraction:
        """Add one ball and return what it added to the price."""
        extra = self.extra(new, epsilon)
        if new is None:
            self._elsewhere += epsilon
        else:
            sheet = self._sheets.setdefault(place_of(new), _Sheet(place_of(new)))
            sheet.append(new, epsilon)
            sheet.price += extra
        return extra

    def add_all(self, balls: Iterable[tuple[Location | None, Fraction]]) -> None:
        """Add many balls; where the depth is exact this is one sweep and not one for each."""
        fresh: set[Place] = set()
        for ball, epsilon in balls:
            if ball is None or not exact_in(str(ball["metric"]), len(ball["center"])):
                self.add(ball, epsilon)
                continue
            place = place_of(ball)
            self._sheets.setdefault(place, _Sheet(place)).append(ball, epsilon)
            fresh.add(place)
        for place in fresh:
            self._sheets[place].price = self._sheets[place].depth()


class _Sheet:
    """The balls over one set of columns and one metric, found by the cells of a grid."""

    def __init__(self, place: Place) -> None:
        self.columns, self.metric, self.ranges, _ = place
        self.price = Fraction(0)
        self._epsilons: list[Fraction] = []
        self._centers: list[list[float]] = []
        self._radii: list[float] = []
        self._cells: dict[float, dict[tuple[float, float], list[int]]] = {}

    def append(self, ball: Location, epsilon: Fraction) -> None:
        """Add a ball; the price is the caller's to raise."""
        u, v, far, _ = BALLS.keys(ball)
        side = _side(far)
        cells = self._cells.setdefault(side, {})
        cells.setdefault((u // side, v // side), []).append(len(self._epsilons))
        self._centers.append(ball["center"])
        self._radii.append(reach(float(ball["radius"])))
        self._epsilons.append(epsilon)

    def depth(self) -> Fraction:
        """Return the largest sum of ε over the balls that share a point."""
        scale, whole = common(self._epsilons)
        centers, radii = np.array(self._centers, dtype=np.float64), np.array(self._radii)
        return Fraction(deepest(self.metric, centers, radii, weights_of(whole)), scale)

    def extra(self, new: Location, epsilon: Fraction) -> Fraction:
        """Return by how much the largest sum of ε at a point of the new ball exceeds the price."""
        near = self._near(new)
        center, radius = np.array(new["center"], dtype=np.float64), reach(float(new["radius"]))
        if near:
            centers = np.array([self._centers[i] for i in near], dtype=np.float64)
            radii = np.array([self._radii[i] for i in near])
            met = np.flatnonzero(touching(self.metric, self.ranges, centers, radii, center, radius))
            epsilons = [self._epsilons[near[i]] for i in met]
            inside = depth_inside(
                self.metric,
                (center, radius),
                epsilon,
                centers[met],
                radii[met],
                epsilons,
                self.price,
            )
        else:
            inside = epsilon
        return min(epsilon, max(_ZERO, inside - self.price))

    def _near(self, new: Location) -> list[int]:
        """The balls in cells that the new ball may reach."""
        u, v, far, rounding = BALLS.keys(new)
        near: list[int] = []
        for side, cells in self._cells.items():
            wide = far + side + rounding
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
