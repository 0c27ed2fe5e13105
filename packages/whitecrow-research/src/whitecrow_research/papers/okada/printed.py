"""Okada et al., Algorithms 1 and 2, as printed and as corrected: oracles and mutants.

They are exponential in the number of points and serve comparison only. ``printed=True`` keeps
what the errata correct:

* E9: Algorithm 1 tests ``i < |P|`` and so never looks at the last point;
* E10: Algorithm 2 caps its upper bound at N but not the value it returns (line 6).

E11, the smoothing parameter written as ε, concerns the caller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]

_TOLERANCE = 1e-9


def degrees(points: Points, radius: float) -> NDArray[np.int64]:
    """Count the points within the radius of each, itself included: all pairs, for small sets."""
    squares = np.zeros((len(points), len(points)))
    for column in points.T:
        squares += (column[:, None] - column[None, :]) ** 2
    return np.asarray((squares <= radius * radius).sum(axis=1), dtype=np.int64)


def enclosing_radius(points: Points) -> float:
    """Return the radius of the smallest ball around the points (Welzl's algorithm).

    Examples
    --------
    >>> enclosing_radius(np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]]))
    1.0
    """
    return _ball(list(points), [])[1]


def _ball(points: Sequence[Points], border: list[Points]) -> tuple[Points | None, float]:
    """Return centre and radius of the smallest ball with ``border`` on its surface."""
    if not points or (border and len(border) == len(border[0]) + 1):
        return _through(border)
    *rest, last = points
    centre, radius = _ball(rest, border)
    if centre is not None and np.linalg.norm(last - centre) <= radius * (1 + 1e-12) + 1e-12:
        return centre, radius
    return _ball(rest, [*border, last])


def _through(border: list[Points]) -> tuple[Points | None, float]:
    """Return the smallest ball through the points of a simplex."""
    if not border:
        return None, 0.0
    origin = border[0]
    if len(border) == 1:
        return origin, 0.0
    edges = np.array(border[1:]) - origin
    weights = np.linalg.lstsq(edges @ edges.T, (edges**2).sum(axis=1) / 2, rcond=None)[0]
    across = weights @ edges
    return origin + across, float(np.linalg.norm(across))


def largest_enclosed(points: Points, radius: float, *, printed: bool = False) -> int:
    """Algorithm 1: the most points that one ball of the radius encloses.

    With the paper's pruning: supersets of a set that needs a larger ball are not tried, and
    leaving a point out costs no new ball.

    Examples
    --------
    >>> line = np.array([[0.0], [1.0], [2.0], [9.0]])
    >>> largest_enclosed(line, 1.0), largest_enclosed(line[:1], 1.0, printed=True)
    (3, 0)
    """
    last = len(points) - 1 if printed else len(points)

    def search(chosen: list[Points], i: int) -> int:
        most = len(chosen)
        if i < last:
            larger = [*chosen, points[i]]
            if enclosing_radius(np.array(larger)) <= radius * (1 + _TOLERANCE):
                most = max(most, search(larger, i + 1))
            most = max(most, search(chosen, i + 1))
        return most

    return search([], 0)


def paper_smooth_sensitivity(
    points: Points, *, k: int, radius: float, smoothing: float, printed: bool = False
) -> float:
    """Algorithm 2: the paper's smooth upper bound (replace-one), with its early stop.

    Corrected, the cap N is used in the returned value too and the last points are looked at;
    it is then the maximum over t of ``e^(-smoothing t) min(N, U_t)`` (docs/mechanisms.md 3.1).
    ``printed`` keeps both errors.
    """
    n = len(points)
    others = degrees(points, radius) - 1
    best = 0.0
    centres = (k, k - 1)
    covers = dict.fromkeys(centres, 0)
    for t in range(n + 1):
        if _beyond(others, centres, covers, t - 1, n, smoothing) <= best:
            return best
        for centre in centres:
            chosen = points[np.abs(others - centre) <= t]
            covers[centre] = largest_enclosed(chosen, radius, printed=printed)
        value = max(covers.values()) + t + 1
        if not printed:
            value = min(n, value)
        best = max(best, math.exp(-smoothing * t) * value)
    return best


def _beyond(
    others: NDArray[np.int64],
    centres: Sequence[int],
    covers: dict[int, int],
    done: int,
    n: int,
    smoothing: float,
) -> float:
    """Proposition 2: bound every term after ``done`` by what is known of ``done``."""
    bound = 0.0
    for t in range(done + 1, n + 1):
        most = 0
        for centre in centres:
            away = np.abs(others - centre)
            most = max(most, covers[centre] + int(((away > done) & (away <= t)).sum()))
        bound = max(bound, math.exp(-smoothing * t) * min(n, most + t + 1))
    return bound
