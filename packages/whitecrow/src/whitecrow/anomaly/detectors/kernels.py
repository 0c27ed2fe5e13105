"""Compiled verdicts. Each says no (0), yes (1) or "too close for floating point" (2).

A doubtful verdict is settled by the detector's own exact arithmetic, so that the verdict is the
same whichever path found it.
"""

from __future__ import annotations

import numpy as np

from whitecrow._compiled import compiled, compiled_into

NO, YES, DOUBT = 0, 1, 2

ROUNDING = 2.0**-52


@compiled(inline="always")
def above(left, right, terms):  # type: ignore[no-untyped-def]
    """Compare two non-negative doubles, sums of at most ``terms`` rounded terms.

    Both are within ``(terms + 6) 2^-53`` of the truth, relatively; the margin is twice the sum of
    the two errors (``explain/proof.md``, Lemma 8).
    """
    margin = 4.0 * (terms + 16.0) * ROUNDING
    if left == right == 0.0:
        return NO
    if left > right * (1.0 + margin):
        return YES
    if left < right * (1.0 - margin):
        return NO
    return DOUBT


@compiled(inline="always")
def grubbs(size, total, squares, share, side, terms):  # type: ignore[no-untyped-def]
    """Grubbs: ``total`` and ``squares`` are the sums of y and y^2, y = member - record.

    ``side`` is 0 for both, 1 for high (the record above the mean), -1 for low; ``squares`` is a
    sum of at most ``terms`` rounded terms, ``total`` is exact.
    """
    if side * total > 0:
        return NO
    return above(total * total, share * size * squares, terms)


@compiled_into(_nrt=False)
def lof(z, place, length, k, threshold, kd, first):  # type: ignore[no-untyped-def]
    """LOF of ``z[place]`` among the ascending ``z[:length]``; ``kd`` and ``first`` are scratch.

    Only the neighbours of the record and of its neighbours are looked at.
    """
    if length - 1 < k:
        k = length - 1
    if k == 0:
        return NO
    own = _windows(z, place, place + 1, max(0, place - k), length, k, kd, first)
    ends = _windows(z, own, own + k + 1, max(0, own - k), length, k, kd, first)
    begins = first[own]
    _windows(z, begins, own, max(0, begins - k), length, k, kd, first)
    _windows(z, own + k + 1, ends + k + 1, ends, length, k, kd, first)
    mine = _reach(z, kd, place, own, k)
    total = -1.0  # the record's own term
    for j in range(own, own + k + 1):
        other = _reach(z, kd, j, first[j], k)
        if other > 0:
            total += mine / other
        elif mine > 0:
            return YES
        else:
            total += 1.0
    return above(total, threshold * k, float(k))


@compiled_into(_nrt=False)
def _windows(z, lo, hi, start, length, k, kd, first):  # type: ignore[no-untyped-def]
    """Set the k-distance and the first neighbour of members ``lo .. hi-1``.

    Windows only move right; on a tie they stay with the smaller value.
    """
    for i in range(lo, hi):
        here = z[i]
        while start + k + 1 < length and z[start + k + 1] - here < here - z[start]:
            start += 1
        first[i] = start
        kd[i] = max(here - z[start], z[start + k] - here)
    return start


@compiled_into(_nrt=False)
def _reach(z, kd, i, start, k):  # type: ignore[no-untyped-def]
    """Sum of reachability distances of ``z[i]`` to the k others of its window."""
    here = z[i]
    total = -kd[i]
    for j in range(np.uint64(start), np.uint64(start + k + 1)):  # unsigned: vectorised
        total += max(abs(z[j] - here), kd[j])
    return total


@compiled(inline="always")
def bin_of(low, high, bins):  # type: ignore[no-untyped-def]
    """Bounds of the bin that holds 0 when ``bins`` bins span ``low <= 0 <= high``."""
    width = high - low
    if width == 0:
        return low, high
    place = min((-low) * bins // width, bins - 1)
    start = low - ((-place * width) // bins)
    if place == bins - 1:
        return start, high
    return start, low + ((place + 1) * width - 1) // bins
