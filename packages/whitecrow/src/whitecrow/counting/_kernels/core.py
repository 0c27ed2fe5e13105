"""Peeling the graph of close points: what the points that go take from those that stay."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whitecrow._compiled import compiled, compiled_into
from whitecrow.neighbours.relation import LARGEST, SQUARES, SUM


@compiled_into()
def add(kind: int, measure: float, difference: float) -> float:
    """Take one more column's absolute difference into a measure."""
    if kind == SQUARES:
        return measure + difference * difference
    if kind == SUM:
        return measure + difference
    return max(measure, difference)


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_RUN = 256
"""Points that are looked at together: as many as stay in the fastest memory."""


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
                        measures[j] = add(SQUARES, measures[j], abs(value - here[c, j]))
                elif kind == SUM:
                    for j in range(run):
                        measures[j] = add(SUM, measures[j], abs(value - here[c, j]))
                else:
                    for j in range(run):
                        measures[j] = add(LARGEST, measures[j], abs(value - here[c, j]))
            for j in range(run):
                lost[j] += measures[j] <= threshold
        for j in range(count):
            degrees[start + j] -= lost[j]
