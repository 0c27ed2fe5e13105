"""Where the neighbours of some records can be: bounds for each column."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours.relation import MIXED, SQUARES, Form

Matrix = NDArray[np.float64]

_SLACK = 1.0 + 1e-9
"""Far more than the predicate can round."""


def within(asked: Matrix, values: Matrix, form: Form) -> NDArray[np.int64]:
    """Return which of the records asked about may have neighbours among some values.

    Both are placed already.
    """
    possible = np.ones(len(asked), bool)
    for place, reach in enumerate(_reaches(form)):
        if math.isfinite(reach):
            # A rounded sum is at most one step too small.
            low = math.nextafter(float(values[:, place].min()) - reach, -math.inf)
            high = math.nextafter(float(values[:, place].max()) + reach, math.inf)
            possible &= (low <= asked[:, place]) & (asked[:, place] <= high)
    return np.flatnonzero(possible)


def _reaches(form: Form) -> list[float]:
    """Return how far apart close records can be in each column; infinity if that is not known."""
    if form.kind == MIXED:
        different = math.inf if form.threshold >= 1.0 else 0.0
        return [
            (form.threshold * _SLACK + 1e-300) * scale if scale > 0.0 else different
            for scale in form.scales
        ]
    radius = math.sqrt(form.threshold) if form.kind == SQUARES else form.threshold
    if form.kind == SQUARES and not 1e-140 < radius < 1e140:
        return [math.inf] * len(form.scales)
    return [radius * _SLACK] * len(form.scales)
