"""Compiled loops over records: the same integers as the plain ones beside them."""

from __future__ import annotations

import numpy as np

from whitecrow._compiled import compiled

__all__ = ["add_counts", "add_scores", "encode"]

_SHIFT = 16


@compiled(nogil=True)
def encode(values, edges, origin, pace, marks, look, target):  # type: ignore[no-untyped-def]
    """Write what is known of each value's cell; a guess narrows the search among the edges."""
    most = len(marks) - 1
    for i in range(len(values)):
        value = values[i]
        low, high = 0, len(edges)
        if pace > 0.0:
            guess = (value - origin) * pace
            # A guess may be off by one from rounding, so its neighbours are searched too.
            if guess < 1.0:
                high = marks[2]
            elif guess >= most - 2:
                low = marks[most - 3]
            else:
                place = int(guess)
                low, high = marks[place - 1], marks[place + 2]
        while low < high:
            middle = (low + high) >> 1
            if edges[middle] <= value:
                low = middle + 1
            else:
                high = middle
        for row in range(look.shape[0]):
            target[row, i] = look[row, low]


@compiled(nogil=True)
def add_counts(coordinates, start, axis, offset, pace, stride, base, counts):  # type: ignore[no-untyped-def]
    """Add one to a cell of every table for each record."""
    n = coordinates.shape[1]
    cells = np.empty(n, dtype=np.int32)
    for table in range(len(start) - 1):
        cells[:] = 0
        for place in range(start[table], start[table + 1]):
            row, off, speed, step = axis[place], offset[place], pace[place], stride[place]
            for i in range(n):
                cells[i] += step * ((coordinates[row, i] + off) * speed >> _SHIFT)
        first = base[table]
        for i in range(n):
            counts[first + cells[i]] += 1


@compiled(nogil=True)
def add_scores(coordinates, start, axis, offset, pace, stride, base, worth, scores):  # type: ignore[no-untyped-def]
    """Add to each record's score what its cell of every table is worth."""
    n = coordinates.shape[1]
    cells = np.empty(n, dtype=np.int32)
    for table in range(len(start) - 1):
        cells[:] = np.int32(base[table])
        for place in range(start[table], start[table + 1]):
            row, off, speed, step = axis[place], offset[place], pace[place], stride[place]
            for i in range(n):
                cells[i] += step * ((coordinates[row, i] + off) * speed >> _SHIFT)
        for i in range(n):
            scores[i] += worth[cells[i]]
