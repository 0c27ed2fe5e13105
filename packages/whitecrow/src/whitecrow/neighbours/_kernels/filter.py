"""Records in the frame of a block, and the margins that make float32 a safe filter.

A block's records are stored relative to the block's centre and in units of its own half-width,
so that rounding to float32 loses nothing that matters, however far from zero the data lie. A
record asked about is expressed in the same frame. `proof.md` ("The float32 filter") derives the
margins below; its symbols are u (unit roundoff of float32), rho (the radius in the block's
frame) and R (the reach: the block's largest norm).
"""

from __future__ import annotations

import math

import numpy as np

from whitecrow._arrays import Floats
from whitecrow.neighbours._kernels.inner import inner
from whitecrow.neighbours._kernels.tables import Index, Relation, Workspace
from whitecrow.neighbours.relation import LARGEST, MIXED, SQUARES, SUM

_U = 2.0**-24
_SMALLEST, _LARGEST = 2.0**-40, 2.0**40


@inner
def approach(
    index: Index, relation: Relation, records: Floats, count: int, leaf: int, space: Workspace
) -> None:
    """Express records in a block's frame, and measure how far from its centre they are.

    The size is the squared length for SQUARES, the largest coordinate for LARGEST and the sum of
    the absolute coordinates for the others; categories have none.
    """
    rows, sizes, halves, kind = space.rows, space.sizes, space.halves, relation.kind
    columns = len(records)
    unit = index.frames[leaf, columns]
    for i in range(count):
        sizes[i] = halves[i] = 0.0
    for c in range(columns):
        centre, factor = index.frames[leaf, c], index.weights[c] * unit
        for i in range(count):
            rows[c, i] = np.float32((records[c, i] - centre) * factor)
        if kind == SQUARES:
            for i in range(count):
                value = np.float64(rows[c, i])
                sizes[i] += value * value
                halves[i] = 0.5 * sizes[i]
        elif kind == LARGEST:
            for i in range(count):
                sizes[i] = max(sizes[i], abs(np.float64(rows[c, i])))
        elif not index.categories[c]:
            for i in range(count):
                value = np.float64(rows[c, i])
                sizes[i] += abs(value)
                halves[i] += 0.5 * value if kind == SUM else 0.0


@inner
def approach_alone(
    index: Index, relation: Relation, record: Floats, leaf: int, space: Workspace
) -> tuple[float, float]:
    """Express one record in a block's frame, rounded to float32; return its size and half."""
    columns, kind, size, half = len(record), relation.kind, 0.0, 0.0
    unit = index.frames[leaf, columns]
    for c in range(columns):
        factor = index.weights[c] * unit
        space.rows[c, 0] = np.float32((record[c] - index.frames[leaf, c]) * factor)
        value = np.float64(space.rows[c, 0])
        if kind == SQUARES:
            size += value * value
        elif kind == LARGEST:
            size = max(size, abs(value))
        elif not index.categories[c]:
            size += abs(value)
            half += 0.5 * value if kind == SUM else 0.0
    return size, 0.5 * size if kind == SQUARES else half


@inner
def score_at(kind: int, distance: float) -> float:
    """Return what a distance takes off a score."""
    if kind == SQUARES:
        return 0.5 * distance * distance
    return 0.5 * distance if kind == SUM else distance


@inner
def margins(index: Index, relation: Relation, leaf: int) -> tuple[float, float, float, float]:
    """Return rho, R, the slack of a distance and the error of a score; rho is 0 if unusable."""
    columns, kind = len(relation.scales), relation.kind
    rho = relation.radius * index.frames[leaf, columns]
    norm = 1 if kind == SQUARES else 3 if kind == LARGEST else 2
    reach = index.frames[leaf, columns + norm]
    if not (_SMALLEST <= rho <= _LARGEST and reach <= _LARGEST):
        return 0.0, 0.0, 0.0, 0.0
    whole = rho + 2.0 * reach
    if kind == MIXED:
        whole += index.mismatches
    error = (columns + 8) * _U * whole
    if kind == SQUARES:
        error *= whole
    elif kind == SUM:
        error *= 1.25
    return rho, reach, 4.0 * _U * whole, error


@inner
def limits(
    index: Index, relation: Relation, rho: float, reach: float, slack: float, error: float
) -> tuple[float, float, float, float]:
    """Return the limits of a block's filter: ``inner``, ``outer``, ``sure``, ``possible``.

    A record whose size is at most ``inner`` is close to the whole block; above ``outer``, to none
    of it. A score must reach the others, before its half is added.
    """
    near, far = rho - reach - slack, rho + reach + slack
    if relation.kind == MIXED:
        near -= index.mismatches
    sure = error - score_at(relation.kind, rho - slack) if rho > slack else math.inf
    possible = -error - score_at(relation.kind, rho + slack)
    if relation.kind == SQUARES:
        near, far = near * near if near > 0.0 else -1.0, far * far
    return near, far, sure, possible
