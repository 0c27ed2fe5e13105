"""The reference predicate compiled."""

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

register_jitable(step)
register_jitable(sphere.sine_cosine)
measure: Any = inner(relation.measure)
_on_sphere: Any = inner(sphere.on_sphere)


@inner
def close(relation: Relation, one: Floats, other: Floats) -> bool:
    """Say whether two records are close: the reference predicate."""
    return bool(measure(relation.kind, one, other, relation.scales) <= relation.threshold)


@kernel
def on_spheres(degrees: Floats) -> Floats:
    """Return latitudes and longitudes in degrees as points of the unit sphere."""
    points = np.empty((len(degrees), 3))
    for i in range(len(degrees)):
        points[i, 0], points[i, 1], points[i, 2] = _on_sphere(degrees[i, 0], degrees[i, 1])
    return points
