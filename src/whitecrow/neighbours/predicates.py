"""When two records are close: one fixed function of the pair for each metric.

The guarantees of sensitive privacy hold for any fixed relation between two records
(docs/mechanisms.md 1.1), so what matters is that the answer for a pair never depends on other
records, on the batch it came in or on the plan that found it. The text below is the only place
where that answer is defined: plain Python runs it on numbers, numpy on arrays, and the compiled
kernels are made from it.

Two records are close when their *measure* is at most a threshold that
:func:`whitecrow.neighbours.relation.lower` computes once from the radius. The measure is
accumulated in double precision, column after column, from direct differences, hence

* exactly symmetric: ``a - b`` and ``b - a`` differ in sign only, and the sign is dropped;
* monotone in each ``|a - b|`` also after rounding, because IEEE subtraction, multiplication,
  division and addition round monotonically. The box certificate of `proof.md` rests on that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["LARGEST", "MIXED", "SQUARES", "SUM", "measure", "step"]

SQUARES, SUM, LARGEST, MIXED = range(4)
"""The four measures to which the six metrics come down."""


def step(kind: int, total: Any, difference: Any, scale: float) -> Any:
    """Add one column to a measure.

    Parameters
    ----------
    kind : int
        ``SQUARES`` (euclidean, haversine), ``SUM`` (manhattan), ``LARGEST`` (chebyshev) or
        ``MIXED`` (gower, hamming).
    total : float or array
        The measure of the columns before this one.
    difference : float or array
        ``|a - b|`` in this column.
    scale : float
        For ``MIXED``: the range of a column of numbers, or 0 for a column of categories, which
        adds 1 where the records differ.
    """
    if kind == SQUARES:
        return total + difference * difference
    if kind == SUM:
        return total + difference
    if kind == LARGEST:
        return np.maximum(total, difference)
    if scale > 0.0:
        return total + difference / scale
    return total + 1.0 * (difference > 0.0)


def measure(kind: int, a: Any, b: Any, scales: Any) -> Any:
    """Return the measure of a pair: each column in order through :func:`step`."""
    total = 0.0
    for c in range(len(scales)):
        total = step(kind, total, abs(a[c] - b[c]), scales[c])
    return total
