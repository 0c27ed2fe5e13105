"""Counting neighbours in plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whitecrow.errors import invalid
from whitecrow.neighbours.closeness import (
    METRICS,
    Form,
    checked_radius,
    checked_ranges,
    lower,
)

__all__ = ["copies", "count_all", "count_close", "count_related"]

Counts = NDArray[np.int64]
Matrix = NDArray[np.float64]


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
        See :class:`~whitecrow.neighbours.Closeness`.
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
    values, form = _prepared(data, radius, metric, ranges, "count_close")
    asked = _embedded(checked_records(records, data_width(data), "count_close"), metric)
    return _scan(values, asked, form, checked_cap(cap, len(values), "count_close"))


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
    values, form = _prepared(data, radius, metric, ranges, "count_all")
    return _scan(values, values, form, checked_cap(cap, len(values), "count_all"))


def _scan(values: Matrix, asked: Matrix, form: Form, limit: int) -> Counts:
    from whitecrow.neighbours._kernels.scan import count_scanned
    from whitecrow.neighbours._kernels.tables import Relation

    relation = Relation(form.kind, form.threshold, np.array(form.scales), 0.0)
    found: Counts = count_scanned(values, relation, asked, limit, 1)
    return found


def copies(data: ArrayLike, records: ArrayLike, cap: int | None = None) -> Counts:
    """Count, for each record asked about, the data records equal to it in every column.

    Examples
    --------
    >>> copies([[1, 2], [1, 2], [3, 4]], [[1, 2], [0, 0]])
    array([2, 0])
    """
    values = checked_data(data, "copies")
    asked = checked_records(records, values.shape[1], "copies")
    limit = checked_cap(cap, len(values), "copies")
    counts = [int((values == record).all(axis=1).sum()) for record in asked]
    return np.minimum(np.array(counts, dtype=np.int64), limit)


def count_related(
    data: ArrayLike,
    records: ArrayLike,
    relation: Callable[[Matrix, Matrix], bool],
    cap: int | None = None,
) -> Counts:
    """Count, for each record asked about, the data records that a relation of your own relates.

    ``relation(record, other)`` must be a fixed function of the pair and must hold between a
    record and itself; then sensitive privacy holds for it (`mechanisms.md` 1.1). That it is
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
            raise invalid(
                "count_related", "relation", "reflexive: relation(a, a) is true", relation
            )
        for other in values:
            if counts[i] >= limit:
                break
            counts[i] += bool(relation(record, other))
    return counts


def checked_data(data: ArrayLike, owner: str) -> Matrix:
    """Return data as a C-contiguous matrix of doubles, or refuse it."""
    values = _doubles(data, owner, "data")
    if values.ndim != 2 or values.shape[1] < 1:
        raise invalid(owner, "data", "have two dimensions and a column", values.shape)
    return _finite(values, owner, "data")


def checked_records(records: ArrayLike, width: int, owner: str) -> Matrix:
    """Return the records asked about as a matrix of doubles of the data's width."""
    values = _doubles(records, owner, "records")
    if values.ndim == 1:
        values = values.reshape(1, -1)
    if values.ndim != 2 or values.shape[1] != width:
        raise invalid(owner, "records", f"have {width} numbers each", values.shape)
    return _finite(values, owner, "records")


def checked_cap(cap: int | None, size: int, owner: str) -> int:
    """Return the largest count worth knowing: the cap, or the number of records."""
    if cap is None:
        return size
    if isinstance(cap, bool) or not isinstance(cap, int | np.integer) or cap < 1:
        raise invalid(owner, "cap", "a whole number of at least 1, or None", cap)
    return min(int(cap), size)


def data_width(data: ArrayLike) -> int:
    """Return the number of columns."""
    return int(np.shape(data)[1])


def _doubles(values: ArrayLike, owner: str, parameter: str) -> Matrix:
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid(owner, parameter, "an array of numbers", type(values).__name__) from None


def _finite(values: Matrix, owner: str, parameter: str) -> Matrix:
    if not np.isfinite(values).all():
        raise invalid(owner, parameter, "finite numbers", "a value that is missing or infinite")
    return values


def _prepared(
    data: ArrayLike, radius: float, metric: str, ranges: Sequence[float], owner: str
) -> tuple[Matrix, Form]:
    values = checked_data(data, owner)
    if metric not in METRICS:
        raise invalid(owner, "metric", f"one of {', '.join(METRICS)}", metric)
    width = values.shape[1]
    if metric == "haversine" and width != 2:
        raise invalid(owner, "data", "have two columns for haversine", width)
    form = lower(
        metric, checked_radius(owner, radius), checked_ranges(owner, metric, ranges, width), width
    )
    return _embedded(values, metric), form


def _embedded(values: Matrix, metric: str) -> Matrix:
    if metric != "haversine":
        return values
    from whitecrow.neighbours._kernels.metric import on_spheres

    points: Matrix = on_spheres(values)
    return points
