"""The paper's synthetic data, in two readings, and days drawn from real trips."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from whitecrow.attack.streams import DAYS, MEAN, Stream


def gaussian(
    rng: np.random.Generator,
    *,
    size: int,
    deviation: float = 4.6,
    days: int = DAYS,
    outliers: int = 39,
) -> Stream:
    """The paper's synthetic data: a normal law fitted to the trips, the largest called outliers.

    The paper's quantile (0.001 %) does not agree with its 20 to 24 outlying segments (erratum
    E26); about 39 outliers give 24 of 36 segments.
    """
    values = rng.normal(MEAN, deviation, (days, size))
    limit = np.partition(values, -outliers - 1, axis=None)[-outliers - 1]
    return Stream(tuple(values), float(limit))


def refitted(rng: np.random.Generator, stream: Stream, *, size: int) -> Stream:
    """As many values a day from a normal law fitted to each day; the top 0.1 % are outliers.

    A day with a very long trip gets a wide law, and with it most of the year's outliers.
    """
    means, deviations = (
        np.array([getattr(day, name)() for day in stream.days])[:, None] for name in ("mean", "std")
    )
    values = rng.normal(means, deviations, (len(stream.days), size))
    beyond = max(1, round(values.size / 1000))
    limit = np.partition(values, -beyond - 1, axis=None)[-beyond - 1]
    return Stream(tuple(values), float(limit))


def bootstrap(
    rng: np.random.Generator, values: npt.ArrayLike, *, size: int = 55, days: int = DAYS
) -> Stream:
    """Days drawn from a sample of real trips; the top 0.1 % are called outliers."""
    pool = np.asarray(values, dtype=np.float64)
    counts = np.maximum(1, rng.poisson(size, days))
    limit = float(np.quantile(pool, 0.999))
    return Stream(tuple(rng.choice(pool, n) for n in counts), limit)
