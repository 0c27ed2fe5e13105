"""What must be known of the data, and what a publisher remembers of it. All private."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from whitecrow.data import Records
from whitecrow.data.dataset import Plain
from whitecrow.neighbours import Engine
from whitecrow.privacy import Facts
from whitecrow.publish.counters import Memory
from whitecrow.publish.plan import Point, PublicationPlan
from whitecrow.publish.question import Publish
from whitecrow.question import Progress

NOTHING = np.empty(0)


@dataclass(frozen=True, repr=False, eq=False)
class Day(Facts):
    """The events of one period."""

    # exact_joins, exact_leaves: The values of records that come and of records that go; NaN stands
    # for no value.
    exact_joins: npt.NDArray[np.float64] = field(default_factory=lambda: NOTHING)
    exact_leaves: npt.NDArray[np.float64] = field(default_factory=lambda: NOTHING)
    # exact_join_users, exact_leave_users: Who they belong to, where the unit of privacy is a user.
    exact_join_users: Sequence[str] | None = None
    exact_leave_users: Sequence[str] | None = None


@dataclass(frozen=True, repr=False, eq=False)
class Position(Facts):
    """Where the running sums stand; private."""

    # epoch, within: Which epoch runs and how many of its periods are closed.
    epoch: int
    within: int
    exact_memories: tuple[Memory, ...]  # one counter memory for each channel
    base: tuple[int, ...]  # the released totals of the epochs that are over, one for each channel


@dataclass(frozen=True, repr=False, eq=False)
class PublisherState(Facts):
    """Everything a publisher must remember: exact sums and the noise already drawn.

    It stays with the custodian, and it is written down *before* a release made from it is shown. A
    crash between two updates then neither repeats noise (the release that was shown is in the
    state) nor loses it.
    """

    plan: PublicationPlan  # the public side
    exact_position: Position  # where the running sums stand
    done: int = 0  # how many periods are closed; also the version of the stored state
    # Joins and leaves that wait for the private choice of the clip; None once it is made.
    exact_waiting: tuple[tuple[tuple[float, ...], tuple[float, ...]], ...] | None = None
    # How many joins and leaves each user has made, where the unit of privacy is a user.
    exact_used: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    last: tuple[Point, ...] = ()  # what the latest update released


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
    leaves = [NOTHING] * periods
    if question.leaves is not None:
        # Whoever leaves before arriving has left on arrival.
        gone = np.maximum(arrived, calendar.index(columns[question.leaves]))
        leaving = inside & (gone < periods)
        leaves = _sorted(gone[leaving], values[leaving], counts[leaving], periods)
    if progress is not None:
        progress(1, 1, "sorting records into periods")
    plan = question.plan(dataset.card)
    if plan.clip is not None and plan.clip.periods > periods:
        plan = replace(plan, clip=plan.clip.replace(periods=periods))
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
