"""Most points in an interval and in a disc, and peeling the graph of close points, compiled.

Every kernel computes a combinatorial function of the set of points exactly: it never stops early
by time or by a number of steps, because a bound that was stopped is not admissible
(docs/mechanisms.md 3.1). Distances are compared as :mod:`whitecrow.neighbours.relation` compares
them, columns in order, direct differences; the box tests are the same expressions on smaller or
larger differences, and IEEE rounding is monotone, so a box never loses a point.
"""

from __future__ import annotations

import numpy as np

from whitecrow._arrays import Floats, Ints
from whitecrow._compiled import compiled, compiled_into
from whitecrow.counting.ball_cover import DEPTH
from whitecrow.neighbours.relation import LARGEST, SQUARES, SUM

_FINE = 1 << DEPTH
_RUN = 256  # points that are looked at together: as many as stay in the fastest memory


@compiled_into()
def _add(kind: int, measure: float, difference: float) -> float:
    """Take one more column's absolute difference into a measure."""
    if kind == SQUARES:
        return measure + difference * difference
    if kind == SUM:
        return measure + difference
    return max(measure, difference)


@compiled()
def longest_window(values: Floats, width: float) -> int:
    """Return the most sorted values that a closed window of this width holds."""
    best = 0
    left = 0
    for right in range(len(values)):
        while values[right] - values[left] > width:
            left += 1
        best = max(best, right - left + 1)
    return best


@compiled()
def densest_disc(
    points: Floats,
    starts: Ints,
    stops: Ints,
    bounds: Ints,
    roots: Ints,
    side: float,
    kind: int,
    threshold: float,
    floor: int,
) -> int:
    """Search the centre of a disc that holds the most points; return that number or ``floor``.

    The answer is ``max(floor, max over finest boxes b of |{p : some centre in b reaches p}|)``: a
    maximum over sets that do not depend on the data, hence admissible.

    The points are in the order of their grid cells. ``starts`` and ``stops`` say of each root box,
    for each of the three grid columns about it, where its points are, and ``bounds`` how many that
    are, in decreasing order. The root boxes are in units of ``side``, a little more than the
    radius.
    """
    step = side / _FINE
    most = bounds[0] if len(bounds) > 0 else 0
    # Lists of points of the boxes on the stack; the children of a box lie above all its siblings.
    arena = np.empty(most * (4 * DEPTH + 1) + 1, dtype=np.int64)
    stack = np.empty((3 * DEPTH + 4, 6), dtype=np.int64)
    best = floor
    for root in range(len(bounds)):
        if bounds[root] <= best:
            break
        size = 0
        for strip in range(3):
            for p in range(starts[root, strip], stops[root, strip]):
                arena[size] = p
                size += 1
        _push(stack, 0, 0, roots[root, 0] * _FINE, roots[root, 1] * _FINE, 0, size)
        stack[0, 5] = size
        height = 1
        while height > 0:
            height -= 1
            depth, column, row = stack[height, 0], stack[height, 1], stack[height, 2]
            start, stop = stack[height, 3], stack[height, 4]
            if stop - start <= best:
                continue
            if depth == DEPTH:
                best = stop - start
                continue
            half = _FINE >> (depth + 1)
            middle = _reached(
                points, arena, start, stop, column + half, row + half, 1, step, kind, threshold, -1
            )
            best = max(best, middle)
            first, fullest, end = height, height, stack[height, 5]
            for quarter in range(4):
                c = column + (quarter & 1) * half
                r = row + (quarter >> 1) * half
                reached = _reached(
                    points, arena, start, stop, c, r, half, step, kind, threshold, end
                )
                if reached - end > best:
                    _push(stack, height, depth + 1, c, r, end, reached)
                    if reached - end > stack[fullest, 4] - stack[fullest, 3]:
                        fullest = height
                    height += 1
                    end = reached
            stack[first:height, 5] = end
            # The fullest child is looked at first: it raises the bound that prunes the others.
            if height - first > 1:
                for field in range(6):
                    swapped = stack[fullest, field]
                    stack[fullest, field] = stack[height - 1, field]
                    stack[height - 1, field] = swapped
    return best


@compiled_into()
def _push(stack: Ints, at: int, depth: int, column: int, row: int, start: int, stop: int) -> None:
    stack[at, 0] = depth
    stack[at, 1] = column
    stack[at, 2] = row
    stack[at, 3] = start
    stack[at, 4] = stop


@compiled_into()
def _reached(
    points: Floats,
    arena: Ints,
    start: int,
    stop: int,
    column: int,
    row: int,
    span: int,
    step: float,
    kind: int,
    threshold: float,
    target: int,
) -> int:
    """Write the listed points that some centre in a box reaches to ``target``; return their end.

    The box is ``[column, column + span] x [row, row + span]`` in steps. With ``target`` below 0
    nothing is written and the number of points is returned.
    """
    left, right = column * step, (column + span) * step
    bottom, top = row * step, (row + span) * step
    count = 0
    for i in range(start, stop):
        p = arena[i]
        across = _outside(points[p, 0], left, right)
        upward = _outside(points[p, 1], bottom, top)
        if _add(kind, _add(kind, 0.0, across), upward) <= threshold:
            if target >= 0:
                arena[target + count] = p
            count += 1
    return count if target < 0 else target + count


@compiled_into()
def _outside(value: float, lower: float, upper: float) -> float:
    """Return how far a value lies outside an interval."""
    if value < lower:
        return lower - value
    if value > upper:
        return value - upper
    return 0.0


@compiled(nogil=True)
def take_away(
    living: Floats, gone: Floats, kind: int, threshold: float, degrees: Ints, first: int, last: int
) -> None:
    """Take 1 off the degree of a living point for each point close to it that has gone.

    Points are columns x points; of the living ones, ``first`` to ``last`` are looked at.
    """
    columns, run = len(living), np.uint64(_RUN)
    here = np.zeros((columns, _RUN))
    measures = np.empty(_RUN)
    lost = np.empty(_RUN, np.int64)
    for start in range(first, last, _RUN):
        # Whole runs vectorise; the lanes after the last point hold what is never read.
        count = min(_RUN, last - start)
        for c in range(columns):
            for j in range(count):
                here[c, j] = living[c, start + j]
        for j in range(run):
            lost[j] = 0
        for k in range(gone.shape[1]):
            for j in range(run):
                measures[j] = 0.0
            for c in range(columns):
                value = gone[c, k]
                if kind == SQUARES:
                    for j in range(run):
                        measures[j] = _add(SQUARES, measures[j], abs(value - here[c, j]))
                elif kind == SUM:
                    for j in range(run):
                        measures[j] = _add(SUM, measures[j], abs(value - here[c, j]))
                else:
                    for j in range(run):
                        measures[j] = _add(LARGEST, measures[j], abs(value - here[c, j]))
            for j in range(run):
                lost[j] += measures[j] <= threshold
        for j in range(count):
            degrees[start + j] -= lost[j]
