"""How deep closed balls lie on top of each other: exactly, in one and two dimensions.

Radii are taken a little too large and arcs a little too long, by more than rounding can have made
them too small: a depth is never below the true one, and above it only for balls that all but touch.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours.closeness import EARTH_RADIUS_KM, on_sphere

__all__ = ["Floats", "Weights", "deepest", "exact_in", "reach", "touching"]

Floats: TypeAlias = NDArray[np.float64]
Weights: TypeAlias = NDArray[Any]
"""Whole numbers: 64 bits where they suffice for twice the sum, Python's own elsewhere."""

# Closeness is decided in double precision, so a record may count as inside a ball whose
# mathematical boundary it misses by a few units in the last place.
_RELATIVE = 1e-9
_ABSOLUTE = 1e-150
_ENDLESS = 1e150
_ON_EARTH_KM = 1e-3
_ANGLE = 1e-7


def exact_in(metric: str, width: int) -> bool:
    """Say whether :func:`deepest` knows this metric in this many columns."""
    return width <= 2 and metric in ("euclidean", "manhattan", "chebyshev")


def reach(radius: float) -> float:
    """Return a radius with its margin; squares of huge radii overflow, and all is then close."""
    return np.inf if radius > _ENDLESS else radius * (1.0 + _RELATIVE) + _ABSOLUTE


def touching(
    metric: str,
    ranges: tuple[float, ...],
    centers: Floats,
    radii: Floats,
    center: Floats,
    radius: float,
) -> NDArray[np.bool_]:
    """Say which balls may share a point with one more: centres no farther than both radii."""
    distances = _distances(metric, ranges, centers, center)
    both = radii + radius + (_ON_EARTH_KM if metric == "haversine" else 0.0)
    return np.asarray((distances <= both) | ~np.isfinite(distances), dtype=np.bool_)


def _distances(metric: str, ranges: tuple[float, ...], centers: Floats, point: Floats) -> Floats:
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


def deepest(metric: str, centers: Floats, radii: Floats, weights: Weights) -> int:
    """Return the largest total weight of balls that share a point."""
    if centers.shape[1] == 1:
        return _deepest_interval(centers[:, 0], radii, weights)
    if metric == "euclidean":
        return _deepest_disc(centers, radii, weights)
    if metric == "manhattan":  # a diamond is a square in the turned coordinates
        centers = np.column_stack([centers.sum(axis=1), centers[:, 0] - centers[:, 1]])
        radii = radii + np.spacing(np.abs(centers).max(axis=1))
    return _deepest_square(centers, radii, weights)


def _deepest_interval(centers: Floats, radii: Floats, weights: Weights) -> int:
    lows = np.nextafter(centers - radii, -np.inf)
    highs = np.nextafter(centers + radii, np.inf)
    return _sweep(lows, highs, weights)


def _sweep(lows: Floats, highs: Floats, weights: Weights) -> int:
    """Return the largest total weight of closed intervals that share a point."""
    ends = np.concatenate([lows, highs])
    closing = np.repeat([0, 1], len(lows))
    order = np.lexsort((closing, ends))
    return int(np.concatenate([weights, -weights])[order].cumsum().max())


def _deepest_square(centers: Floats, radii: Floats, weights: Weights) -> int:
    """Sweep along the lower edge of each square: some deepest point lies on one."""
    lows = np.nextafter(centers - radii[:, None], -np.inf)
    highs = np.nextafter(centers + radii[:, None], np.inf)
    deepest = 0
    for edge in lows[:, 1]:
        crossed = (lows[:, 1] <= edge) & (edge <= highs[:, 1])
        if weights[crossed].sum() > deepest:
            deepest = max(deepest, _sweep(lows[crossed, 0], highs[crossed, 0], weights[crossed]))
    return deepest


def _deepest_disc(centers: Floats, radii: Floats, weights: Weights) -> int:
    """Sweep around each circle: a deepest region has a point of some circle on its border."""

    def others(i: int) -> NDArray[np.bool_]:
        """Say which discs touch disc i, itself left out."""
        near = touching("euclidean", (), centers, radii, centers[i], radii[i])
        near[i] = False
        return near

    most = np.array([weights[i] + weights[others(i)].sum() for i in range(len(centers))])
    found = 0
    for i in np.argsort(-most, kind="stable").tolist():
        if most[i] <= found:  # not even all that touch this circle would be deeper
            break
        near = others(i)
        across = centers[near] - centers[i]
        starts, ends, covering = _arcs(radii[i], radii[near], across, weights[near])
        best = _sweep(starts, ends, covering) if len(starts) else 0
        found = max(found, int(weights[i]) + best)
    return found


def _arcs(
    radius: float, radii: Floats, across: Floats, weights: Weights
) -> tuple[Floats, Floats, Weights]:
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
