"""Streams: one update a period, each written down before it is shown."""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import sub
from typing import Any

import numpy as np
import numpy.typing as npt

from whitecrow.custodian import failure, write_down
from whitecrow.data import Card
from whitecrow.errors import InvalidInput, Unavailable, invalid
from whitecrow.noise import Source
from whitecrow.publish.clip import choose
from whitecrow.publish.plan import Plan, Point
from whitecrow.publish.question import Publish
from whitecrow.publish.state import Day, MemoryStore, PublisherState, StateStore
from whitecrow.publish.walk import begin, turn
from whitecrow.question import digest

__all__ = ["Publisher", "advance", "fresh"]

_TRIES = 8

Values = npt.ArrayLike


def fresh(plan: Plan) -> PublisherState:
    """Return the state before the first period."""
    return PublisherState(plan, begin(plan), waiting=None if plan.clip is None else ())


def advance(
    state: PublisherState, day: Day, source: Source | None = None
) -> tuple[PublisherState, tuple[Point, ...]]:
    """Close one period: the new state, and what may be shown once that state is written down.

    A function of its arguments and the randomness it draws; nothing is stored or shown here.

    Parameters
    ----------
    state : PublisherState
        Left as it is.
    day : Day
        The period's events. Every period draws its noise, an empty one too.
    source : Source, optional
        Where the randomness comes from.

    Raises
    ------
    InvalidInput
        Past the horizon.
    """
    plan = state.plan
    if plan.horizon is not None and state.done >= plan.horizon:
        raise InvalidInput(
            f"All {plan.horizon} periods of this publication are closed; "
            "open a new one, with its own price, to go on."
        )
    joins, leaves, used = _bounded(state, day)
    if state.waiting is None:
        after = _close(state, joins, leaves, used, source)
        return after, after.last
    assert plan.clip is not None
    # Values beyond every candidate are one and the same to the choice, and stay finite.
    ends = float(plan.lower), 2 * float(plan.clip.candidates[-1])
    events = tuple(
        tuple(np.clip(values[~np.isnan(values)], *ends).tolist()) for values in (joins, leaves)
    )
    waiting = (*state.waiting, (events[0], events[1]))
    over = len(waiting) >= plan.clip.periods or state.done + 1 == plan.horizon
    if not over:
        return replace(state, done=state.done + 1, waiting=waiting, used=used, last=()), ()
    return _settle(replace(state, waiting=waiting, used=used), source)


def _settle(
    state: PublisherState, source: Source | None
) -> tuple[PublisherState, tuple[Point, ...]]:
    """Choose the clip from the periods that waited, then close them one by one."""
    plan, waiting = state.plan, state.waiting
    assert plan.clip is not None
    assert waiting is not None
    values = np.array([value for joins, _ in waiting for value in joins])
    upper = choose(plan.clip, values, plan.clip_epsilon, plan.contribution, source)
    current = replace(fresh(plan.with_upper(upper)), waiting=None)
    points: list[Point] = []
    for joins, leaves in waiting:
        current = _close(current, np.array(joins), np.array(leaves), state.used, source)
        points.extend(current.last)
    return replace(current, last=tuple(points)), tuple(points)


def _bounded(
    state: PublisherState, day: Day
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], Mapping[str, tuple[int, int]]]:
    """Leave out what is over a user's bound: a function of that user's records alone."""
    if day.join_users is None and day.leave_users is None:
        return day.joins, day.leaves, state.used
    used = dict(state.used)
    kept = []
    for place, (values, users) in enumerate(
        ((day.joins, day.join_users or ()), (day.leaves, day.leave_users or ()))
    ):
        keep = ~np.isnan(values)
        for i in np.flatnonzero(keep).tolist():
            counts = list(used.get(users[i], (0, 0)))
            counts[place] += 1
            if counts[place] > state.plan.contribution:
                keep[i] = False
            else:
                used[users[i]] = (counts[0], counts[1])
        kept.append(values[keep])
    return kept[0], kept[1], used


def _close(
    state: PublisherState,
    joins: npt.NDArray[np.float64],
    leaves: npt.NDArray[np.float64],
    used: Mapping[str, tuple[int, int]],
    source: Source | None,
) -> PublisherState:
    """Draw the noise of one period; the state after it holds the release as its last."""
    plan = state.plan
    stage = plan.stage(state.position.epoch)
    increments = plan.encode(joins)
    if len(leaves):
        increments = tuple(map(sub, increments, plan.encode(leaves)))
    noises = tuple([stage.draw(source) for _ in increments])
    position, released = turn(plan, state.position, increments, noises)
    point = plan.point(state.done + 1, released)
    return PublisherState(plan, position, state.done + 1, None, used, (point,))


class Publisher:
    """A publication that is kept current: give it each period's records, show what it returns.

    The price is paid once, for the whole horizon, when the publication is opened (the curator's
    ``publisher`` does it); updates cost nothing more.

    Parameters
    ----------
    question : Publish
        What is published. ``through`` plays no part here.
    card : Card
        The public facts of the stream.
    store : StateStore, optional
        Where the state survives a restart. Without one it lives as long as this object.
    key : str, optional
        Under which name; by default the question's digest with the card's name.
    source : Source, optional
        Where the randomness comes from.

    Examples
    --------
    >>> from whitecrow.data import Card, Column
    >>> card = Card("trips", (Column("km", lower=0, upper=100), Column("date", "date")))
    >>> question = Publish("km", time="date", start="2019-03-01", horizon=31, rho="1/2")
    >>> publisher = Publisher(question, card)
    >>> publisher.update("2019-03-01", [4.2, 7.9, 1.1])[0].period
    '2019-03-01'
    """

    def __init__(
        self,
        question: Publish,
        card: Card,
        *,
        store: StateStore | None = None,
        key: str = "",
        source: Source | None = None,
    ) -> None:
        question.check(card)
        self.question = question
        self._users = card.unit == "user"
        self._store: StateStore = MemoryStore() if store is None else store
        self._key = key or f"{card.name}:{digest(question)}"
        self._source = source
        plan = question.plan(card)
        kept = self._store.load(self._key)
        if kept is None:
            self._state = fresh(plan)
            if not self._store.save(self._key, 0, self._state.to_store()):
                self._reload()
        else:
            self._state = PublisherState.from_store(kept[1])
        # Once chosen, a private clip stands in the stored plan and nowhere else.
        if replace(self._state.plan, upper=plan.upper) != plan:
            raise InvalidInput("The store holds another publication under this key.")

    @property
    def closed(self) -> int:
        """How many periods are closed."""
        return self._state.done

    @property
    def clip(self) -> tuple[float, float] | None:
        """The clip in force; None while a private choice is still to be made."""
        if self._state.waiting is not None:
            return None
        return float(self._state.plan.lower), float(self._state.plan.upper)

    def update(
        self,
        period: object,
        values: Values = (),
        *,
        users: Sequence[str] | None = None,
        leaves: Values = (),
        leavers: Sequence[str] | None = None,
    ) -> tuple[Point, ...]:
        """Close a period and return what may be shown.

        Parameters
        ----------
        period : str, date or number
            Which period; periods that were passed over are closed as empty first. The period
            closed last gives its stored release again (so that a caller who crashed may ask
            twice); an earlier one is refused: late records belong to the period they arrive in.
        values : array-like
            The records that come: their values (for a count, anything). NaN is left out, values
            outside the clip are moved to it.
        users : sequence of str
            Whose they are; required where the card's unit of privacy is a user.
        leaves, leavers
            The values of records that go, and whose they are; for questions with ``leaves``.
        """
        index = self.question.calendar.position(period)
        self._in_order(index)
        day = self._day(values, users, leaves, leavers)
        if index == self._state.done - 1:
            return self._state.last
        shown: list[Point] = []
        while self._state.done < index:
            shown.extend(self._one(Day(), self._state.done))
        shown.extend(self._one(day, index))
        return tuple(shown)

    def _in_order(self, index: int) -> None:
        if index < 0:
            raise InvalidInput(f"The periods begin at {self.question.calendar.start}.")
        horizon = self.question.horizon
        if horizon is not None and index >= horizon:
            raise InvalidInput(
                f"This publication has {horizon} periods and ends before this one; "
                "open a new one, with its own price, to go on."
            )
        if index < self._state.done - 1:
            last = self.question.calendar.label(self._state.done - 1)
            raise InvalidInput(
                f"The stream is closed up to {last} and does not go back; "
                "late records belong to the period they arrive in."
            )

    def _day(
        self,
        values: Values,
        users: Sequence[str] | None,
        leaves: Values,
        leavers: Sequence[str] | None,
    ) -> Day:
        joins, gone = _numbers("values", values), _numbers("leaves", leaves)
        if len(gone) and not self.question.leaves:
            raise InvalidInput(
                "Records leave only in a question that says so (leaves=...): a leave is one more "
                "event and is paid for."
            )
        if not self._users and users is None and leavers is None:
            return Day(joins, gone)
        for name, count, who in (("users", len(joins), users), ("leavers", len(gone), leavers)):
            if self._users and count and who is None:
                raise invalid("update", name, "given: the unit of privacy is a user", None)
            if who is not None and len(who) != count:
                raise invalid("update", name, "as long as the values", len(who))
        if not self._users:
            return Day(joins, gone)
        return Day(joins, gone, list(map(str, users or ())), list(map(str, leavers or ())))

    def _one(self, day: Day, index: int) -> tuple[Point, ...]:
        """Advance, write down, and only then hand out; start over if another writer was first."""
        for _ in range(_TRIES):
            if self._state.done > index:
                self._in_order(index)
                return self._state.last
            state, written = self._advanced(day)
            if self._store.save(self._key, state.done, written):
                self._state = state
                return state.last
            self._reload()
        raise Unavailable("Another process keeps updating this publication; try again.")

    def _advanced(self, day: Day) -> tuple[PublisherState, dict[str, Any]]:
        """Compute behind the boundary: the next state, and the same as the store keeps it."""
        try:
            state, _ = advance(self._state, day, self._source)
            return state, json.loads(json.dumps(state.to_store(), allow_nan=False))
        except Exception:  # noqa: BLE001 - whatever it was may quote records or sums
            cause = traceback.format_exc()
        write_down(None, "publish", cause)
        self._store.fail()
        raise failure()

    def _reload(self) -> None:
        kept = self._store.load(self._key)
        if kept is None:
            raise Unavailable("The stored state of this publication has gone.")
        self._state = PublisherState.from_store(kept[1])


def _numbers(name: str, values: Values) -> npt.NDArray[np.float64]:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"The '{name}' of an update must be numbers.") from None
    if found.ndim != 1:
        raise InvalidInput(f"The '{name}' of an update must be one list of numbers.")
    return found
