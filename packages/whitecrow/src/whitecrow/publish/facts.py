"""What must be known of the data: the values of each period (private)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from whitecrow.data import Records
from whitecrow.data.keys import Plain
from whitecrow.neighbours import Engine
from whitecrow.privacy import Facts
from whitecrow.publish.plan import PublicationPlan
from whitecrow.publish.question import Publish
from whitecrow.publish.state import Day
from whitecrow.question import Progress


@dataclass(frozen=True, repr=False, eq=False)
class PublishFacts(Facts):
    """The events of every period to be released."""

    plan: PublicationPlan  # the public side
    exact_days: tuple[Day, ...]  # one for each period, empty ones included


def gather(
    question: Publish,
    dataset: Records,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> PublishFacts:
    """Sort the records into periods; records outside the periods are left out.

    The number of periods is the question's, never the data's. Users' records are within the card's
    contribution bound since they were loaded. One double a record of the periods is held here,
    also where the records are elsewhere.
    """
    periods = question.through
    calendar = question.calendar
    named = [name for name in (question.time, question.column, question.leaves) if name is not None]
    groups, counts = dataset.tally([Plain(name) for name in named])
    columns = dict(zip(named, groups, strict=True))
    arrived = calendar.index(columns[question.time])
    values = (
        np.zeros(len(arrived)) if question.column is None else columns[question.column]
    ).astype(np.float64)
    inside = (arrived >= 0) & (arrived < periods)
    joins = _sorted(arrived[inside], values[inside], counts[inside], periods)
    leaves = [np.empty(0)] * periods
    if question.leaves is not None:
        # Whoever leaves before arriving has left on arrival.
        gone = np.maximum(arrived, calendar.index(columns[question.leaves]))
        leaving = inside & (gone < periods)
        leaves = _sorted(gone[leaving], values[leaving], counts[leaving], periods)
    if progress is not None:
        progress(1, 1, "sorting records into periods")
    plan = question.plan(dataset.card)
    if plan.clip is not None and plan.clip.periods > periods:
        plan = replace(plan, clip=replace(plan.clip, periods=periods))
    return PublishFacts(plan, tuple(map(Day, joins, leaves)))


def _sorted(
    index: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int64],
    periods: int,
) -> list[npt.NDArray[np.float64]]:
    """Return the values of each period, each as often as there are records with it."""
    order = np.argsort(index, kind="stable")
    cuts = np.searchsorted(index[order], np.arange(1, periods))
    pairs = zip(np.split(values[order], cuts), np.split(counts[order], cuts), strict=True)
    return [np.repeat(value, count) for value, count in pairs]
