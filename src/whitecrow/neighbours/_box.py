"""Where the neighbours of some records can be: bounds for each column, as a condition in SQL."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from whitecrow.data.warehouse import Dialect
from whitecrow.neighbours.relation import MIXED, SQUARES, Form, Layout

__all__ = ["condition", "within"]

Matrix = NDArray[np.float64]

_SLACK = 1.0 + 1e-9
"""Far more than the predicate can round."""

_LARGEST = 1e150


def condition(asked: Matrix, form: Form, layout: Layout, dialect: Dialect) -> str:
    """Return a condition on ``x0``, ``x1``, ... that every neighbour of these records meets."""
    parts = []
    reaches = _reaches(form, layout)
    if layout.scales:
        reaches = [_of_column(asked[:, c], reaches[0], layout, c) for c in range(asked.shape[1])]
    for place, reach in enumerate(reaches):
        if not math.isfinite(reach):
            continue
        low, high = float(asked[:, place].min()), float(asked[:, place].max())
        if reach > 0.0:
            low = math.nextafter(low - reach, -math.inf)
            high = math.nextafter(high + reach, math.inf)
        if math.isfinite(low) and math.isfinite(high):
            parts.append(f"x{place} BETWEEN {dialect.number(low)} AND {dialect.number(high)}")
    return " AND ".join(parts) or "1 = 1"


def _of_column(values: Matrix, reach: float, layout: Layout, place: int) -> float:
    """Return how far a neighbour can be in a column that is divided by its scale.

    The rounding of the quotient grows with the value, and huge ones are cut.
    """
    largest = float(np.abs(values).max())
    if (layout.levels and layout.levels[place]) or largest > _LARGEST:
        return math.inf
    return (reach + 1e-300) * layout.scales[place] * _SLACK + 1e-9 * largest


def within(asked: Matrix, values: Matrix, form: Form, layout: Layout) -> NDArray[np.int64]:
    """Return which of the records asked about may have neighbours among some values.

    Both are laid out already.
    """
    possible = np.ones(len(asked), bool)
    for place, reach in enumerate(_reaches(form, layout)):
        if math.isfinite(reach):
            # As in the condition: a rounded sum is at most one step too small.
            low = math.nextafter(float(values[:, place].min()) - reach, -math.inf)
            high = math.nextafter(float(values[:, place].max()) + reach, math.inf)
            possible &= (low <= asked[:, place]) & (asked[:, place] <= high)
    return np.flatnonzero(possible)


def _reaches(form: Form, layout: Layout) -> list[float]:
    """Return how far apart close records can be in each column; infinity if that is not known."""
    if layout.metric == "haversine":
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
