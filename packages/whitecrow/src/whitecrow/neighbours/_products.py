"""Counting many neighbours with numpy alone, where the measure is a sum of squares.

``|x - y|^2 = |x|^2 + |y|^2 - 2 x.y``, and a product of matrices takes a fraction of the time of as
many differences. It rounds otherwise than the reference predicate, in whatever order a library
likes: so it decides only pairs that are farther from the threshold than all that rounding
(`proof.md`, "Products"). The others are judged by the predicate.
"""

from __future__ import annotations

import numpy as np

from whitecrow._arrays import Counts, Flags, Matrix
from whitecrow.neighbours.relation import SQUARES, Form, measures

FEWEST = 16
"""Records asked about from which on a product is worth preparing."""

_LEAST, _MOST = 1e-280, 1e280
_FARTHEST = 1e140
"""Beyond these squares might underflow or overflow: the predicate judges all pairs."""
_ROWS = 1 << 10  # data records at once: most records reach a small cap among few others
_AT_ONCE = 1 << 18
"""Multiplications at once: few enough that no library spreads them over threads, which would take
longer to meet than to multiply."""


def margin(columns: int) -> float:
    """Return what rounding may add up to, in squared lengths (`proof.md`, "Products")."""
    return (columns + 16) * 2.0**-52


def count_products(data: Matrix, form: Form, records: Matrix, cap: int) -> Counts | None:
    """Return min(number of close data records, cap) for each record, or None: not for this form."""
    if form.kind != SQUARES or not _LEAST <= form.threshold <= _MOST or not len(data):
        return None
    with np.errstate(all="ignore"):
        # Any centre will do; amid most records, margins are small beside their distances.
        centre = np.median(data[:: 1 + len(data) // 512], axis=0)
        asked, given = records - centre, data - centre
        if not max(np.abs(asked).max(initial=0.0), np.abs(given).max()) <= _FARTHEST:
            return None
        return np.minimum(_counted(data, form, records, cap, asked, given), cap)


def _counted(
    data: Matrix, form: Form, records: Matrix, cap: int, asked: Matrix, given: Matrix
) -> Counts:
    columns = data.shape[1]
    error = margin(columns)
    own, other = (np.einsum("ij,ij->i", points, points) for points in (asked, given))
    possible = own * (0.5 - error) - form.threshold * (0.5 + error)
    sure = own * (0.5 + error) - form.threshold * (0.5 - error)
    asked = np.column_stack([asked, np.full(len(asked), -1.0)])
    given = np.column_stack([given, other * (0.5 - error)])
    width = max(1, _AT_ONCE // ((columns + 1) * _ROWS))
    # The same memory again and again: new pages would take longer than what is done in them.
    rooms = [np.empty((width, _ROWS), kind) for kind in (np.float64, np.bool_, np.bool_)]
    counts = np.zeros(len(records), np.int64)
    left = np.arange(len(records))
    for first in range(0, len(data), _ROWS):
        part = slice(first, first + _ROWS)
        widest = 2.0 * error * other[part].max()
        for start in range(0, len(left), width):
            some = left[start : start + width]
            scores, maybe, surely = (room[: len(some), : len(other[part])] for room in rooms)
            np.matmul(asked[some], given[part].T, out=scores)
            np.greater_equal(scores, possible[some, None], out=maybe)
            most = _each(maybe)
            if not most.any():
                continue
            np.greater_equal(scores, (sure[some] + widest)[:, None], out=surely)
            certain = _each(surely)
            counts[some] += certain
            for i in np.flatnonzero(most > certain):
                doubt = data[part][maybe[i] & ~surely[i]]
                near = measures(form, doubt.T, records[some[i]]) <= form.threshold
                counts[some[i]] += np.count_nonzero(near)
        left = left[counts[left] < cap]
    return counts


def _each(flags: Flags) -> Counts:
    """Count the flags of each row."""
    return np.array([np.count_nonzero(row) for row in flags], np.int64)
