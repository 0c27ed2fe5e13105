"""Spatial accounting: questions about far-apart records do not add up.

An answer of ``identify`` or ``screen`` looks only at the records inside the ball that was asked
about. So the presence of one record ``z`` costs, over any number of questions asked one after the
other, the sum of ε over the questions whose ball contains ``z``; the price of them all is the
largest such sum, the *depth* of the balls (``identify/proof.md``, "Many questions"). Questions are
public, so the price is.

The depth is exact, up to an inclusive margin for rounding, for one column and for two columns
under ``euclidean``, ``manhattan`` and ``chebyshev``. In a plane where a ball touches more than 128
others it is bounded by cutting the ball into small squares; elsewhere a ball is charged for every
earlier ball it touches. Neither is ever too little, and neither adds more than the ball's own ε,
for one more ball deepens no point by more. Balls over other columns, under another metric or under
another card are added up: nothing is known of where they meet.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from whitecrow.neighbours import NeighbourRelation
from whitecrow.neighbours.relation import EARTH_RADIUS_KM, SCALED, on_sphere
from whitecrow.place.depth import (
    Floats,
    Weights,
    deepest,
    exact_in,
    no_deeper_than,
    reach,
    touching,
)

if TYPE_CHECKING:
    from whitecrow.data import Card

__all__ = ["Atlas", "Balls", "ball", "batch_price", "extra_price", "location"]

Location = dict[str, Any]
"""A queried ball as JSON: columns, metric, center, radius, ranges, and a digest of the card."""

_ZERO = Fraction(0)
_CROWD = 128  # the time to find the deepest point grows with the square of this
_FEW = 24
_ON_EARTH_KM = 1e-3
_Place = tuple[tuple[str, ...], str, tuple[float, ...], str]


def location(question: object, card: Card) -> Location | None:
    """Return the ball a question looks at, or None for a question that is not about one place."""
    ball: Callable[[Card], Location] | None = getattr(question, "location", None)
    return None if ball is None else ball(card)


def ball(neighbour_relation: NeighbourRelation, center: list[float], card: Card) -> Location:
    """Return a queried ball as JSON, with a digest of what the card says of records.

    Another card puts the same person elsewhere (another order of categories, another clip, other
    records over the contribution bound), so balls under different cards are never told apart.
    """
    metric, ranges = neighbour_relation.metric, list(neighbour_relation.ranges)
    if metric in SCALED:
        # Laid out, it is a ball of a metric without scales; they tell it from other such balls.
        metric, ranges = SCALED[metric], [*ranges, *map(float, neighbour_relation.levels)]
        center = neighbour_relation.layout.placed(np.array([center]))[0].tolist()
    return {
        "card": card.fingerprint(),
        "columns": list(neighbour_relation.columns),
        "metric": metric,
        "ranges": ranges,
        "center": center,
        "radius": neighbour_relation.radius,
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


class Balls:
    """What the ledger's spatial index must know of balls.

    Examples
    --------
    >>> ball = {"columns": ["age"], "metric": "euclidean", "center": [30.0], "radius": 5.0}
    >>> near, tenth = {**ball, "center": [38.0]}, Fraction(1, 10)
    >>> list(Balls().touching(ball, [near]))
    [True]
    >>> Balls().depth(ball, tenth, [(near, tenth)], Fraction(0))
    Fraction(1, 5)
    """

    def sheet(self, ball: Location) -> str:
        """Name the balls among which places are compared; the others add up."""
        return _sheet_name(_place(ball))

    def keys(self, ball: Location) -> tuple[float, float, float]:
        """Two coordinates and a reach; balls touch only if both differ by at most both reaches.

        They are projections that shorten distances, on two directions in which every column takes
        part: a column with two values only still leaves the others to tell places apart.
        """
        metric, radius = str(ball["metric"]), reach(float(ball["radius"]))
        if metric == "hamming":
            return 0.0, 0.0, np.inf
        center = np.array(ball["center"], dtype=np.float64)
        if metric == "haversine":
            center = np.array(on_sphere(*center.tolist())) * EARTH_RADIUS_KM
            radius += _ON_EARTH_KM
        elif metric not in ("euclidean", "manhattan", "chebyshev"):
            spans = np.array(ball["ranges"], dtype=np.float64) * len(center)
            center = np.where(spans > 0, center / np.where(spans > 0, spans, 1.0), 0.0)
        signs = np.where(np.arange(len(center)) % 2, -1.0, 1.0)
        longest = {"euclidean": len(center) ** 0.5, "haversine": 3**0.5, "chebyshev": len(center)}
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = center / longest.get(metric, 1.0)
            u, v = float(scaled.sum()), float((scaled * signs).sum())
        if not (np.isfinite(u) and np.isfinite(v)):
            return 0.0, 0.0, np.inf
        return u, 0.0 if len(center) == 1 else v, float(radius)

    def touching(self, ball: Location, others: Sequence[Location]) -> Sequence[bool]:
        """Say which of the others may share a point with a ball."""
        _, metric, ranges, _ = _place(ball)
        centers = np.array([one["center"] for one in others], dtype=np.float64)
        radii = np.array([reach(float(one["radius"])) for one in others])
        center = np.array(ball["center"], dtype=np.float64)
        near = touching(metric, ranges, centers, radii, center, reach(float(ball["radius"])))
        return [bool(one) for one in near]

    def depth(
        self,
        ball: Location,
        epsilon: Fraction,
        met: Sequence[tuple[Location, Fraction]],
        enough: Fraction,
    ) -> Fraction:
        """Bound the sum of ε at any point of a ball; no better than ``enough`` is needed."""
        centers = np.array([one["center"] for one, _ in met], dtype=np.float64)
        radii = np.array([reach(float(one["radius"])) for one, _ in met])
        center = np.array(ball["center"], dtype=np.float64)
        new = center, reach(float(ball["radius"]))
        return _inside(
            str(ball["metric"]), new, epsilon, centers, radii, [e for _, e in met], enough
        )

    def recount(self) -> Atlas:
        """Begin with no balls, to compute anew what they cost together."""
        return Atlas()


def _inside(
    metric: str,
    new: tuple[Floats, float],
    epsilon: Fraction,
    centers: Floats,
    radii: Floats,
    epsilons: Sequence[Fraction],
    enough: Fraction,
) -> Fraction:
    """Bound the sum of ε at a point of a new ball, over it and the balls that it touches."""
    center, radius = new
    around = sum(epsilons, _ZERO)
    inside = epsilon + around  # never too little; exact where all of them share a point
    if inside <= enough or not epsilons or not exact_in(metric, len(center)):
        return inside
    if len(center) == 2 and len(epsilons) > _CROWD:
        scale, whole = _common(epsilons)
        most = no_deeper_than(metric, centers - center, radii, radius, _weights(whole))
        return min(inside, epsilon + Fraction(most, scale))
    # Weighing the new ball above all others together puts the deepest point inside it.
    # Of a few, all is told: what is known of each makes giving one of them back exact.
    floor = enough + around if len(epsilons) > _FEW else _ZERO
    scale, (least, *whole) = _common([floor, *epsilons, inside])
    found = deepest(
        metric,
        np.concatenate([centers, center[None]]),
        np.append(radii, radius),
        _weights(whole),
        least,
    )
    return Fraction(found, scale) - around


class Atlas:
    """The balls asked about so far and what they cost together, in memory.

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
            if ball is None or not exact_in(str(ball["metric"]), len(ball["center"])):
                self.add(ball, epsilon)
                continue
            place = _place(ball)
            self._sheets.setdefault(place, _Sheet(place)).append(ball, epsilon)
            fresh.add(place)
        for place in fresh:
            self._sheets[place].price = self._sheets[place].depth()


class _Sheet:
    """The balls over one set of columns and one metric, found by the cells of a grid."""

    def __init__(self, place: _Place) -> None:
        self.columns, self.metric, self.ranges, _ = place
        self.price = Fraction(0)
        self._geometry = Balls()
        self._epsilons: list[Fraction] = []
        self._centers: list[list[float]] = []
        self._radii: list[float] = []
        self._cells: dict[float, dict[tuple[float, float], list[int]]] = {}

    def append(self, ball: Location, epsilon: Fraction) -> None:
        """Add a ball; the price is the caller's to raise."""
        u, v, far = self._geometry.keys(ball)
        side = _side(far)
        cells = self._cells.setdefault(side, {})
        cells.setdefault((u // side, v // side), []).append(len(self._epsilons))
        self._centers.append(ball["center"])
        self._radii.append(reach(float(ball["radius"])))
        self._epsilons.append(epsilon)

    def depth(self) -> Fraction:
        """Return the largest sum of ε over the balls that share a point."""
        scale, whole = _common(self._epsilons)
        centers, radii = np.array(self._centers, dtype=np.float64), np.array(self._radii)
        return Fraction(deepest(self.metric, centers, radii, _weights(whole)), scale)

    def extra(self, new: Location, epsilon: Fraction) -> Fraction:
        """Return by how much the largest sum of ε at a point of the new ball exceeds the price."""
        near = self._near(new)
        center, radius = np.array(new["center"], dtype=np.float64), reach(float(new["radius"]))
        if near:
            centers = np.array([self._centers[i] for i in near], dtype=np.float64)
            radii = np.array([self._radii[i] for i in near])
            met = np.flatnonzero(touching(self.metric, self.ranges, centers, radii, center, radius))
            epsilons = [self._epsilons[near[i]] for i in met]
            inside = _inside(
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
        u, v, far = self._geometry.keys(new)
        found: list[int] = []
        for side, cells in self._cells.items():
            wide, high = far + side + 1e-9 * abs(u), far + side + 1e-9 * abs(v)
            if not (wide + high) / side < 16:  # too many cells to look into one by one
                found += [i for listed in cells.values() for i in listed]
                continue
            for a in np.arange((u - wide) // side, (u + wide) // side + 1).tolist():
                for b in np.arange((v - high) // side, (v + high) // side + 1).tolist():
                    found += cells.get((a, b), ())
        return found


def _side(far: float) -> float:
    """The side of the cells for balls of this reach: a power of two that is no less."""
    return float(2.0 ** max(-1000, math.frexp(far)[1])) if far < 1e300 else np.inf


def _weights(whole: Sequence[int]) -> Weights:
    """Sums stay exact: Python's integers where 64 bits might not hold them."""
    return np.array(whole, dtype=np.int64 if 2 * sum(whole) < 2**63 else object)


def _common(numbers: Sequence[Fraction]) -> tuple[int, list[int]]:
    """Return a common denominator and the numerators over it."""
    scale = math.lcm(*{number.denominator for number in numbers})
    return scale, [number.numerator * (scale // number.denominator) for number in numbers]


@lru_cache(maxsize=256)
def _sheet_name(place: _Place) -> str:
    return hashlib.sha256(repr(place).encode()).hexdigest()


def _place(ball: Mapping[str, Any]) -> _Place:
    return (
        tuple(ball["columns"]),
        str(ball["metric"]),
        tuple(ball.get("ranges", ())),
        str(ball.get("card", "")),
    )
