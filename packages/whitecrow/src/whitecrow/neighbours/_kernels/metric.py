"""The reference predicate compiled, and a look at every record with it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from whitecrow._arrays import Floats, Ints
from whitecrow.neighbours import relation, sphere
from whitecrow.neighbours._kernels.inner import inner, kernel
from whitecrow.neighbours._kernels.tables import Relation
from whitecrow.neighbours.relation import step

RUN = 256
"""Records read in a row before jumping elsewhere."""

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


@kernel
def count_scanned(data: Floats, relation: Relation, records: Floats, cap: int, jump: int) -> Ints:
    """Return min(number of close data records, cap) for each record.

    Runs of records are visited ``jump`` runs apart, a number without common divisor with the
    number of runs. Sorted data then look shuffled, and a record with many neighbours soon finds
    ``cap`` of them wherever they are; the order depends on the number of records alone.
    """
    kind, threshold, scales, _ = relation
    runs = (len(data) + RUN - 1) // RUN
    counts = np.zeros(len(records), np.int64)
    for i in range(len(records)):
        run, count = 0, 0
        for _ in range(runs):
            for j in range(run * RUN, min(len(data), (run + 1) * RUN)):
                count += measure(kind, records[i], data[j], scales) <= threshold
            if count >= cap:
                break
            run += jump
            if run >= runs:
                run -= runs
        counts[i] = min(count, cap)
    return counts
