"""The reference predicate compiled, and what it says about whole boxes of records."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from whitecrow.neighbours import relation, sphere
from whitecrow.neighbours._kernels.inner import inner, kernel
from whitecrow.neighbours._kernels.tables import Relation
from whitecrow.neighbours.relation import step

Floats = NDArray[np.float64]

OUTSIDE, OPEN, INSIDE = range(3)

register_jitable(step)
register_jitable(sphere.sine_cosine)
measure: Any = inner(relation.measure)
_on_sphere: Any = inner(sphere.on_sphere)


@inner
def close(relation: Relation, one: Floats, other: Floats) -> bool:
    """Say whether two records are close: the reference predicate."""
    return bool(measure(relation.kind, one, other, relation.scales) <= relation.threshold)


@inner
def compare_boxes(
    kind: int,
    threshold: float,
    scales: Floats,
    low: Floats,
    high: Floats,
    boxes: Floats,
    node: int,
) -> int:
    """Return INSIDE or OUTSIDE if the boxes settle every pair between them, else OPEN.

    The smallest and the largest difference in each column go through the same steps as a pair's;
    rounding is monotone, so no pair between the boxes can have a smaller or larger measure as
    computed. No margin is needed (`proof.md`, "Boxes").
    """
    least, most = 0.0, 0.0
    for c in range(len(scales)):
        above = boxes[node, 1, c] - low[c]
        below = high[c] - boxes[node, 0, c]
        least = step(kind, least, max(max(-above, -below), 0.0), scales[c])
        most = step(kind, most, max(above, below), scales[c])
    if least > threshold:
        return OUTSIDE
    return INSIDE if most <= threshold else OPEN


@kernel
def on_spheres(degrees: Floats) -> Floats:
    """Return latitudes and longitudes in degrees as points of the unit sphere."""
    points = np.empty((len(degrees), 3))
    for i in range(len(degrees)):
        points[i, 0], points[i, 1], points[i, 2] = _on_sphere(degrees[i, 0], degrees[i, 1])
    return points
