"""What is the outlier's value? From the releases with it and those without it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whitecrow.attack.inference import read_series
from whitecrow.errors import invalid


@dataclass(frozen=True)
class ValueEstimate:
    """What a series of means says of one record's value.

    Parameters
    ----------
    value : float
        The estimate.
    low, high : float
        Where the value lies with the wanted confidence, if the releases vary by Laplace noise.
    """

    value: float
    low: float
    high: float


def estimate_value(
    releases: object,
    *,
    size: int,
    first: int,
    last: int | None = None,
    confidence: float = 0.95,
    column: str | None = None,
) -> ValueEstimate:
    """Estimate a record's value from a series of means, knowing where it took part.

    With n records, the record among them, the mean is (n - 1) times what it was before plus the
    value, over n. Both means are estimated by medians, the noise from the releases without it; its
    scale is taken to follow the mean, as that of the naive release does.

    Parameters
    ----------
    releases : path, data frame, list of numbers, points or an answer of ``Publish``
        The series, in order of time.
    size : int
        Records behind a release, the record included.
    first, last : int
        The releases it took part in, counted from 1; to the end of the series unless said.
    confidence : float
        Of the interval.
    column : str, optional
        Where the releases are in a file or frame.

    Examples
    --------
    >>> found = estimate_value([5.0, 5.1, 4.9, 5.0, 6.0, 6.1, 5.9], size=100, first=5)
    >>> round(found.value)
    105
    """
    values = read_series(releases, column=column).values
    last = len(values) if last is None else last
    if isinstance(size, bool) or not isinstance(size, int) or size < 1:
        raise invalid("estimate_value", "size", "a whole number of at least 1", size)
    inside = np.zeros(len(values), dtype=bool)
    inside[max(first, 1) - 1 : last] = True
    if not 1 <= first <= last <= len(values) or (~inside).sum() < 2:
        must = f"in order, from 1 to {len(values)}, with two releases or more without the record"
        raise invalid("estimate_value", "first and last", must, f"{first} and {last}")
    if not 0 < confidence < 1:
        raise invalid("estimate_value", "confidence", "between 0 and 1", confidence)
    without, joined = float(np.median(values[~inside])), float(np.median(values[inside]))
    spread = float(np.abs(values[~inside] - without).mean())
    wider = spread * max(1.0, abs(joined / without)) if without else spread
    random = np.random.default_rng(0)
    off, before = (
        scale * np.median(random.laplace(size=(2000, int(count))), axis=1)
        for scale, count in ((wider, inside.sum()), (spread, (~inside).sum()))
    )
    half = float(np.quantile(np.abs(size * off - (size - 1) * before), confidence))
    found = size * joined - (size - 1) * without
    return ValueEstimate(found, found - half, found + half)
