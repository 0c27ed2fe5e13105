"""The reference predicates compiled, and counting by looking at every pair."""

from __future__ import annotations

import numpy as np
from numba import njit

from whitecrow.neighbours import closeness, predicates
from whitecrow.neighbours.predicates import LARGEST, SQUARES, SUM

squares = njit(predicates.squares)
total = njit(predicates.total)
largest = njit(predicates.largest)
mixed = njit(predicates.mixed)
on_sphere = njit(closeness.on_sphere)


@njit
def measure(a, b, kind, ranges):  # type: ignore[no-untyped-def]
    """Return the measure of a pair."""
    if kind == SQUARES:
        return squares(a, b)
    if kind == SUM:
        return total(a, b)
    if kind == LARGEST:
        return largest(a, b)
    return mixed(a, b, ranges)


@njit(cache=True, nogil=True)
def count(data, records, kind, threshold, ranges, cap):  # type: ignore[no-untyped-def]
    """Return min(number of close data records, cap) for each record."""
    counts = np.zeros(len(records), np.int64)
    for i in range(len(records)):
        for j in range(len(data)):
            if counts[i] >= cap:
                break
            counts[i] += measure(records[i], data[j], kind, ranges) <= threshold
    return counts


@njit(cache=True, nogil=True)
def on_spheres(degrees):  # type: ignore[no-untyped-def]
    """Return latitudes and longitudes in degrees as points of the unit sphere."""
    points = np.empty((len(degrees), 3))
    for i in range(len(degrees)):
        points[i, 0], points[i, 1], points[i, 2] = on_sphere(degrees[i, 0], degrees[i, 1])
    return points
