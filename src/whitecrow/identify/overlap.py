"""Spatial accounting: questions about far-apart records do not add up.

An answer of ``identify`` or ``screen`` looks only at the records inside the ball that was asked
about. So the presence of one record ``z`` costs, over any number of questions asked one after the
other, the sum of ε over the questions whose ball contains ``z``; the price of them all is the
largest such sum, the *depth* of the balls (``proof.md``, "Many questions"). Questions are public,
so the price is.

The depth is exact, up to an inclusive margin for rounding, for one column and for two columns
under ``euclidean``, ``manhattan`` and ``chebyshev``. Elsewhere a new ball is charged for every
earlier ball it touches, which is never too little. Balls over other columns or another metric
are added up: nothing is known of where they meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours import Closeness
from whitecrow.neighbours.closeness import EARTH_RADIUS_KM, on_sphere

if TYPE_CHECKING:
    from whitecrow.data import Card

__all__ = ["Atlas", "ball", "batch_price", "extra_price", "location"]

Location = dict[str, Any]
"""A queried ball as JSON: ``columns``, ``metric``, ``center``, ``radius`` and ``ranges``."""

_Array = NDArray[np.float64]
_Place = tuple[tuple[str, ...], str, tuple[float, ...]]

# Inclusive margins: closeness is decided in double precision, so a record may count as inside a
# ball whose mathematical boundary it misses by a few units in the last place. They only ever
# raise a price, and only for balls that all but touch.
_RELATIVE = 1e-9
_ABSOLUTE = 1e-150
_ENDLESS = 1e150
_ON_EARTH_KM = 1e-3
_ANGLE = 1e-7


def location(question: object, card: Card) -> Location | None:
    """Return the ball a question looks at, or None for a question that is not about one place."""
    ball: Callable[[Card], Location] | None = getattr(question, "location", None)
    return None if ball is None else ball(card)


def ball(closeness: Closeness, center: list[float]) -> Location:
    """Return a queried ball as JSON."""
    return {
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
        sheet = self._sheets.get(_place(new), _EMPTY)
        return max(Fraction(0), sheet.price_inside(new, epsilon) - sheet.price)

    def add(self, new: Location | None, epsilon: Fraction) -> Fraction:
        """Add one ball and return what it added to the price."""
        extra = self.extra(new, epsilon)
        if new is None:
            self._elsewhere += epsilon
        else:
            sheet = self._sheets.setdefault(_place(new), _Sheet())
            sheet.append(new, epsilon)
            sheet.price += extra
        return extra

    def add_all(self, balls: Any) -> None:
        """Add many balls; where the depth is exact this is one sweep and not one for each."""
        touched = []
        for ball, epsilon in balls:
            if ball is None or not _exact(_place(ball)):
                self.add(ball, epsilon)
                continue
            sheet = self._sheets.setdefault(_place(ball), _Sheet())
            sheet.append(ball, epsilon)
            touched.append(sheet)
        for sheet in {id(sheet): sheet for sheet in touched}.values():
            sheet.price = sheet.depth()


class _Sheet:
    """The balls over one set of columns and one metric."""

    def __init__(self) -> None:
        self.price = Fraction(0)
        self._balls: list[Location] = []
        self._epsilons: list[Fraction] = []

    def append(self, ball: Location, epsilon: Fraction) -> None:
        self._balls.append(ball)
        self._epsilons.append(epsilon)

    def depth(self) -> Fraction:
        """Return the largest sum of ε over the balls that share a point."""
        return _deepest(_place(self._balls[0]), self._balls, self._epsilons)

    def price_inside(self, new: Location, epsilon: Fraction) -> Fraction:
        """Return the largest sum of ε at a point of the new ball, or a bound on it."""
        place = _place(new)
        met = [i for i, close in enumerate(_touching(place, self._balls, new)) if close]
        epsilons = [self._epsilons[i] for i in met]
        around = sum(epsilons, Fraction(0))
        if not _exact(place) or not met:
            return epsilon + around
        # Weighing the new ball above all others together makes the deepest point one of its own.
        balls = [*(self._balls[i] for i in met), new]
        return _deepest(place, balls, [*epsilons, epsilon + around]) - around


_EMPTY = _Sheet()


def _place(ball: Mapping[str, Any]) -> _Place:
    return tuple(ball["columns"]), str(ball["metric"]), tuple(ball.get("ranges", ()))


def _exact(place: _Place) -> bool:
    columns, metric, _ = place
    return len(columns) <= 2 and metric in ("euclidean", "manhattan", "chebyshev")


def _arrays(balls: Sequence[Location]) -> tuple[_Array, _Array]:
    centers = np.array([ball["center"] for ball in balls], dtype=np.float64)
    radii = np.array([ball["radius"] for ball in balls], dtype=np.float64)
    # Squares of larger radii overflow, and then every record counts as close.
    radii = np.where(radii > _ENDLESS, np.inf, radii * (1.0 + _RELATIVE) + _ABSOLUTE)
    return centers, radii


def _touching(place: _Place, balls: Sequence[Location], new: Location) -> NDArray[np.bool_]:
    """Say which balls may share a point with the new one: centres no farther than both radii."""
    if not balls:
        return np.zeros(0, dtype=np.bool_)
    centers, radii = _arrays([*balls, new])
    _, metric, ranges = place
    distances = _distances(metric, ranges, centers[:-1], centers[-1])
    reach = radii[:-1] + radii[-1] + (_ON_EARTH_KM if metric == "haversine" else 0.0)
    return np.asarray((distances <= reach) | ~np.isfinite(distances), dtype=np.bool_)


def _distances(metric: str, ranges: tuple[float, ...], centers: _Array, point: _Array) -> _Array:
    if metric == "haversine":
        sphere = np.array([on_sphere(*place) for place in [*centers.tolist(), point.tolist()]])
        chords = np.sqrt(((sphere[:-1] - sphere[-1]) ** 2).sum(axis=1))
        return np.asarray(2.0 * EARTH_RADIUS_KM * np.arcsin(np.minimum(1.0, chords / 2.0)))
    with np.errstate(over="ignore"):  # an infinite distance is treated as touching
        gaps = np.abs(centers - point)
        if metric == "euclidean":
            return np.asarray(np.sqrt((gaps**2).sum(axis=1)))
        if metric == "manhattan":
            return np.asarray(gaps.sum(axis=1))
    if metric == "chebyshev":
        return np.asarray(gaps.max(axis=1))
    if metric == "hamming":
        return np.asarray((gaps > 0).sum(axis=1), dtype=np.float64)
    spans = np.array(ranges)
    scaled = np.where(spans > 0, gaps / np.where(spans > 0, spans, 1.0), gaps > 0)
    return np.asarray(scaled.mean(axis=1))


def _deepest(place: _Place, balls: Sequence[Location], epsilons: Sequence[Fraction]) -> Fraction:
    """Return the exact depth of balls in one or two dimensions."""
    scale = math.lcm(*(epsilon.denominator for epsilon in epsilons))
    whole = [int(epsilon * scale) for epsilon in epsilons]
    # Sums stay exact: Python's integers where 64 bits might not hold them.
    weights = np.array(whole, dtype=np.int64 if 2 * sum(whole) < 2**63 else object)
    centers, radii = _arrays(balls)
    if centers.shape[1] == 1:
        depth = _deepest_interval(centers[:, 0], radii, weights)
    elif place[1] == "euclidean":
        depth = _deepest_disc(centers, radii, weights)
    else:
        if place[1] == "manhattan":  # a diamond is a square in the turned coordinates
            centers = np.column_stack([centers.sum(axis=1), centers[:, 0] - centers[:, 1]])
            radii = radii + np.spacing(np.abs(centers).max(axis=1))
        depth = _deepest_square(centers, radii, weights)
    return Fraction(int(depth), scale)


def _deepest_interval(centers: _Array, radii: _Array, weights: NDArray[Any]) -> int:
    lows = np.nextafter(centers - radii, -np.inf)
    highs = np.nextafter(centers + radii, np.inf)
    return _sweep(lows, highs, weights)


def _sweep(lows: _Array, highs: _Array, weights: NDArray[Any]) -> int:
    """Return the largest total weight of closed intervals that share a point."""
    ends = np.concatenate([lows, highs])
    closing = np.repeat([0, 1], len(lows))
    order = np.lexsort((closing, ends))
    return int(np.concatenate([weights, -weights])[order].cumsum().max())


def _deepest_square(centers: _Array, radii: _Array, weights: NDArray[Any]) -> int:
    """Sweep along the lower edge of each square: some deepest point lies on one."""
    lows = np.nextafter(centers - radii[:, None], -np.inf)
    highs = np.nextafter(centers + radii[:, None], np.inf)
    deepest = 0
    for edge in lows[:, 1]:
        crossed = (lows[:, 1] <= edge) & (edge <= highs[:, 1])
        if weights[crossed].sum() > deepest:
            deepest = max(deepest, _sweep(lows[crossed, 0], highs[crossed, 0], weights[crossed]))
    return deepest


def _deepest_disc(centers: _Array, radii: _Array, weights: NDArray[Any]) -> int:
    """Sweep around each circle: a deepest region has a point of some circle on its border."""
    deepest = 0
    for i in range(len(centers)):
        across = centers - centers[i]
        with np.errstate(over="ignore", invalid="ignore"):
            distances = np.hypot(across[:, 0], across[:, 1])
            near = (distances <= radii + radii[i]) | ~np.isfinite(distances)
        near[i] = False
        around = weights[near]
        if weights[i] + around.sum() <= deepest:
            continue
        starts, ends, covering = _arcs(radii[i], radii[near], across[near], around)
        best = _sweep(starts, ends, covering) if len(starts) else 0
        deepest = max(deepest, int(weights[i]) + best)
    return deepest


def _arcs(
    radius: float, radii: _Array, across: _Array, weights: NDArray[Any]
) -> tuple[_Array, _Array, NDArray[Any]]:
    """Return the arcs of one circle that the discs cover, as angles from -pi to pi, and weights.

    Arcs are never too short: each end is moved out by more than rounding can have moved it in,
    and what is too fine to compute (a circle a millionth the size of its distance) is covered.
    """
    distances = np.hypot(across[:, 0], across[:, 1])
    misses = distances + radii < radius * (1.0 - _RELATIVE)  # a disc well inside the circle
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        own, others = radius / distances, radii / distances
        cosines = (own * own + 1.0 - others * others) / (2.0 * own)
    covered = (own < 1e-6) | (distances + radius <= radii * (1.0 + _RELATIVE))
    covered |= ~np.isfinite(cosines)
    half = np.arccos(np.clip(np.where(covered, -1.0, cosines), -1.0, 1.0)) + _ANGLE
    middle = np.arctan2(across[:, 1], across[:, 0])
    kept = ~misses
    half, middle, weights = half[kept], middle[kept], weights[kept]
    whole = half >= np.pi
    starts = np.where(whole, -np.pi, middle - half)
    ends = np.where(whole, np.pi, middle + half)
    # An arc that passes the angle where -pi and pi meet is cut there in two.
    below, above = starts < -np.pi, ends > np.pi
    left, right = np.full(above.sum(), -np.pi), np.full(below.sum(), np.pi)
    return (
        np.concatenate([np.maximum(starts, -np.pi), starts[below] + 2 * np.pi, left]),
        np.concatenate([np.minimum(ends, np.pi), right, ends[above] - 2 * np.pi]),
        np.concatenate([weights, weights[below], weights[above]]),
    )
