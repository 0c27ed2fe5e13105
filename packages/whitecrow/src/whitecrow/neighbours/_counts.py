"""Counting neighbours in plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from whitecrow._arrays import Counts, Matrix
from whitecrow.errors import invalid
from whitecrow.neighbours.plans import (
    checked_cap,
    checked_data,
    checked_records,
    count_every,
    count_records,
)
from whitecrow.neighbours.relation import checked_form


def count_close(
    data: ArrayLike,
    records: ArrayLike,
    radius: float,
    metric: str = "euclidean",
    cap: int | None = None,
    *,
    ranges: Sequence[float] = (),
) -> Counts:
    """Count, for each record asked about, the data records within the radius.

    Parameters
    ----------
    data : array of shape (n, d)
        Finite numbers. float32 is converted to float64, which changes no value.
    records : array of shape (q, d) or (d,)
        The records asked about; they need not be in the data.
    radius, metric, ranges
        See :class:`~whitecrow.neighbours.NeighbourRelation`.
    cap : int, optional
        Return min(count, cap); counting stops there.

    Returns
    -------
    int64 array of shape (q,)

    Examples
    --------
    >>> count_close([[0.0], [1.0], [5.0]], [[0.5], [9.0]], radius=0.5)
    array([2, 0])
    """
    values = checked_data(data, "count_close")
    form = checked_form(metric, radius, ranges, values.shape[1], "count_close")
    asked = checked_records(records, values.shape[1], "count_close")
    limit = checked_cap(cap, len(values), "count_close")
    return count_records(form.placed(values), form, form.placed(asked), limit)


def count_all(
    data: ArrayLike,
    radius: float,
    metric: str = "euclidean",
    cap: int | None = None,
    *,
    ranges: Sequence[float] = (),
) -> Counts:
    """Count, for each data record, the data records within the radius, itself included.

    The parameters are those of :func:`count_close`.

    Examples
    --------
    >>> count_all([[0.0], [1.0], [5.0]], radius=1.0)
    array([2, 2, 1])
    """
    values = checked_data(data, "count_all")
    form = checked_form(metric, radius, ranges, values.shape[1], "count_all")
    placed = form.placed(values)
    return count_every(lambda: placed, form, cap)


def copies(
    data: ArrayLike, records: ArrayLike, cap: int | None = None, metric: str = "euclidean"
) -> Counts:
    """Count, for each record asked about, the data records at the same place by the metric.

    These are the records equal to it in every column; for haversine, equal on the globe.

    Examples
    --------
    >>> copies([[1, 2], [1, 2], [3, 4]], [[1, 2], [0, 0]])
    array([2, 0])
    >>> copies([[10.0, 180.0]], [[10.0, -180.0]], metric="haversine")
    array([1])
    """
    values = checked_data(data, "copies")
    asked = checked_records(records, values.shape[1], "copies")
    limit = checked_cap(cap, len(values), "copies")
    kind = "haversine" if metric == "haversine" else "hamming"  # equal as numbers
    same = checked_form(kind, 0.0, (), values.shape[1], "copies").same_place
    return count_records(same.placed(values), same, same.placed(asked), limit)


def count_related(
    data: ArrayLike,
    records: ArrayLike,
    relation: Callable[[Matrix, Matrix], bool],
    cap: int | None = None,
) -> Counts:
    """Count, for each record asked about, the data records that a relation of your own relates.

    ``relation(record, other)`` must be a fixed function of the pair and must hold between a
    record and itself; then sensitive privacy holds for it (docs/mechanisms.md 1.1). That it is
    fixed cannot be checked; that it is reflexive is checked for the records asked about.

    Examples
    --------
    >>> count_related([[1], [2], [4]], [[2]], lambda a, b: a[0] % b[0] == 0)
    array([2])
    """
    values = checked_data(data, "count_related")
    asked = checked_records(records, values.shape[1], "count_related")
    limit = checked_cap(cap, len(values), "count_related")
    counts = np.zeros(len(asked), dtype=np.int64)
    for i, record in enumerate(asked):
        if not relation(record, record):
            must = "reflexive: relation(a, a) is true"
            raise invalid("count_related", "relation", must, relation)
        for other in values:
            if counts[i] >= limit:
                break
            counts[i] += bool(relation(record, other))
    return counts
