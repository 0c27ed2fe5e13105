"""The deepest point of balls, exactly: along a line, of squares, and of discs in a plane."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whitecrow.place.crowds import RELATIVE, Floats, Weights

__all__ = ["FEW", "deepest"]

FEW = 24
"""Of no more discs numpy finds the deepest point; of more, a compiled loop that must be loaded."""
_ANGLE = 1e-7


def deepest(
    metric: str,
    centers: Floats,
    radii: Floats,
    weights: Weights,
    floor: int = 0,
    *,
    few: int = FEW,
) -> int:
    """Return the largest total weight of balls that share a point; ``floor`` if it is no more."""
    if centers.shape[1] == 1:
        return max(floor, _deepest_interval(centers[:, 0], radii, weights))
    if metric == "euclidean":
        return _deepest_disc(centers, radii, weights, floor, few)
    if metric == "manhattan":  # a diamond is a square in the turned coordinates
        centers = np.column_stack([centers.sum(axis=1), centers[:, 0] - centers[:, 1]])
        radii = radii + np.spacing(np.abs(centers).max(axis=1))
    return _deepest_square(centers, radii, weights, floor)


def _deepest_interval(centers: Floats, radii: Floats, weights: Weights) -> int:
    lows = np.nextafter(centers - radii, -np.inf)
    highs = np.nextafter(centers + radii, np.inf)
    return int(_sweep(lows[None], highs[None], weights[None])[0])


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
    found = floor
    for edge in lows[:, 1]:
        crossed = (lows[:, 1] <= edge) & (edge <= highs[:, 1])
        if weights[crossed].sum() > found:
            left, right = lows[crossed, 0], highs[crossed, 0]
            found = max(found, int(_sweep(left[None], right[None], weights[crossed][None])[0]))
    return found


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

    def touched(rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Say which discs touch these discs, themselves left out."""
        gaps = centers[rows, None] - centers
        with np.errstate(over="ignore"):
            distances = np.sqrt(gaps[..., 0] ** 2 + gaps[..., 1] ** 2)
        near = (distances <= radii[rows, None] + radii) | ~np.isfinite(distances)
        near[np.arange(len(rows)), rows] = False
        return near

    steps = max(1, _PAIRS // count)
    most = np.concatenate(
        [
            np.where(touched(rows), weights, 0).sum(axis=1)
            for rows in np.split(np.arange(count), np.arange(steps, count, steps))
        ]
    )
    most += weights
    order = np.argsort(-most, kind="stable")
    found = floor
    for start in range(0, count, _AT_ONCE):
        rows = order[start : start + _AT_ONCE]
        rows = rows[most[rows] > found]  # all that touch the other circles would not be deeper
        if not len(rows):
            break
        near = touched(rows)
        columns = np.flatnonzero(near.any(axis=0))
        best = _around(centers, radii, weights, rows, columns, near[:, columns])
        found = max(found, int((weights[rows] + best).max()))
    return found


def _around(
    centers: Floats,
    radii: Floats,
    weights: Weights,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    near: NDArray[np.bool_],
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
    kept = np.where(near & ~misses, weights[columns], 0)
    starts, ends = middle - half, middle + half
    below, above = starts < -np.pi, ends > np.pi
    # An arc that passes the angle where -pi and pi meet weighs there already, until it ends.
    there: Weights = np.where(whole | below | above, kept, 0).sum(axis=1)
    passing = _sweep(
        np.where(below, starts + 2 * np.pi, starts),
        np.where(above, ends - 2 * np.pi, ends),
        np.where(whole, 0, kept),
    )
    return there + np.maximum(passing, 0)
