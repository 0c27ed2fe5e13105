"""What comes in from outside: arrays and parameters, checked once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whitecrow.errors import invalid
from whitecrow.neighbours.relation import (
    METRICS,
    Form,
    checked_radius,
    checked_ranges,
    lower,
    on_sphere,
)

__all__ = ["checked_cap", "checked_data", "checked_form", "checked_records", "embedded"]

Matrix = NDArray[np.float64]

_FEW = 256
"""Points that plain Python moves to the sphere sooner than the compiler is loaded."""
_LARGE = 100_000


def checked_data(data: ArrayLike, owner: str) -> Matrix:
    """Return data as a C-contiguous matrix of doubles, or refuse it."""
    values = _doubles(data, owner, "data")
    if values.ndim != 2 or values.shape[1] < 1:
        raise invalid(owner, "data", "have two dimensions and at least one column", values.shape)
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


def checked_form(
    metric: str, radius: float, ranges: Sequence[float], width: int, owner: str
) -> Form:
    """Return the measure and the threshold of a metric and a radius."""
    if metric not in METRICS:
        raise invalid(owner, "metric", f"one of {', '.join(METRICS)}", metric)
    if metric == "haversine" and width != 2:
        raise invalid(owner, "data", "have two columns for haversine", width)
    checked = checked_ranges(owner, metric, ranges, width)
    return lower(metric, checked_radius(owner, radius), checked, width)


def embedded(values: Matrix, metric: str) -> Matrix:
    """Return the vectors that the measure compares: for haversine, points of the unit sphere."""
    if metric != "haversine":
        return values
    if len(values) <= _FEW:
        return np.array([on_sphere(*place) for place in values.tolist()]).reshape(-1, 3)
    from whitecrow.neighbours._kernels.metric import on_spheres

    points: Matrix = on_spheres(values)
    return points


def _doubles(values: ArrayLike, owner: str, parameter: str) -> Matrix:
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid(owner, parameter, "an array of numbers", type(values).__name__) from None


def _finite(values: Matrix, owner: str, parameter: str) -> Matrix:
    if values.size > _LARGE:
        # A sum that is finite has finite terms, and is had for less.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.sum(values)):
                return values
    if not np.isfinite(values).all():
        raise invalid(owner, parameter, "finite numbers", "a value that is missing or infinite")
    return values
