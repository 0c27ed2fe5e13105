"""Streams to attack: days of values with outliers in some of them, made as the paper says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.data import Card, Column
from whitecrow.errors import invalid
from whitecrow.noise import Source
from whitecrow.publish import PublicationPlan, Publish, advance, fresh
from whitecrow.publish.state import Day

Floats = npt.NDArray[np.float64]

MEAN = 5.45  # km: the average trip of the paper
OUTLIER = 71.41  # km: the paper's threshold
DAYS = 365


@dataclass(frozen=True)
class Stream:
    """Days of values, and the threshold above which a value is called an outlier."""

    days: tuple[Floats, ...]
    limit: float

    @property
    def outlying(self) -> npt.NDArray[np.bool_]:
        """Which days hold an outlier."""
        return np.array([bool((day > self.limit).any()) for day in self.days])


def porto_like(
    rng: np.random.Generator, *, size: int = 55, days: int = DAYS, outliers: int = 20
) -> Stream:
    """Trips like Porto's: about ``size`` a day, a skewed body, and some very long ones.

    The body is log-normal with the paper's mean of 5.45 km and a standard deviation of 4.6 km, cut
    below the threshold; the outliers lie between 71.41 and 143 km, on random days. The data
    themselves are not to be had.
    """
    sigma = np.sqrt(np.log1p((4.6 / MEAN) ** 2))
    counts = np.maximum(1, rng.poisson(size, days))
    found = [
        np.minimum(rng.lognormal(np.log(MEAN) - sigma**2 / 2, sigma, n), OUTLIER) for n in counts
    ]
    for day in rng.integers(days, size=outliers):
        found[day] = np.append(found[day], rng.uniform(1.0, 2.0) * OUTLIER + 1e-9)
    return Stream(tuple(found), OUTLIER)


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


def bootstrap(
    rng: np.random.Generator, values: npt.ArrayLike, *, size: int = 55, days: int = DAYS
) -> Stream:
    """Days drawn from a sample of real trips; the top 0.1 % are called outliers."""
    pool = np.asarray(values, dtype=np.float64)
    counts = np.maximum(1, rng.poisson(size, days))
    limit = float(np.quantile(pool, 0.999))
    return Stream(tuple(rng.choice(pool, n) for n in counts), limit)


def with_outlier(stream: Stream, day: int, value: float) -> Stream:
    """Return the stream with one more record on one day."""
    if not 0 <= day < len(stream.days):
        raise invalid("with_outlier", "day", "one of the stream's", day)
    days = list(stream.days)
    days[day] = np.append(days[day], value)
    return Stream(tuple(days), stream.limit)


@dataclass(frozen=True)
class Published:
    """A question on a made-up stream, and its public plan."""

    question: Publish
    plan: PublicationPlan


def question_for(days: int, clip: tuple[float, float], **given: Any) -> Published:
    """Return the question of a mean over ``days`` periods, as our publisher is asked."""
    card = Card("stream", (Column("value", lower=clip[0], upper=clip[1]), Column("t", "integer")))
    question = Publish("value", time="t", start=0, period=1, horizon=days, **given)
    return Published(question, question.plan(card))


def publish_days(
    days: Sequence[npt.ArrayLike],
    *,
    clip: tuple[float, float],
    source: Source | None = None,
    view: str = "each_period",
    **budget: Any,
) -> Floats:
    """Release the mean of each day (or to date) with our publisher, as a series to attack.

    A mean without a denominator (all noise) repeats the last one: the reader sees nothing new.
    """
    state = fresh(question_for(len(days), clip, view=view, **budget).plan)
    last, shown = (clip[0] + clip[1]) / 2, []
    for day in days:
        state, (point,) = advance(state, Day(np.asarray(day, dtype=np.float64)), source)
        last = last if point.value is None else point.value
        shown.append(last)
    return np.array(shown)
