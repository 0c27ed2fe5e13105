"""When two records are close: one fixed function of the pair for each metric.

The guarantees of sensitive privacy hold for any fixed relation between two records
(`mechanisms.md` 1.1), so what matters is that the answer for a pair never depends on other
records, on the batch it came in or on the plan that found it. These are plain Python functions
of two vectors, in double precision, columns in order, direct differences. The compiled kernels
are made from this very text.

Each function returns a *measure*; two records are close when it is at most a threshold that
:func:`whitecrow.neighbours.closeness.lower` computes once from the radius. Every measure is

* exactly symmetric: ``a - b`` and ``b - a`` differ in sign only, and the sign is dropped;
* monotone in each ``|a - b|``, also after rounding, because IEEE subtraction, multiplication,
  division and addition round monotonically. The certificates of `proof.md` rest on that.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["LARGEST", "MIXED", "SQUARES", "SUM", "largest", "mixed", "squares", "total"]

SQUARES, SUM, LARGEST, MIXED = range(4)
"""The four forms to which the six metrics come down."""


def squares(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the sum of squared differences (euclidean, and haversine on the unit sphere)."""
    result = 0.0
    for c in range(len(a)):
        difference = a[c] - b[c]
        result += difference * difference
    return result


def total(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the sum of absolute differences (manhattan)."""
    result = 0.0
    for c in range(len(a)):
        result += abs(a[c] - b[c])
    return result


def largest(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the largest absolute difference (chebyshev)."""
    result = 0.0
    for c in range(len(a)):
        difference = abs(a[c] - b[c])
        if difference > result:
            result = difference
    return result


def mixed(a: Sequence[float], b: Sequence[float], ranges: Sequence[float]) -> float:
    """Return the sum of range-scaled differences and mismatches (gower, hamming).

    A column whose range is 0 holds categories: it adds 1 where the two records differ.
    """
    result = 0.0
    for c in range(len(a)):
        if ranges[c] > 0.0:
            result += abs(a[c] - b[c]) / ranges[c]
        elif a[c] != b[c]:
            result += 1.0
    return result
