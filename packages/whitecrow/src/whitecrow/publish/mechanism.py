"""The crossing: from the events of each period to released sums, at once or period by period.

:func:`turn` is the step that the proof is about. Nothing is drawn in it, so the verifier can walk
through every outcome by handing in every noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from math import isfinite
from operator import sub
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.errors import InvalidInput
from whitecrow.noise import Source
from whitecrow.publish.clip import choose
from whitecrow.publish.facts import Day, Position, PublisherState, PublishFacts
from whitecrow.publish.plan import Point, PublicationPlan
from whitecrow.publish.question import Publish


def release(question: Publish, facts: PublishFacts, source: Source | None = None) -> dict[str, Any]:
    """Release the whole series, by the same steps as a stream (``proof.md``).

    The answer has ``statistic``, ``view``, ``clip`` (the interval in effect) and ``series``: for
    each period its name, the value, its standard deviation and, for a mean, the noisy count and
    sum.
    """
    state = fresh(facts.plan)
    series: list[Point] = []
    for day in facts.exact_days:
        state = advance(state, day, source)
        series.extend(state.last)
    plan = state.plan
    return {
        "statistic": question.statistic,
        "view": question.view,
        "clip": None if question.column is None else [float(plan.lower), float(plan.upper)],
        "series": [point.to_json() for point in series],
    }


def fresh(plan: PublicationPlan) -> PublisherState:
    """Return the state before the first period."""
    return PublisherState(plan, begin(plan), exact_waiting=None if plan.clip is None else ())


def advance(state: PublisherState, day: Day, source: Source | None = None) -> PublisherState:
    """Close one period: the new state, whose last may be shown once the state is written down.

    A function of its arguments and the randomness it draws; nothing is stored or shown here. Every
    period draws its noise, an empty one too.
    """
    plan = state.plan
    if plan.horizon is not None and state.done >= plan.horizon:
        raise InvalidInput(
            f"All {plan.horizon} periods of this publication are closed; "
            "open a new one, with its own price, to go on."
        )
    joins, leaves, used = _bounded(state, day)
    if state.exact_waiting is None:
        return _close(state, joins, leaves, used, source)
    assert plan.clip is not None
    # Values beyond every candidate are one and the same to the choice, and stay finite.
    ends = float(plan.lower), 2 * float(plan.clip.candidates[-1])
    events = tuple(
        tuple(np.clip(values[~np.isnan(values)], *ends).tolist()) for values in (joins, leaves)
    )
    waiting = (*state.exact_waiting, (events[0], events[1]))
    after = replace(state, done=state.done + 1, exact_waiting=waiting, exact_used=used, last=())
    return after if plan.waits(after.done) else _choose_and_close(after, source)


def _choose_and_close(state: PublisherState, source: Source | None) -> PublisherState:
    """Choose the clip from the periods that waited, then close them one by one."""
    plan, waiting = state.plan, state.exact_waiting
    assert plan.clip is not None
    assert waiting is not None
    values = np.array([value for joins, _ in waiting for value in joins])
    upper = choose(plan.clip, values, plan.clip_epsilon, plan.contribution, source)
    current = replace(fresh(replace(plan, upper=upper)), exact_waiting=None)
    points: list[Point] = []
    for joins, leaves in waiting:
        current = _close(current, np.array(joins), np.array(leaves), state.exact_used, source)
        points.extend(current.last)
    return replace(current, last=tuple(points))


def _bounded(
    state: PublisherState, day: Day
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], Mapping[str, tuple[int, int]]]:
    """Leave out what is over a user's bound: a function of that user's records alone."""
    if day.exact_join_users is None and day.exact_leave_users is None:
        return day.exact_joins, day.exact_leaves, state.exact_used
    used = dict(state.exact_used)
    values_within = []
    joins = day.exact_joins, day.exact_join_users or ()
    leaves = day.exact_leaves, day.exact_leave_users or ()
    for index, (values, users) in enumerate((joins, leaves)):
        keep = ~np.isnan(values)
        for i in np.flatnonzero(keep).tolist():
            counts = list(used.get(users[i], (0, 0)))
            counts[index] += 1
            if counts[index] > state.plan.contribution:
                keep[i] = False
            else:
                used[users[i]] = (counts[0], counts[1])
        values_within.append(values[keep])
    return values_within[0], values_within[1], used


def _close(
    state: PublisherState,
    joins: npt.NDArray[np.float64],
    leaves: npt.NDArray[np.float64],
    used: Mapping[str, tuple[int, int]],
    source: Source | None,
) -> PublisherState:
    """Draw the noise of one period; the state after it holds the release as its last."""
    plan = state.plan
    stage = plan.stage(state.exact_position.epoch)
    increments = plan.encode(joins)
    if len(leaves):
        increments = tuple(map(sub, increments, plan.encode(leaves)))
    noises = tuple([stage.draw(state.exact_position.within, source) for _ in increments])
    position, released = turn(plan, state.exact_position, increments, noises)
    point = plan.point(state.done + 1, released)
    return PublisherState(plan, position, state.done + 1, None, used, (point,))


def begin(plan: PublicationPlan) -> Position:
    """Return where the sums stand before the first period."""
    return Position(0, 0, (plan.stage(0).counter.start(),) * plan.channels, (0,) * plan.channels)


def turn(
    plan: PublicationPlan, position: Position, increments: tuple[int, ...], noises: tuple[int, ...]
) -> tuple[Position, tuple[int, ...]]:
    """Close one period: the new position, and the released running sums in refined units."""
    stage = plan.stage(position.epoch)
    step, bits = stage.counter.step, stage.counter.bits
    memories, released = [], []
    inputs = zip(position.exact_memories, position.base, increments, noises, strict=True)
    for memory, base, increment, noise in inputs:
        memory, sum_now = step(memory, increment << bits, noise)
        memories.append(memory)
        released.append(base + sum_now)
    shown = tuple(released)
    if position.within + 1 < stage.length:
        after = Position(position.epoch, position.within + 1, tuple(memories), position.base)
    elif plan.view == "each_period":
        after = Position(position.epoch + 1, 0, tuple(memories), position.base)
    else:
        # A new epoch starts from what was released, so no event has a part in two epochs.
        start = plan.stage(position.epoch + 1).counter.start()
        after = Position(position.epoch + 1, 0, (start,) * len(shown), shown)
    return after, shown


_LONGEST = 14_000  # bits of a whole number that Python writes in digits without being told to


def to_store(state: PublisherState) -> dict[str, Any]:
    """Return a state as a plain JSON object for the custodian's store. It is private.

    What could not be written is refused here, behind the boundary.
    """
    position = state.exact_position
    if max(map(int.bit_length, chain(position.base, *position.exact_memories))) > _LONGEST:
        raise OverflowError("a whole number of the state is too long to be written")
    for point in state.last:
        if not isfinite((point.value or 0.0) + (point.error or 0.0) + (point.total or 0.0)):
            raise OverflowError("a release is not a number")
    return {
        "plan": state.plan.to_json(),
        "done": state.done,
        "epoch": position.epoch,
        "within": position.within,
        "memories": position.exact_memories,
        "base": position.base,
        "waiting": state.exact_waiting,
        "used": state.exact_used,
        "last": [point.to_json() for point in state.last],
    }


def from_store(data: Mapping[str, Any]) -> PublisherState:
    """Read what :func:`to_store` wrote; whole numbers of any length stay exact."""
    try:
        waiting, memories = data["waiting"], tuple(map(tuple, data["memories"]))
        return PublisherState(
            plan=PublicationPlan.from_json(data["plan"]),
            exact_position=Position(data["epoch"], data["within"], memories, tuple(data["base"])),
            done=data["done"],
            exact_waiting=None
            if waiting is None
            else tuple((tuple(joins), tuple(leaves)) for joins, leaves in waiting),
            exact_used={user: (counts[0], counts[1]) for user, counts in data["used"].items()},
            last=tuple(Point(**point) for point in data["last"]),
        )
    except (KeyError, TypeError, ValueError, IndexError):
        # Nothing of the state may be quoted: it is private.
        raise InvalidInput("The stored state of this publication is not readable.") from None
