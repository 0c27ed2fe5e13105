"""Streams to attack: days of values with outliers in some of them, made as the paper says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.data import Card, Column
from whitecrow.noise import Source
from whitecrow.publish import Day, PublicationPlan, Publish, advance, fresh

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
    rng: np.random.Generator,
    *,
    size: int = 55,
    days: int = DAYS,
    outliers: int = 20,
    deviation: float = 4.6,
) -> Stream:
    """Trips like Porto's: about ``size`` a day, a skewed body, and some very long ones.

    The body is log-normal with the paper's mean of 5.45 km and a standard deviation, 4.6 km unless
    given, cut below the threshold; the outliers lie between 71.41 and 143 km, on random days. The
    data themselves are not available.
    """
    sigma = np.sqrt(np.log1p((deviation / MEAN) ** 2))
    counts = np.maximum(1, rng.poisson(size, days))
    trips = [
        np.minimum(rng.lognormal(np.log(MEAN) - sigma**2 / 2, sigma, n), OUTLIER) for n in counts
    ]
    for day in rng.integers(days, size=outliers):
        trips[day] = np.append(trips[day], rng.uniform(1.0, 2.0) * OUTLIER + 1e-9)
    return Stream(tuple(trips), OUTLIER)


def plan_for(days: int, clip: tuple[float, float], **given: Any) -> PublicationPlan:
    """Return the public plan of a mean over ``days`` periods, as our publisher is asked for it."""
    card = Card("stream", (Column("value", lower=clip[0], upper=clip[1]), Column("t", "integer")))
    question = Publish("value", time="t", start=0, period=1, horizon=days, **given)
    return question.plan(card)


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
    state = fresh(plan_for(len(days), clip, view=view, **budget))
    shown = [(clip[0] + clip[1]) / 2]
    for day in days:
        state = advance(state, Day(np.asarray(day, dtype=np.float64)), source)
        value = state.last[0].value
        shown.append(shown[-1] if value is None else value)
    return np.array(shown[1:])
