"""Spatial accounting: questions about far-apart records do not add up.

An answer of ``identify`` or ``screen`` looks only at the records inside the ball that was asked
about. So the presence of one record ``z`` costs, over any number of questions asked one after the
other, the sum of ε over the questions whose ball contains ``z``; the price of them all is the
largest such sum, the *depth* of the balls (``proof.md``, "Many questions"). Questions are public,
so the price is.

The depth is exact, up to an inclusive margin for rounding, for one column and for two columns
under ``euclidean``, ``manhattan`` and ``chebyshev``. Elsewhere, and in a plane where a ball touches
more than 512 others, it is charged for every earlier ball it touches, which is never too little.
Balls over other columns, under another metric or under another card are added up: nothing is known
of where they meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whitecrow.identify.depth import Floats, Weights, at_most, deepest, exact_in, reach, touching
from whitecrow.neighbours import Closeness

if TYPE_CHECKING:
    from whitecrow.data import Card

__all__ = ["Atlas", "ball", "batch_price", "extra_price", "location"]

Location = dict[str, Any]
"""A queried ball as JSON: columns, metric, center, radius, ranges, and a digest of the card."""

_ZERO = Fraction(0)
_CROWD = 512  # the time to find the deepest point grows with the square of this
_Place = tuple[tuple[str, ...], str, tuple[float, ...], str]


def location(question: object, card: Card) -> Location | None:
    """Return the ball a question looks at, or None for a question that is not about one place."""
    ball: Callable[[Card], Location] | None = getattr(question, "location", None)
    return None if ball is None else ball(card)


def ball(closeness: Closeness, center: list[float], card: Card) -> Location:
    """Return a queried ball as JSON, with a digest of what the card says of records.

    Another card puts the same person elsewhere (another order of categories, another clip, other
    records over the contribution bound), so balls under different cards are never told apart.
    """
    return {
        "card": card.fingerprint(),
        "columns": list(closeness.columns),
        "metric": closeness.metric,
        "ranges": list(closeness.ranges),
        "center": center,
        "radius": closeness.radius,
    }


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
    atlas = Atlas()
    atlas.add_all(zip(locations, epsilons, strict=True))
    return atlas.price


def extra_price(
    earlier: Sequence[tuple[Location | None, Fraction]], new: Location | None, epsilon: Fraction
) -> Fraction:
    """Return what one more ball adds to the price of the earlier ones."""
    atlas = Atlas()
    atlas.add_all(earlier)
    return atlas.extra(new, epsilon)


class Atlas:
    """The balls asked about so far and what they cost together.

    Examples
    --------
    >>> ball = {"columns": ["age"], "metric": "euclidean", "center": [30.0], "radius": 5.0}
    >>> atlas = Atlas()
    >>> atlas.add(ball, Fraction(1, 10))
    Fraction(1, 10)
    >>> atlas.extra({**ball, "center": [90.0]}, Fraction(1, 10))
    Fraction(0, 1)
    """

    def __init__(self) -> None:
        self._sheets: dict[_Place, _Sheet] = {}
        self._elsewhere = Fraction(0)

    @property
    def price(self) -> Fraction:
        """The price of all balls so far."""
        return self._elsewhere + sum((s.price for s in self._sheets.values()), Fraction(0))

    def extra(self, new: Location | None, epsilon: Fraction) -> Fraction:
        """Return what one more ball would add to the price."""
        if new is None:
            return epsilon
        sheet = self._sheets.get(_place(new))
        return epsilon if sheet is None else sheet.extra(new, epsilon)

    def add(self, new: Location | None, epsilon: Fraction) -> Fraction:
        """Add one ball and return what it added to the price."""
        extra = self.extra(new, epsilon)
        if new is None:
            self._elsewhere += epsilon
        else:
            sheet = self._sheets.setdefault(_place(new), _Sheet(_place(new)))
            sheet.append(new, epsilon)
            sheet.price += extra
        return extra

    def add_all(self, balls: Iterable[tuple[Location | None, Fraction]]) -> None:
        """Add many balls; where the depth is exact this is one sweep and not one for each."""
        fresh: set[_Place] = set()
        for ball, epsilon in balls:
            if ball is None or not exact_in(str(ball["metric"]), len(ball["columns"])):
                self.add(ball, epsilon)
                continue
            place = _place(ball)
            self._sheets.setdefault(place, _Sheet(place)).append(ball, epsilon)
            fresh.add(place)
        for place in fresh:
            self._sheets[place].price = self._sheets[place].depth()


class _Sheet:
    """The balls over one set of columns and one metric; arrays that double when they are full."""

    def __init__(self, place: _Place) -> None:
        self.columns, self.metric, self.ranges, _ = place
        self.price = Fraction(0)
        self._exact = exact_in(self.metric, len(self.columns))
        self._count = 0
        self._centers: Floats = np.empty((8, len(self.columns)))
        self._radii: Floats = np.empty(8)
        self._epsilons: list[Fraction] = []

    def append(self, ball: Location, epsilon: Fraction) -> None:
        """Add a ball; the price is the caller's to raise."""
        if self._count == len(self._radii):
            self._centers = np.concatenate([self._centers, np.empty_like(self._centers)])
            self._radii = np.concatenate([self._radii, np.empty_like(self._radii)])
        self._centers[self._count] = ball["center"]
        self._radii[self._count] = reach(float(ball["radius"]))
        self._epsilons.append(epsilon)
        self._count += 1

    def depth(self) -> Fraction:
        """Return the largest sum of ε over the balls that share a point."""
        everything = np.arange(self._count)
        return self._deepest(self._centers[everything], self._radii[everything], self._epsilons)

    def extra(self, new: Location, epsilon: Fraction) -> Fraction:
        """Return by how much the largest sum of ε at a point of the new ball exceeds the price."""
        center, radius = np.array(new["center"], dtype=np.float64), reach(float(new["radius"]))
        known = slice(0, self._count)
        met = np.flatnonzero(
            touching(
                self.metric, self.ranges, self._centers[known], self._radii[known], center, radius
            )
        )
        if not len(met):
            return max(_ZERO, epsilon - self.price)
        epsilons = [self._epsilons[i] for i in met]
        scale, whole = _common(epsilons)
        around = Fraction(sum(whole), scale)
        inside = epsilon + around  # never too little; exact where all of them share a point
        weighed = self._exact and (len(self.columns) == 1 or len(met) <= _CROWD)
        if weighed and inside > self.price:
            if self._is_shallow(met, center, radius, whole, (self.price - epsilon) * scale):
                return _ZERO
            # Weighing the new ball above all others together puts the deepest point inside it.
            centers = np.concatenate([self._centers[met], center[None]])
            radii = np.append(self._radii[met], radius)
            weights = [*epsilons, epsilon + around]
            inside = self._deepest(centers, radii, weights, self.price + around) - around
        return max(_ZERO, inside - self.price)

    def _is_shallow(
        self,
        met: NDArray[np.intp],
        center: Floats,
        radius: float,
        whole: Sequence[int],
        limit: Fraction,
    ) -> bool:
        """Say at little cost, for two columns, that no point of a ball is met by too many."""
        if len(self.columns) != 2:
            return False
        across, most = self._centers[met] - center, math.floor(limit)
        return at_most(self.metric, across, self._radii[met], radius, _weights(whole), most)

    def _deepest(
        self,
        centers: Floats,
        radii: Floats,
        epsilons: Sequence[Fraction],
        floor: Fraction = _ZERO,
    ) -> Fraction:
        """Return the largest sum of ε at a point; ``floor`` if it is no more."""
        scale, (least, *whole) = _common([floor, *epsilons])
        return Fraction(deepest(self.metric, centers, radii, _weights(whole), least), scale)


def _weights(whole: Sequence[int]) -> Weights:
    """Sums stay exact: Python's integers where 64 bits might not hold them."""
    return np.array(whole, dtype=np.int64 if 2 * sum(whole) < 2**63 else object)


def _common(numbers: Sequence[Fraction]) -> tuple[int, list[int]]:
    """Return a common denominator and the numerators over it."""
    scale = math.lcm(*{number.denominator for number in numbers})
    return scale, [number.numerator * (scale // number.denominator) for number in numbers]


def _place(ball: Mapping[str, Any]) -> _Place:
    return (
        tuple(ball["columns"]),
        str(ball["metric"]),
        tuple(ball.get("ranges", ())),
        str(ball.get("card", "")),
    )
