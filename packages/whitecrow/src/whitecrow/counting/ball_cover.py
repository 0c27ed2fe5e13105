"""How many points can one ball hold: the admissible bounds under the smooth sensitivity.

A function mu of finite multisets of points is *admissible* for a radius (docs/mechanisms.md 3.1) if

* (M1) mu(P) is at least the number of points of P within the radius of any one place;
* (M2) mu grows with P;
* (M3) one more point raises mu by at most 1.

Three are used here, chosen by the number of columns alone:

======== ======================================== ==============================================
columns  mu                                       exact?
======== ======================================== ==============================================
1        the longest window of two radii          yes
2        the fullest of a fixed family of boxes   yes, for a radius larger by at most 2 in 10^8
         of centres, by branch and bound
3 ...    degeneracy + 1 of the graph of points    an upper bound, often close
         within two radii
======== ======================================== ==============================================

Two points within a radius of one place are within two radii of each other, but for rounding; the
constants below are margins that no rounding of a double reaches (see `count/proof.md`).
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from whitecrow._arrays import Flags, Floats, Ints
from whitecrow._compiled import KERNELS, Kernels
from whitecrow.errors import invalid
from whitecrow.neighbours import count_all, parallel
from whitecrow.neighbours.relation import Form, lower, measures, step

METRICS = ("euclidean", "manhattan", "chebyshev")
"""The metrics whose balls are those of a norm, so that packing bounds exist."""

DEPTH = 26
"""Halvings from a root box (about one radius wide) to a finest box of centres."""
_FINE = 1 << DEPTH
_WIDER = 1.0 + 2.0**-40
_TINY = 2.0**-500
_FEW = 1000
_MANY = 0.98
_CROWD = 512
_SPAN = 4096
_STEP = 8
_LOOPED = 20_000
_BOXES = 10_000
_CHUNK = 1 << 14
_SIDE = 1.0 + 2.0**-9
_EDGE = 1 << 29
_ORIGIN = _EDGE + 4
_MASK = (1 << 32) - 1


PEELING = Kernels(250_000_000)
"""Peeling has a kernel of its own, which takes as long to compile as numpy for so much work."""


def ball_cover(points: ArrayLike, radius: float, metric: str = "euclidean") -> int:
    """Return the most points that a closed ball of this radius holds, wherever its centre.

    Exact with one or two columns, an admissible upper bound with more.

    Parameters
    ----------
    points : array of shape (n, d) or (n,)
        Finite numbers; repeated points count as often as they come.
    radius : float
        Of the closed ball.
    metric : {"euclidean", "manhattan", "chebyshev"}

    Examples
    --------
    >>> ball_cover([0, 1, 2, 5], radius=1)
    3
    >>> ball_cover([[0, 0], [2, 0], [1, 1], [5, 5]], radius=1)
    3
    """
    array = as_points(points, "ball_cover")
    if metric not in METRICS:
        raise invalid("ball_cover", "metric", f"one of {', '.join(METRICS)}", metric)
    if isinstance(radius, bool) or not (0 <= radius < float("inf")):
        raise invalid("ball_cover", "radius", "a finite number of at least 0", radius)
    return cover(array, float(radius), metric, 0, len(array))


def cover(points: Floats, radius: float, metric: str, floor: int, ceiling: int) -> int:
    """Return mu(points) cut to ``floor .. ceiling``; the cuts save time and change nothing else."""
    if len(points) <= floor or floor >= ceiling:
        return floor
    # mu is at most the number of points; a cap of any length (3^d) would not fit a kernel's int.
    ceiling = min(ceiling, len(points))
    if points.shape[1] == 1:
        largest = _longest_window(np.sort(points[:, 0]), _width(radius))
    elif _peels(points, radius):
        largest = _deepest_core(points, _width(radius), metric, floor, ceiling)
    else:
        largest = _fullest_disc(points, radius, metric, floor)
    return max(floor, min(largest, ceiling))


def as_points(points: ArrayLike, owner: str) -> Floats:
    """Return points as a matrix of doubles, one row each; plain numbers are one column."""
    try:
        array = np.ascontiguousarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.full((1, 1), np.nan)
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2 or array.shape[1] < 1 or not np.isfinite(array).all():
        raise invalid(owner, "points", "finite numbers, one row for each point", type(points))
    return array


def crowding(points: Floats, radius: float, metric: str) -> Ints | None:
    """Return numbers that say which points cannot raise mu, or None where they would not help.

    A subset of the points whose mu beats a floor holds no point whose number is at most the floor:
    all points within two radii are counted, itself included, and a subset has no more. Where
    counting was cut short the number is beyond any floor.
    """
    if len(points) <= _FEW or not _peels(points, radius):
        return None
    counts = count_all(points, _width(radius), metric, cap=_CROWD)
    counts[counts == _CROWD] = np.iinfo(np.int64).max
    return counts


def _peels(points: Floats, radius: float) -> bool:
    """Say whether mu is the one that is found by peeling."""
    return points.shape[1] > 2 or (points.shape[1] == 2 and radius == 0)


def _width(radius: float) -> float:
    """Return what two points within the radius of one place are never found further apart than."""
    return 2.0 * radius * _WIDER + _TINY


def _deepest_core(points: Floats, width: float, metric: str, floor: int, ceiling: int) -> int:
    """Return the degeneracy of the graph of close pairs plus 1, cut to ``floor .. ceiling``.

    That is the largest c such that some subset has at least c members close to each member, itself
    included; peeling away points with fewer leaves the largest such subset, in whatever order they
    go. A floor that is too high leaves nothing after a few rounds, and one just below the answer
    leaves little: among many points such a floor is looked for first, in steps and by halving.
    """
    left = _peeled(points, width, metric, floor)
    core, low, high = left, floor, ceiling
    while len(core) > _FEW and high - low > 1:
        guess = min((low + high) // 2, low + max(_STEP, low // 4))
        remaining = _peeled(core, width, metric, guess)
        if len(remaining) > guess:
            # Perhaps a core: it is looked at closely when none is found above.
            core, low = remaining, guess
        else:
            high = guess
    depth = _core(core, width, metric, low, high)
    return depth if depth > low or low == floor else _core(left, width, metric, floor, low)


def _core(points: Floats, width: float, metric: str, floor: int, ceiling: int) -> int:
    """Peel point by point: the same number, exactly, from degrees that are kept current."""
    if len(points) <= floor:
        return floor
    form = lower(metric, width, (), points.shape[1])
    degrees = count_all(points, width, metric)
    living = np.ascontiguousarray(points.T)
    best = floor
    while best < ceiling:
        stay = degrees > best
        if stay.all():
            best = int(degrees.min())
            continue
        gone = np.ascontiguousarray(living[:, ~stay])
        living, degrees = np.ascontiguousarray(living[:, stay]), degrees[stay]
        if len(degrees) <= best:
            return best
        _take_away(living, gone, form, degrees)
    return ceiling


def _take_away(living: Floats, gone: Floats, form: Form, degrees: Ints) -> None:
    """Take 1 off a living point's degree for each close one that has gone."""
    if not PEELING.pay(living.size * gone.shape[1]):
        for point in gone.T:
            degrees -= measures(form, living, point) <= form.threshold
        return
    from whitecrow.counting._kernels import take_away

    given = (living, gone, form.kind, form.threshold, degrees)
    spans = parallel.chunks(len(degrees), _SPAN)
    parallel.run([partial(take_away, *given, *span) for span in spans])


def _peeled(points: Floats, width: float, metric: str, floor: int) -> Floats:
    """Drop points that are in no subset that beats the floor, in rounds while many go."""
    left = points
    while len(left) > max(_FEW, floor):
        remaining = left[count_all(left, width, metric, cap=floor + 1) > floor]
        if len(remaining) > _MANY * len(left):
            return remaining
        left = remaining
    return left


def _longest_window(values: Floats, width: float) -> int:
    """Return the most sorted values that a closed window of this width holds."""
    if len(values) > _LOOPED:
        from whitecrow.counting._kernels import longest_window

        return int(longest_window(values, width))
    best = left = 0
    ordered = values.tolist()
    for right, value in enumerate(ordered):
        while value - ordered[left] > width:
            left += 1
        best = max(best, right - left + 1)
    return best


def _fullest_disc(points: Floats, radius: float, metric: str, floor: int) -> int:
    """Sort the points into a grid and search the boxes of centres, the most promising first."""
    form = lower(metric, radius, (), 2)
    side = radius * _SIDE
    # Moving far points to the edge of the grid brings no two points further apart, so mu stays
    # admissible whatever the data; it keeps every index below within 63 bits.
    inside = np.clip(points, -_EDGE * side, _EDGE * side)
    cells = np.floor(inside / side).astype(np.int64)
    keys = _key(cells)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    occupied = np.unique(keys)
    around = np.arange(-1, 2)
    columns = around << 32
    candidates = np.unique(occupied[:, None] + (columns[:, None] + around[None, :]).reshape(1, -1))
    # Per root box, where the points of the grid columns about it are; only boxes that may beat
    # the floor are kept, a few at a time, so that memory stays near that of the points.
    selected = []
    for first in range(0, len(candidates), _CHUNK):
        boxes = candidates[first : first + _CHUNK]
        strips = boxes[:, None] + columns[None, :]
        starts = np.searchsorted(keys, strips - 1, side="left")
        stops = np.searchsorted(keys, strips + 1, side="right")
        bounds = (stops - starts).sum(axis=1)
        promising = bounds > floor
        selected.append([each[promising] for each in (boxes, starts, stops, bounds)])
    boxes, starts, stops, bounds = (np.concatenate(each) for each in zip(*selected, strict=True))
    ranked = np.argsort(-bounds, kind="stable")
    roots = np.stack([(boxes >> 32) - _ORIGIN, (boxes & _MASK) - _ORIGIN], axis=1)
    search = (
        np.ascontiguousarray(inside[order]),
        starts[ranked],
        stops[ranked],
        bounds[ranked],
        roots[ranked],
        side,
    )
    if len(points) <= _LOOPED and not KERNELS.loaded:
        fullest = _densest_disc(*search, form, floor, _BOXES)
        if fullest is not None:
            return fullest
    from whitecrow.counting._kernels import densest_disc

    KERNELS.use()
    return int(densest_disc(*search, form.kind, form.threshold, floor))


def _key(cells: Ints) -> Ints:
    return ((cells[:, 0] + _ORIGIN) << 32) + (cells[:, 1] + _ORIGIN)


def _densest_disc(
    points: Floats,
    starts: Ints,
    stops: Ints,
    bounds: Ints,
    roots: Ints,
    side: float,
    form: Form,
    floor: int,
    boxes: int,
) -> int | None:
    """Search as the kernel of this name does, or return None after so many boxes.

    Loading the compiler and compiling take seconds, once; a search in few boxes is done sooner.
    """
    best = floor
    for root in range(len(bounds)):
        if bounds[root] <= best:
            break
        runs = [np.arange(*run) for run in zip(starts[root], stops[root], strict=True)]
        column, row = (int(corner) * _FINE for corner in roots[root])
        waiting = [(0, column, row, points[np.concatenate(runs)])]
        while waiting:
            depth, column, row, some = waiting.pop()
            if len(some) <= best:
                continue
            if depth == DEPTH:
                best = len(some)
                continue
            boxes -= 1
            if boxes < 0:
                return None
            half = _FINE >> (depth + 1)
            middle = _reached(some, column + half, row + half, 1, side, form)
            best = max(best, int(middle.sum()))
            quarters = []
            for c in (column, column + half):
                for r in (row, row + half):
                    left = some[_reached(some, c, r, half, side, form)]
                    if len(left) > best:
                        quarters.append((depth + 1, c, r, left))
            # The fullest comes last and is looked at first: it raises the bound for the others.
            waiting += sorted(quarters, key=lambda quarter: len(quarter[3]))
    return best


def _reached(points: Floats, column: int, row: int, span: int, side: float, form: Form) -> Flags:
    """Say which points some centre in a box reaches."""
    pace, total = side / _FINE, np.zeros(len(points))
    for axis, corner in enumerate((column, row)):
        below, above = corner * pace, (corner + span) * pace
        value = points[:, axis]
        outside = np.maximum(np.maximum(below - value, value - above), 0.0)
        total = step(form.kind, total, outside, form.scales[axis])
    return total <= form.threshold
