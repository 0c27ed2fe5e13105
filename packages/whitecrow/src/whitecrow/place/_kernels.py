"""Compiled loops over many balls in a plane: the arithmetic of :mod:`whitecrow.place.balls`.

Comparisons are of the same sums and products, so they are decided alike. Angles may differ in
their last bit from numpy's; every arc is longer than it need be by far more than that.
"""

from __future__ import annotations

import math

import numpy as np

from whitecrow._arrays import Flags, Floats, Ints
from whitecrow._compiled import compiled, compiled_into

METRICS = {"euclidean": 0, "manhattan": 1, "chebyshev": 2}


@compiled(nogil=True)
def weigh_squares(
    metric: int, middles: Floats, across: Floats, lengths: Floats, weights: Ints
) -> Ints:
    """Return, for each middle, what the balls weigh that are no farther away than their length."""
    weights_of = np.zeros(len(middles), np.int64)
    for square in range(len(middles)):
        total = 0
        for disc in range(len(across)):
            x = across[disc, 0] - middles[square, 0]
            y = across[disc, 1] - middles[square, 1]
            most = lengths[disc]
            if metric == 0:
                long = x * x + y * y
                most = most * most
            elif metric == 1:
                long = abs(x) + abs(y)
            else:
                long = max(abs(x), abs(y))
            if long <= most or not math.isfinite(long):
                total += weights[disc]
        weights_of[square] = total
    return weights_of


def deepest_disc(
    centers: Floats, radii: Floats, weights: Ints, floor: int, relative: float, angle: float
) -> int:
    """Return the largest total weight of discs that share a point; ``floor`` if it is no more."""
    near, most = _touching(centers, radii, weights)
    # Here, since a compiled sort of whole numbers would be two more seconds to compile.
    order = np.argsort(-most)
    given = (centers, radii, weights, near, most, order, floor, relative, angle)
    return int(_deepest_disc(*given))


@compiled(nogil=True)
def _touching(centers: Floats, radii: Floats, weights: Ints) -> tuple[Flags, Ints]:
    """Say which discs touch, and what each weighs with all that touch it."""
    count = len(centers)
    near = np.zeros((count, count), np.bool_)
    most = weights.copy()
    for row in range(count):
        for other in range(row):
            x = centers[row, 0] - centers[other, 0]
            y = centers[row, 1] - centers[other, 1]
            distance = math.sqrt(x * x + y * y)
            if distance <= radii[row] + radii[other] or not math.isfinite(distance):
                near[row, other] = near[other, row] = True
                most[row] += weights[other]
                most[other] += weights[row]
    return near, most


@compiled(nogil=True)
def _deepest_disc(
    centers: Floats,
    radii: Floats,
    weights: Ints,
    near: Flags,
    most: Ints,
    order: Ints,
    floor: int,
    relative: float,
    angle: float,
) -> int:
    """Sweep around the circles in order, the heaviest surroundings first."""
    count = len(centers)
    lows, highs = np.empty(count), np.empty(count)
    amounts = np.empty(count, np.int64)
    deepest = floor
    for row in order:
        if most[row] <= deepest:
            break  # all that touch the other circles would not be deeper
        there, arcs = 0, 0
        for other in range(count):
            if not near[row, other]:
                continue
            x = centers[other, 0] - centers[row, 0]
            y = centers[other, 1] - centers[row, 1]
            distance = math.hypot(x, y)
            if distance + radii[other] < radii[row] * (1.0 - relative):
                continue  # well inside the circle
            half = _half_angle(distance, radii[row], radii[other], relative) + angle
            if half >= math.pi:
                there += weights[other]
                continue
            middle = math.atan2(y, x)
            start, end = middle - half, middle + half
            # An arc that passes the angle where -pi and pi meet weighs there already.
            if start < -math.pi:
                start += 2 * math.pi
                there += weights[other]
            elif end > math.pi:
                end -= 2 * math.pi
                there += weights[other]
            lows[arcs], highs[arcs], amounts[arcs] = start, end, weights[other]
            arcs += 1
        best = there + _heaviest(lows[:arcs], highs[:arcs], amounts[:arcs])
        deepest = max(deepest, weights[row] + best)
    return deepest


@compiled_into()
def _half_angle(distance: float, radius: float, other: float, relative: float) -> float:
    """Return half the arc of a circle that a disc covers; all where that is too fine to tell."""
    if distance == 0.0 or distance + radius <= other * (1.0 + relative):
        return math.pi
    own, others = radius / distance, other / distance
    if own < 1e-6:
        return math.pi
    cosine = (own * own + 1.0 - others * others) / (2.0 * own)
    if not math.isfinite(cosine):
        return math.pi
    return math.acos(min(1.0, max(-1.0, cosine)))


@compiled_into()
def _heaviest(lows: Floats, highs: Floats, weights: Ints) -> int:
    """Return the largest running weight; where one arc ends and another begins, both count."""
    first, last = np.argsort(lows), np.argsort(highs)
    total, best, begun, ended = 0, 0, 0, 0
    while begun < len(first):
        if ended == len(last) or lows[first[begun]] <= highs[last[ended]]:
            total += weights[first[begun]]
            begun += 1
            best = max(best, total)
        else:
            total -= weights[last[ended]]
            ended += 1
    return best
