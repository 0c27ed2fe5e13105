"""The k-core of a the relation graph that is never stored: neighbours come from a k-d tree."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from whitecrow.counting._kernels.measure import add

__all__ = ["deepest_core"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LEAF = 12


@njit(cache=True)
def deepest_core(points: Floats, kind: int, threshold: float, floor: int, ceiling: int) -> int:
    """Return the degeneracy of the neighbour relation graph plus 1, cut to ``floor .. ceiling``.

    The degeneracy is the largest c such that some subset of the points has at least c other
    members close to each member. Peeling away points with fewer leaves the largest such subset.

    Parameters
    ----------
    points : array of shape (n, d)
        Reordered in place.
    kind, threshold
        The measure of the metric and the largest one that is close.
    floor, ceiling : int
        Numbers up to ``floor`` and beyond ``ceiling`` are of no interest.
    """
    n = len(points)
    if n <= floor:
        return floor
    bounds = _ranges(n)
    splits = len(bounds) // 2
    _arrange(points, bounds)
    lower, upper = _boxes(points, bounds)
    living = bounds[:, 1] - bounds[:, 0]
    degree = np.empty(n, dtype=np.int64)
    pending = np.empty(n, dtype=np.int64)
    alive = np.ones(n, dtype=np.bool_)
    nodes = np.empty(64, dtype=np.int64)
    for i in range(n):
        degree[i] = _visit(
            points, bounds, lower, upper, living, alive, degree, pending, nodes,
            i, splits, kind, threshold, -1, 0,
        ) - 1  # fmt: skip
    best = floor
    remaining = n
    while True:
        # A subset that beats `best` has degrees of at least `best` inside it.
        waiting = 0
        for i in range(n):
            if alive[i] and degree[i] < best:
                alive[i] = False
                _bury(living, bounds, i, splits)
                pending[waiting] = i
                waiting += 1
        while waiting > 0:
            waiting -= 1
            remaining -= 1
            i = pending[waiting]
            waiting = _visit(
                points, bounds, lower, upper, living, alive, degree, pending, nodes,
                i, splits, kind, threshold, best, waiting,
            )  # fmt: skip
        if remaining == 0:
            return best
        least = remaining
        for i in range(n):
            if alive[i]:
                least = min(least, degree[i])
        best = least + 1
        if best >= ceiling:
            return ceiling


@njit(cache=True)
def _close(points: Floats, i: int, j: int, kind: int, threshold: float) -> bool:
    measure = 0.0
    for c in range(points.shape[1]):
        measure = add(kind, measure, abs(points[i, c] - points[j, c]))
        if measure > threshold:
            return False
    return True


@njit(cache=True)
def _ranges(n: int) -> Ints:
    """Return where the points of each node of a balanced tree start and stop (heap order)."""
    splits = 1
    while n > _LEAF * splits:
        splits *= 2
    bounds = np.zeros((2 * splits, 2), dtype=np.int64)
    bounds[1, 1] = n
    for node in range(1, splits):
        start, stop = bounds[node, 0], bounds[node, 1]
        middle = (start + stop) // 2
        bounds[2 * node, 0], bounds[2 * node, 1] = start, middle
        bounds[2 * node + 1, 0], bounds[2 * node + 1, 1] = middle, stop
    return bounds


@njit(cache=True)
def _arrange(points: Floats, bounds: Ints) -> None:
    """Put the points of every node's halves apart along its widest column."""
    for node in range(1, len(bounds) // 2):
        start, stop = bounds[node, 0], bounds[node, 1]
        widest, extent = 0, -1.0
        for column in range(points.shape[1]):
            least, most = points[start, column], points[start, column]
            for i in range(start + 1, stop):
                least = min(least, points[i, column])
                most = max(most, points[i, column])
            if most - least > extent:
                widest, extent = column, most - least
        _select(points, start, stop - 1, bounds[2 * node, 1], widest)


@njit(cache=True)
def _select(points: Floats, left: int, right: int, target: int, column: int) -> None:
    """Partition rows so that the one at ``target`` is in sorted place (Hoare's selection)."""
    while left < right:
        pivot = points[(left + right) // 2, column]
        i, j = left, right
        while i <= j:
            while points[i, column] < pivot:
                i += 1
            while points[j, column] > pivot:
                j -= 1
            if i <= j:
                for c in range(points.shape[1]):
                    kept = points[i, c]
                    points[i, c] = points[j, c]
                    points[j, c] = kept
                i += 1
                j -= 1
        if target <= j:
            right = j
        elif target >= i:
            left = i
        else:
            return


@njit(cache=True)
def _boxes(points: Floats, bounds: Ints) -> tuple[Floats, Floats]:
    """Return the corners of the box around the points of each node."""
    splits, d = len(bounds) // 2, points.shape[1]
    lower = np.empty((2 * splits, d))
    upper = np.empty((2 * splits, d))
    for node in range(2 * splits - 1, 0, -1):
        if node >= splits:
            # Number by number: an assignment of rows takes the compiler seconds, once and for all,
            # to make the message for rows that do not match.
            for c in range(d):
                lower[node, c] = upper[node, c] = points[bounds[node, 0], c]
            for i in range(bounds[node, 0] + 1, bounds[node, 1]):
                for c in range(d):
                    lower[node, c] = min(lower[node, c], points[i, c])
                    upper[node, c] = max(upper[node, c], points[i, c])
        else:
            for c in range(d):
                lower[node, c] = min(lower[2 * node, c], lower[2 * node + 1, c])
                upper[node, c] = max(upper[2 * node, c], upper[2 * node + 1, c])
    return lower, upper


@njit(cache=True)
def _bury(living: Ints, bounds: Ints, i: int, splits: int) -> None:
    """Take point ``i`` out of the number of living points of every node above it."""
    node = 1
    while True:
        living[node] -= 1
        if node >= splits:
            return
        node = 2 * node if i < bounds[2 * node, 1] else 2 * node + 1


@njit(cache=True)
def _visit(
    points: Floats,
    bounds: Ints,
    lower: Floats,
    upper: Floats,
    living: Ints,
    alive: NDArray[np.bool_],
    degree: Ints,
    pending: Ints,
    nodes: Ints,
    i: int,
    splits: int,
    kind: int,
    threshold: float,
    least: int,
    waiting: int,
) -> int:
    """Visit the living points close to point ``i``.

    With ``least`` below 0, return how many there are. Otherwise take 1 off the degree of each;
    one that falls under ``least`` dies and joins the pending ones, whose number is returned.
    """
    d = points.shape[1]
    found = 0
    nodes[0] = 1
    height = 1
    while height > 0:
        height -= 1
        node = nodes[height]
        if living[node] == 0:
            continue
        near, far = 0.0, 0.0
        for c in range(d):
            value, low, high = points[i, c], lower[node, c], upper[node, c]
            near = add(kind, near, max(low - value, value - high, 0.0))
            far = add(kind, far, max(value - low, high - value))
        if near > threshold:
            continue
        if least < 0 and far <= threshold:
            found += living[node]
            continue
        if node < splits:
            nodes[height] = 2 * node
            nodes[height + 1] = 2 * node + 1
            height += 2
            continue
        for j in range(bounds[node, 0], bounds[node, 1]):
            if not alive[j] or not _close(points, i, j, kind, threshold):
                continue
            if least < 0:
                found += 1
                continue
            degree[j] -= 1
            if degree[j] < least:
                alive[j] = False
                _bury(living, bounds, j, splits)
                pending[waiting] = j
                waiting += 1
    return found if least < 0 else waiting
