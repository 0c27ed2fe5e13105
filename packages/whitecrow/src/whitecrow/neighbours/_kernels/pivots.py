"""Pivots: points that bring many records to the cap at once, by the triangle inequality.

If `cap` records lie within radius - d of a pivot, then every record within d of the pivot has at
least `cap` neighbours within the radius. `proof.md` ("Pivots") accounts for rounding: distances to
the pivot are enlarged, the radius is shrunk, and the filter counts only what is surely near.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from whitecrow._arrays import Floats, Ints
from whitecrow.neighbours._kernels.filter import approach, margins, score_at
from whitecrow.neighbours._kernels.inner import inner
from whitecrow.neighbours._kernels.lanes import ones, real_lanes, tile
from whitecrow.neighbours._kernels.metric import measure
from whitecrow.neighbours._kernels.tables import LANES, Index, Relation, Workspace
from whitecrow.neighbours.relation import SQUARES

PIVOTS = 4
"""Pivots in a group, each for a quarter of its records; an even number."""

_SHRINK = 1.0 - 2.0**-30
_GROW = 1.0 + 2.0**-30
_PLENTY = 1 << 40


class Pivots(NamedTuple):
    """The pivots of one group."""

    points: Floats  # columns x PIVOTS
    # PIVOTS x 2, two distances: what lies this near to the pivot is a neighbour of all its records,
    # or of those that are no farther from it than the mean.
    within: Floats
    reached: Ints  # PIVOTS x 2, how many records lie surely within each distance


@inner
def _distance(relation: Relation, records: Floats, i: int, pivots: Pivots, q: int) -> float:
    """Return the distance of a record from a pivot, rounded up."""
    value = measure(relation.kind, records[:, i], pivots.points[:, q], relation.scales)
    if relation.kind == SQUARES:
        value = math.sqrt(value)
    return float(value * _GROW)


@inner
def _share(active: int) -> int:
    return (active + PIVOTS - 1) // PIVOTS


@inner
def place_pivots(relation: Relation, records: Floats, active: int, pivots: Pivots) -> None:
    """Put a pivot amid each quarter of the records."""
    radius = relation.radius * _SHRINK
    for q in range(PIVOTS):
        start, stop = min(active, q * _share(active)), min(active, (q + 1) * _share(active))
        for c in range(len(records)):
            total = 0.0
            for i in range(start, stop):
                total += records[c, i] / (stop - start)
            pivots.points[c, q] = total
        farthest, mean = 0.0, 0.0
        for i in range(start, stop):
            distance = _distance(relation, records, i, pivots, q)
            farthest = max(farthest, distance)
            mean += distance / (stop - start)
        pivots.within[q, 0], pivots.within[q, 1] = radius - farthest, radius - mean
        # A pivot without records wants nothing.
        pivots.reached[q, 0] = pivots.reached[q, 1] = 0 if start < stop else _PLENTY


@inner
def look_from_pivots(
    index: Index, relation: Relation, pivots: Pivots, space: Workspace, leaf: int, missing: int
) -> bool:
    """Count a leaf's records surely near each pivot; say whether all pivots have enough."""
    rho, reach, slack, error = margins(index, relation, leaf)
    if rho == 0.0:
        return False
    approach(index, relation, pivots.points, PIVOTS, leaf, space)
    farthest = rho + reach + slack
    if relation.kind == SQUARES:
        farthest *= farthest
    unit = rho / relation.radius
    for q in range(PIVOTS):
        for which in range(2):
            near = pivots.within[q, which] * unit * _SHRINK - slack
            limit = math.inf
            if near > 0.0 and space.sizes[q] <= farthest:
                limit = space.halves[q] - score_at(relation.kind, near) + error
            if which == 0:
                space.sure[q] = np.float32(limit)
            else:
                space.possible[q] = np.float32(limit)
    real = real_lanes(min(LANES, index.size - leaf * LANES))
    enough = True
    for q in range(0, PIVOTS, 2):
        masks = tile(relation.kind, space, q, q + 1, index, leaf)
        pivots.reached[q, 0] += ones(masks[0] & real)
        pivots.reached[q, 1] += ones(masks[1] & real)
        pivots.reached[q + 1, 0] += ones(masks[2] & real)
        pivots.reached[q + 1, 1] += ones(masks[3] & real)
        enough &= (pivots.reached[q, 0] >= missing) & (pivots.reached[q + 1, 0] >= missing)
    return enough


@inner
def settled_by_pivot(
    relation: Relation, records: Floats, i: int, active: int, pivots: Pivots, missing: int
) -> bool:
    """Say whether a record's pivot has brought it to the cap."""
    q = i // _share(active)
    if pivots.reached[q, 0] >= missing:
        return True
    if pivots.reached[q, 1] < missing:
        return False
    distance = _distance(relation, records, i, pivots, q)
    return bool(pivots.within[q, 1] + distance <= relation.radius * _SHRINK)
