"""Ball covers in one and two columns with numpy alone, for few points.

Loading the compiler and compiling take seconds, once; what few points need is done sooner here.
The numbers are those of the kernels: a longest window and a fullest box are the same however they
are looked for, and a point is within reach by the same operations.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours.relation import Form, step

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DEPTH = 26
"""Halvings from a root box (about one radius wide) to a finest box of centres."""

_FINE = 1 << DEPTH


def longest_window(values: Floats, width: float) -> int:
    """Return the most sorted values that a closed window of this width holds."""
    best = left = 0
    ordered = values.tolist()
    for right, value in enumerate(ordered):
        while value - ordered[left] > width:
            left += 1
        best = max(best, right - left + 1)
    return best


def densest_disc(
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
    """Search as the kernel of this name does, or return None after so many boxes."""
    best = floor
    for root in range(len(bounds)):
        if bounds[root] <= best:
            break
        runs = [np.arange(*run) for run in zip(starts[root], stops[root], strict=True)]
        column, row = (int(place) * _FINE for place in roots[root])
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


def _reached(
    points: Floats, column: int, row: int, span: int, side: float, form: Form
) -> NDArray[np.bool_]:
    """Say which points some centre in a box reaches."""
    pace, total = side / _FINE, np.zeros(len(points))
    for axis, place in enumerate((column, row)):
        below, above = place * pace, (place + span) * pace
        value = points[:, axis]
        outside = np.maximum(np.maximum(below - value, value - above), 0.0)
        total = step(form.kind, total, outside, form.scales[axis])
    return total <= form.threshold
