"""Compiled loops over records: the same integers as the plain ones beside them.

Coordinates are clamped where they are made. All the same no loop here writes, or reads a worth,
beyond its own table: an index that is made of data is compared with the table's size first.
"""

from __future__ import annotations

import numpy as np

from whitecrow._compiled import compiled, compiled_into

_SHIFT = 16


@compiled_into(_nrt=False, forceinline=True)
def _find(values, edges, origin, pace, marks, steps, cells):  # type: ignore[no-untyped-def]
    """Write how many edges each value has reached; NaN, of which the edges' end is made, none.

    Rounding never turns an order around, so an edge whose guess is below that of the value is below
    the value, and one whose guess is above is above: only edges with the same guess are compared.
    Comparisons are added, not branched on, and all values make a step before any makes the next:
    which way they go cannot be foretold, so a processor that waits for one goes on with others.
    """
    for i in range(len(values)):
        guess = min(max((values[i] - origin) * pace, 0.0), len(marks) - 2.0)
        # NaN is written out of both: its place is not a place.
        cells[i] = marks[int(guess)] if guess >= 0.0 else 0
    step = 1 << steps
    while step > 1:
        step >>= 1
        for i in range(len(values)):
            cells[i] += step * (edges[cells[i] + step - 1] <= values[i])


@compiled(nogil=True)
def encode(values, edges, origin, pace, marks, steps, encoded, target):  # type: ignore[no-untyped-def]
    """Write what is known of each value's cell."""
    cells = np.empty(len(values), dtype=np.int32)
    _find(values, edges, origin, pace, marks, steps, cells)
    for row in range(encoded.shape[0]):
        for i in range(len(values)):
            target[row, i] = encoded[row, cells[i]]


@compiled(nogil=True)
def encode_scored(values, edges, origin, pace, marks, steps, encoded, first, second, scores):  # type: ignore[no-untyped-def]
    """Write two coordinates of each value, and add to its record's score what it is worth alone."""
    cells = np.empty(len(values), dtype=np.int32)
    _find(values, edges, origin, pace, marks, steps, cells)
    for i in range(len(values)):
        packed = encoded[cells[i]]
        first[i] = packed & 0xFFFF
        second[i] = packed >> 16 & 0xFFFF
        scores[i] += packed >> 32


@compiled(nogil=True)
def add_counts(coordinates, start, axis, offset, pace, stride, base, counts):  # type: ignore[no-untyped-def]
    """Add one to a cell of every table for each record."""
    n = coordinates.shape[1]
    cells = np.empty(n, dtype=np.int32)
    for table in range(len(start) - 1):
        cells[:] = 0
        for index in range(start[table], start[table + 1]):
            row, off, speed, step = axis[index], offset[index], pace[index], stride[index]
            for i in range(n):
                cells[i] += step * ((coordinates[row, i] + off) * speed >> _SHIFT)
        own = counts[base[table] : base[table + 1]]
        for i in range(n):
            # A negative one is larger than any size.
            if np.uint32(cells[i]) < np.uint32(len(own)):
                own[cells[i]] += 1


@compiled(nogil=True)
def add_scores(coordinates, start, axis, offset, pace, stride, base, points, scores):  # type: ignore[no-untyped-def]
    """Add to each record's score what its cell of every table is worth.

    No table has more cells than 16 bits can number, and none of its bins is farther: that many
    numbers are computed side by side. Four tables are looked up together, so that a score is
    fetched and stored a fourth as often.
    """
    n, tables = coordinates.shape[1], len(start) - 1
    cells = np.empty((4, n), dtype=np.uint16)
    for table in range(tables):
        mine = cells[table & 3]
        mine[:] = 0
        for index in range(start[table], start[table + 1]):
            values, off = coordinates[axis[index]], offset[index]
            speed, step = np.uint32(pace[index]), stride[index]
            for i in range(n):
                shifted = np.uint32(np.uint16(values[i] + off))
                mine[i] += np.uint16(step * np.uint16(shifted * speed >> _SHIFT))
        if table & 3 == 3:
            first = points[base[table - 3] : base[table - 2]]
            second = points[base[table - 2] : base[table - 1]]
            third = points[base[table - 1] : base[table]]
            fourth = points[base[table] : base[table + 1]]
            for i in range(n):
                scores[i] += (
                    first[min(cells[0, i], len(first) - 1)]
                    + second[min(cells[1, i], len(second) - 1)]
                    + third[min(cells[2, i], len(third) - 1)]
                    + fourth[min(cells[3, i], len(fourth) - 1)]
                )
    for table in range(tables & ~3, tables):
        first = points[base[table] : base[table + 1]]
        for i in range(n):
            scores[i] += first[min(cells[table & 3, i], len(first) - 1)]
