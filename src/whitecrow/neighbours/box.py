"""Where the neighbours of some records can be: bounds for each column, as a condition in SQL."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from whitecrow.data.warehouse import Dialect
from whitecrow.neighbours.relation import MIXED, SQUARES, Form

__all__ = ["condition", "within"]

Matrix = NDArray[np.float64]

_SLACK = 1.0 + 1e-9
"""Far more than the predicate can round."""


def condition(asked: Matrix, form: Form, metric: str, dialect: Dialect) -> str:
    """Return a condition on ``x0``, ``x1``, ... that every neighbour of these records meets."""
    parts = []
    for place, reach in enumerate(_reaches(form, metric)):
        if not math.isfinite(reach):
            continue
        low, high = float(asked[:, place].min()), float(asked[:, place].max())
        if reach > 0.0:
            low = math.nextafter(low - reach, -math.inf)
            high = math.nextafter(high + reach, math.inf)
        if math.isfinite(low) and math.isfinite(high):
            parts.append(f"x{place} BETWEEN {dialect.number(low)} AND {dialect.number(high)}")
    return " AND ".join(parts) or "1 = 1"


def within(asked: Matrix, values: Matrix, form: Form, metric: str) -> NDArray[np.int64]:
    """Return which of the records asked about may have neighbours among some values."""
    possible = np.ones(len(asked), bool)
    for place, reach in enumerate(_reaches(form, metric)):
        if math.isfinite(reach):
            # As in the condition: a rounded sum is at most one step too small.
            low = math.nextafter(float(values[:, place].min()) - reach, -math.inf)
            high = math.nextafter(float(values[:, place].max()) + reach, math.inf)
            possible &= (low <= asked[:, place]) & (asked[:, place] <= high)
    return np.flatnonzero(possible)


def _reaches(form: Form, metric: str) -> list[float]:
    """Return how far apart close records can be in each column; infinity if that is not known."""
    if metric == "haversine":
        # Degrees go round, and beyond the pole: no interval of them holds all neighbours.
        return [math.inf, math.inf]
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
