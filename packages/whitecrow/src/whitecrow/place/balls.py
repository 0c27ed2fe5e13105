"""Balls that were asked about: which touch, and how deep they lie on top of each other.

An answer of ``identify`` or ``screen`` looks only at the records inside the ball that was asked
about. So the presence of one record ``z`` costs, over any number of questions asked one after the
other, the sum of ε over the questions whose ball contains ``z``; the price of them all is the
largest such sum, the *depth* of the balls (``identify/proof.md``, "Many questions"). Questions are
public, so the price is.

The depth is exact, up to an inclusive margin for rounding, for one column and for two columns
under ``euclidean``, ``manhattan`` and ``chebyshev``. In a plane where a ball touches more than 128
others it is bounded by cutting the ball into small squares, as it is from 25 others on where that
shows that the price stays as it is; elsewhere a ball is charged for every
earlier ball it touches. Neither is ever too little, and neither adds more than the ball's own ε,
for one more ball deepens no point by more. Balls over other columns, under another metric or under
another card are added up: nothing is known of where they meet. Radii are taken a little too large
and arcs a little too long, by more than rounding can have made them too small.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from whitecrow._arrays import Array, Flags, Floats
from whitecrow.card import Card
from whitecrow.neighbours import NeighbourRelation
from whitecrow.neighbours.relation import SCALED
from whitecrow.neighbours.sphere import EARTH_RADIUS_KM, on_sphere

if TYPE_CHECKING:
    from whitecrow.place.recount import Recount


Location = dict[str, Any]
"""A queried ball as JSON: columns, metric, center, radius, ranges, and a digest of the card."""

_ZERO = Fraction(0)
_CROWD = 128  # the time to find the deepest point grows with the square of this
_FEW = 24
"""Of no more discs numpy finds the deepest point; of more, a compiled loop that must be loaded."""
_QUICK_COMPILED = 64  # how many touching balls the compiled loop weighs in a third of a millisecond
Space = tuple[tuple[str, ...], str, tuple[float, ...], str]

# Distances are decided in double precision, so a record may count as inside a ball whose
# mathematical boundary it misses by a few units in the last place.
_ABSOLUTE = 1e-150
_ENDLESS = 1e150
_ON_EARTH_KM = 1e-3
_AT_LEAST_A_GAP = ("euclidean", "manhattan", "chebyshev")
_ANGLE = 1e-7
_NOWHERE = (0.0, 0.0, math.inf, 0.0)  # the keys of a ball that may touch every other


def ball(neighbour_relation: NeighbourRelation, center: list[float], card: Card) -> Location:
    """Return a queried ball as JSON, with a digest of what the card says of records.

    Another card puts the same person elsewhere (another order of categories, another clip, other
    records over the contribution bound), so balls under different cards are never told apart.
    """
    metric, ranges = neighbour_relation.metric, list(neighbour_relation.ranges)
    if metric in SCALED:
        # Laid out, it is a ball of a metric without scales; they tell it from other such balls.
        metric, ranges = SCALED[metric], [*ranges, *map(float, neighbour_relation.levels)]
        center = neighbour_relation.form().placed(np.array([center]))[0].tolist()
    return {
        "card": card.fingerprint(),
        "columns": list(neighbour_relation.columns),
        "metric": metric,
        "ranges": ranges,
        "center": center,
        "radius": neighbour_relation.radius,
    }


class Balls:
    """What the ledger's spatial index must know of balls.

    Of at most ``few`` discs numpy finds the deepest point. A compiled loop is quicker for any
    number, once it is loaded: a service loads it when it starts.
    """

    def __init__(self, few: int = _FEW) -> None:
        self._few = few
        self.quick = _FEW if few >= _FEW else _QUICK_COMPILED

    def load(self) -> None:
        """Load what is compiled, so that no transaction waits for it."""
        ball = {"columns": ["a", "b"], "metric": "euclidean", "center": [0.0, 0.0], "radius": 1.0}
        many = max(self._few, _FEW) + 1
        self.depth(ball, Fraction(1), [(ball, Fraction(1))] * many, _ZERO)

    def sheet(self, ball: Location) -> str:
        """Name the balls among which places are compared; the others add up."""
        return _sheet_name(space_of(ball))

    def keys(self, ball: Location) -> tuple[float, float, float, float]:
        """Two coordinates, a reach, and how far rounding may move them.

        Projections shorten distances; every column takes part in both, so that one with two values
        only leaves the others to tell places apart. Where columns cancel, rounding is far more than
        what is left of the sum: it goes with the sum of their sizes.
        """
        metric, radius = str(ball["metric"]), reach(float(ball["radius"]))
        if metric == "hamming":
            return _NOWHERE
        width = len(ball["center"])
        longest = {"euclidean": width**0.5, "haversine": 3**0.5, "chebyshev": width}
        if metric in _AT_LEAST_A_GAP and width < _UNROLLED:
            return _projected([x / longest.get(metric, 1.0) for x in ball["center"]], radius)
        center = np.array(ball["center"], dtype=np.float64)
        if metric == "haversine":
            center = np.array(on_sphere(*center.tolist())) * EARTH_RADIUS_KM
            radius += _ON_EARTH_KM
        elif metric not in _AT_LEAST_A_GAP:
            spans = np.array(ball["ranges"], dtype=np.float64) * len(center)
            center = np.where(spans > 0, center / np.where(spans > 0, spans, 1.0), 0.0)
        signs = np.where(np.arange(len(center)) % 2, -1.0, 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = center / longest.get(metric, 1.0)
            u, v, size = scaled.sum(), (scaled * signs).sum(), np.abs(scaled).sum()
        if not (np.isfinite(u) and np.isfinite(v)):
            return _NOWHERE
        high = 0.0 if len(center) == 1 else float(v)
        return float(u), high, float(radius), 1e-9 * float(size)

    def touching(self, ball: Location, others: Sequence[Location]) -> Sequence[bool]:
        """Say which of the others may share a point with a ball: no farther than both radii."""
        _, metric, ranges, _ = space_of(ball)
        (center, radius), (centers, radii) = _array(ball), _arrays(others)
        both = radii + radius + (_ON_EARTH_KM if metric == "haversine" else 0.0)
        touches = np.ones(len(centers), dtype=np.bool_)
        if metric in _AT_LEAST_A_GAP:  # in one column: most balls are out of reach by the first
            touches = np.abs(centers[:, 0] - center[0]) <= both
        left = np.flatnonzero(touches)
        if len(left):
            distances = _distances(metric, ranges, centers[left], center)
            touches[left] = (distances <= both[left]) | ~np.isfinite(distances)
        listed: list[bool] = touches.tolist()
        return listed

    def depth(
        self,
        ball: Location,
        epsilon: Fraction,
        met: Sequence[tuple[Location, Fraction]],
        enough: Fraction,
        crowd: int = _CROWD,
    ) -> Fraction:
        """Bound the sum of ε at a point of a ball, over it and the balls that it touches.

        No better than ``enough`` is needed. More balls than a ``crowd`` in a plane are not weighed
        exactly.
        """
        metric, (center, radius) = str(ball["metric"]), _array(ball)
        scale, (own, least, *whole) = common([epsilon, enough, *(each for _, each in met)])
        around = sum(whole)
        inside = own + around  # never too little; exact where all of them share a point
        exact = len(center) <= 2 and metric in _AT_LEAST_A_GAP  # then `deepest` knows the metric
        if inside <= least or not whole or not exact:
            return Fraction(inside, scale)
        centers, radii = _arrays([other for other, _ in met])
        if len(center) == 2 and len(whole) > _FEW:
            # Coarse squares tell of most balls that no point of theirs is the deepest of all.
            cuts, given = (_CUTS if len(whole) > crowd else _CUTS[:1]), weights_of(whole)
            rest = least - own
            most = no_deeper_than(metric, centers - center, radii, radius, given, rest, cuts)
            if most <= rest or len(whole) > crowd:
                return Fraction(min(inside, own + most), scale)
        # Weighing the new ball above all others together puts the deepest point inside it.
        # Of a few, all is told: what is known of each makes giving one of them back exact.
        floor = least + around if len(whole) > _FEW else 0
        centers, radii = np.concatenate([centers, center[None]]), np.append(radii, radius)
        depth = deepest(metric, centers, radii, weights_of([*whole, inside]), floor, self._few)
        return Fraction(depth - around, scale)

    def recount(self) -> Recount:
        """Begin with no balls, to compute anew what they cost together."""
        from whitecrow.place.recount import Recount  # which is made of what is below

        return Recount()


_UNROLLED = 8  # from so many numbers on numpy adds in another order than one after the other


def _projected(center: list[float], radius: float) -> tuple[float, float, float, float]:
    """The keys of a ball of few columns: the same doubles as those of numpy, sooner."""
    u = v = center[0]
    size = abs(u)
    sign = -1.0
    for coordinate in center[1:]:
        u, v, size, sign = u + coordinate, v + sign * coordinate, size + abs(coordinate), -sign
    if not (math.isfinite(u) and math.isfinite(v)):
        return _NOWHERE
    return u, 0.0 if len(center) == 1 else v, radius, 1e-9 * size


BALLS = Balls()
"""What a ledger with spatial accounting is given."""


def _array(ball: Location) -> tuple[Floats, float]:
    return np.array(ball["center"], dtype=np.float64), reach(float(ball["radius"]))


def _arrays(balls: Sequence[Location]) -> tuple[Floats, Floats]:
    centers = np.array([entry["center"] for entry in balls], dtype=np.float64)
    return centers, np.array([reach(float(entry["radius"])) for entry in balls])


def weights_of(whole: Sequence[int]) -> Weights:
    """Sums stay exact: Python's integers where 64 bits might not hold them."""
    return np.array(whole, dtype=np.int64 if 2 * sum(whole) < 2**63 else object)


def common(numbers: Sequence[Fraction]) -> tuple[int, list[int]]:
    """Return a common denominator and the numerators over it."""
    scale = math.lcm(*{number.denominator for number in numbers})
    return scale, [number.numerator * (scale // number.denominator) for number in numbers]


@lru_cache(maxsize=256)
def _sheet_name(space: Space) -> str:
    return hashlib.sha256(repr(space).encode()).hexdigest()


def space_of(ball: Mapping[str, Any]) -> Space:
    return (
        tuple(ball["columns"]),
        str(ball["metric"]),
        tuple(ball.get("ranges", ())),
        str(ball.get("card", "")),
    )


def reach(radius: float) -> float:
    """Return a radius with its margin; squares of huge radii overflow, and all is then close."""
    return np.inf if radius > _ENDLESS else radius * (1.0 + RELATIVE) + _ABSOLUTE


def _distances(metric: str, ranges: tuple[float, ...], centers: Floats, point: Floats) -> Floats:
    if metric == "haversine":
        sphere = np.array([on_sphere(*pair) for pair in [*centers.tolist(), point.tolist()]])
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


def deepest(
    metric: str, centers: Floats, radii: Floats, weights: Weights, floor: int = 0, few: int = _FEW
) -> int:
    """Return the largest total weight of balls that share a point; ``floor`` if it is no more."""
    if centers.shape[1] == 1:
        lows = np.nextafter(centers[:, 0] - radii, -np.inf)
        highs = np.nextafter(centers[:, 0] + radii, np.inf)
        return max(floor, int(_sweep(lows[None], highs[None], weights[None])[0]))
    if metric == "euclidean":
        return _deepest_disc(centers, radii, weights, floor, few)
    if metric == "manhattan":  # a diamond is a square in the turned coordinates
        centers = np.column_stack([centers.sum(axis=1), centers[:, 0] - centers[:, 1]])
        radii = radii + np.spacing(np.abs(centers).max(axis=1))
    return _deepest_square(centers, radii, weights, floor)


def _sweep(lows: Floats, highs: Floats, weights: Weights) -> Weights:
    """Return, for each row, the largest total weight of closed intervals that share a point."""
    ends = np.concatenate([lows, highs], axis=1)
    # Stable: where one interval ends and another begins, the beginning comes first.
    order = np.argsort(ends, axis=1, kind="stable")
    steps = np.take_along_axis(np.concatenate([weights, -weights], axis=1), order, axis=1)
    most: Weights = steps.cumsum(axis=1).max(axis=1)
    return most


def _deepest_square(centers: Floats, radii: Floats, weights: Weights, floor: int) -> int:
    """Sweep along the lower edge of each square: some deepest point lies on one."""
    lows = np.nextafter(centers - radii[:, None], -np.inf)
    highs = np.nextafter(centers + radii[:, None], np.inf)
    deepest = floor
    for edge in lows[:, 1]:
        crossed = (lows[:, 1] <= edge) & (edge <= highs[:, 1])
        if weights[crossed].sum() > deepest:
            left, right = lows[crossed, 0], highs[crossed, 0]
            deepest = max(deepest, int(_sweep(left[None], right[None], weights[crossed][None])[0]))
    return deepest


_AT_ONCE = 16
"""How many circles are swept together: enough to keep numpy busy, few enough to stop early."""

_PAIRS = 2**20

_MOST_COMPILED = 4096
"""The compiled sweep holds all pairs; of a few discs numpy is done before it is loaded."""


def _deepest_disc(centers: Floats, radii: Floats, weights: Weights, floor: int, few: int) -> int:
    """Sweep around each circle: a deepest region has a point of some circle on its border."""
    count = len(centers)
    if few < count <= _MOST_COMPILED and weights.dtype != object:
        from whitecrow.place._kernels import deepest_disc

        return int(deepest_disc(centers, radii, weights, floor, RELATIVE, _ANGLE))

    def touched(rows: NDArray[np.intp]) -> Flags:
        """Say which discs touch these discs, themselves left out."""
        gaps = centers[rows, None] - centers
        with np.errstate(over="ignore"):
            distances = np.sqrt(gaps[..., 0] ** 2 + gaps[..., 1] ** 2)
        near = (distances <= radii[rows, None] + radii) | ~np.isfinite(distances)
        near[np.arange(len(rows)), rows] = False
        return near

    steps = max(1, _PAIRS // count)
    parts = np.split(np.arange(count), np.arange(steps, count, steps))
    around = [np.where(touched(rows), weights, 0).sum(axis=1) for rows in parts]
    most = np.concatenate(around) + weights
    order = np.argsort(-most, kind="stable")
    deepest = floor
    for start in range(0, count, _AT_ONCE):
        rows = order[start : start + _AT_ONCE]
        rows = rows[most[rows] > deepest]  # all that touch the other circles would not be deeper
        if not len(rows):
            break
        near = touched(rows)
        columns = np.flatnonzero(near.any(axis=0))
        best = _around(centers, radii, weights, rows, columns, near[:, columns])
        deepest = max(deepest, int((weights[rows] + best).max()))
    return deepest


def _around(
    centers: Floats,
    radii: Floats,
    weights: Weights,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    near: Flags,
) -> Weights:
    """Return, for each disc of the rows, the most that discs of the columns weigh on its circle.

    Arcs are never too short: each end is moved out by more than rounding can have moved it in,
    and what is too fine to compute (a circle a millionth the size of its distance) is covered.
    """
    if not len(columns):
        return weights[rows] * 0
    across = centers[columns] - centers[rows, None]
    radius, other = radii[rows, None], radii[columns]
    distances = np.hypot(across[..., 0], across[..., 1])
    misses = distances + other < radius * (1.0 - RELATIVE)  # a disc well inside the circle
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        own, others = radius / distances, other / distances
        cosines = (own * own + 1.0 - others * others) / (2.0 * own)
    covered = (own < 1e-6) | (distances + radius <= other * (1.0 + RELATIVE))
    covered |= ~np.isfinite(cosines)
    half = np.arccos(np.clip(np.where(covered, -1.0, cosines), -1.0, 1.0)) + _ANGLE
    middle = np.arctan2(across[..., 1], across[..., 0])
    whole = half >= np.pi
    covering = np.where(near & ~misses, weights[columns], 0)
    starts, ends = middle - half, middle + half
    below, above = starts < -np.pi, ends > np.pi
    # An arc that passes the angle where -pi and pi meet weighs there already, until it ends.
    there: Weights = np.where(whole | below | above, covering, 0).sum(axis=1)
    passing = _sweep(
        np.where(below, starts + 2 * np.pi, starts),
        np.where(above, ends - 2 * np.pi, ends),
        np.where(whole, 0, covering),
    )
    return there + np.maximum(passing, 0)


Weights: TypeAlias = Array
"""Whole numbers: 64 bits where they suffice for twice the sum, Python's own elsewhere."""

RELATIVE = 1e-9
"""By how much radii are taken too large: rounding makes them too small by less."""

_CORNER = {"euclidean": np.sqrt(2.0), "manhattan": 2.0, "chebyshev": 1.0}
"""How far a corner of a square is from its middle, for a side of 2."""

_CUTS = (16, 8)
_MOST_OPEN = 32


def no_deeper_than(
    metric: str,
    across: Floats,
    radii: Floats,
    radius: float,
    weights: Weights,
    enough: int = 0,
    all_cuts: tuple[int, ...] = _CUTS,
) -> int:
    """Bound what balls weigh at any point of a disc at the origin, at little cost.

    The disc is cut into squares, and a square is charged for every ball it may touch; the heaviest
    squares are cut once more, unless they weigh no more than ``enough``.
    """
    if not np.isfinite(radius):
        return int(weights.sum())
    middles, half = np.zeros((1, 2)), radius
    room = radii + 1e-12 * (radii + radius)
    least = 0  # what weighs on squares that were not cut again
    heavy = weights[:0]
    for cuts in all_cuts:
        half /= cuts
        steps = (2.0 * np.arange(cuts) - (cuts - 1)) * half
        grid = np.column_stack([np.repeat(steps, cuts), np.tile(steps, cuts)])
        middles = (middles[:, None] + grid).reshape(-1, 2)
        corner = _CORNER[metric] * half * (1.0 + RELATIVE)
        middles = middles[within(metric, middles, radius + corner)]
        heavy = _weigh(metric, middles, across, room + corner, weights)
        order = np.argsort(-heavy, kind="stable")
        if cuts == all_cuts[-1] or not len(order) or heavy[order[0]] <= enough:
            break
        if len(order) > _MOST_OPEN:
            least = int(heavy[order[_MOST_OPEN]])
        middles = middles[order[:_MOST_OPEN]]
    return max(least, int(heavy.max()) if len(heavy) else 0)


def _weigh(
    metric: str, middles: Floats, across: Floats, lengths: Floats, weights: Weights
) -> Weights:
    """What weighs on each middle: the balls that are no farther away than their length."""
    if weights.dtype == object:  # more than 64 bits hold
        touched: Weights = within(metric, across - middles[:, None], lengths)
        return touched @ weights
    from whitecrow.place._kernels import METRICS, weigh_squares

    weights_of: Weights = weigh_squares(METRICS[metric], middles, across, lengths, weights)
    return weights_of


def within(metric: str, vectors: Floats, length: Floats | float) -> Flags:
    """Say which vectors are no longer than a length; those too long for doubles count as short."""
    x, y = vectors[..., 0], vectors[..., 1]
    with np.errstate(over="ignore"):
        if metric == "euclidean":
            long, most = x * x + y * y, np.square(length)
        else:
            x, y = np.abs(x), np.abs(y)
            long, most = (x + y if metric == "manhattan" else np.maximum(x, y)), np.asarray(length)
    return np.asarray((long <= most) | ~np.isfinite(long), dtype=np.bool_)
