"""How deep a crowd of discs can be, where finding the deepest point would take long."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Weights: TypeAlias = NDArray[Any]
"""Whole numbers: 64 bits where they suffice for twice the sum, Python's own elsewhere."""

RELATIVE = 1e-9
"""By how much radii are taken too large: rounding makes them too small by less."""

_CORNER = {"euclidean": np.sqrt(2.0), "manhattan": 2.0, "chebyshev": 1.0}
"""How far a corner of a square is from its middle, for a side of 2."""

_CUTS = (16, 8)
_MOST_OPEN = 32


def no_deeper_than(
    metric: str, across: Floats, radii: Floats, radius: float, weights: Weights
) -> int:
    """Bound what balls weigh at any point of a disc at the origin, at little cost.

    The disc is cut into squares, and a square is charged for every ball it may touch; the heaviest
    squares are cut once more.
    """
    if not np.isfinite(radius):
        return int(weights.sum())
    middles, half = np.zeros((1, 2)), radius
    room = radii + 1e-12 * (radii + radius)
    least = 0  # what weighs on squares that were not cut again
    heavy = weights[:0]
    for cuts in _CUTS:
        half /= cuts
        steps = (2.0 * np.arange(cuts) - (cuts - 1)) * half
        grid = np.column_stack([np.repeat(steps, cuts), np.tile(steps, cuts)])
        middles = (middles[:, None] + grid).reshape(-1, 2)
        corner = _CORNER[metric] * half * (1.0 + RELATIVE)
        middles = middles[within(metric, middles, radius + corner)]
        heavy = _weigh(metric, middles, across, room + corner, weights)
        order = np.argsort(-heavy, kind="stable")
        if cuts == _CUTS[-1] or not len(order):
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

    found: Weights = weigh_squares(METRICS[metric], middles, across, lengths, weights)
    return found


def within(metric: str, vectors: Floats, length: Floats | float) -> NDArray[np.bool_]:
    """Say which vectors are no longer than a length; those too long for doubles count as short."""
    x, y = vectors[..., 0], vectors[..., 1]
    with np.errstate(over="ignore"):
        if metric == "euclidean":
            long, most = x * x + y * y, np.square(length)
        else:
            x, y = np.abs(x), np.abs(y)
            long, most = (x + y if metric == "manhattan" else np.maximum(x, y)), np.asarray(length)
    return np.asarray((long <= most) | ~np.isfinite(long), dtype=np.bool_)
