"""Streams: one update a period, each written down before it is shown."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from whitecrow.custodian import failure, write_down
from whitecrow.data import Card
from whitecrow.errors import InvalidInput, LedgerBusy, LedgerUnusable, invalid
from whitecrow.noise import Source
from whitecrow.publish.facts import NOTHING, Day, PublisherState
from whitecrow.publish.mechanism import advance, fresh, from_store, to_store
from whitecrow.publish.plan import Point
from whitecrow.publish.question import Publish
from whitecrow.question import digest

_TRIES = 8

Values = npt.ArrayLike


class StateStore(Protocol):
    """Where states are kept: a compare-and-swap on (key, version)."""

    def load(self, key: str) -> tuple[int, Mapping[str, Any]] | None:
        """Return the latest version and its state, or None if there is none."""

    def save(self, key: str, version: int, state: Mapping[str, Any]) -> bool:
        """Write ``version`` durably if the latest is ``version - 1`` (none for version 0).

        Returns False, having written nothing, if another writer was first.
        """

    def fail(self) -> None:
        """Record that an update failed: nothing more is released before somebody has looked."""


class MemoryStore:
    """A store that lives as long as the process: for tests, simulations and short streams.

    Examples
    --------
    >>> store = MemoryStore()
    >>> store.save("k", 0, {"done": 0}), store.save("k", 0, {"done": 0})
    (True, False)
    """

    def __init__(self) -> None:
        self._states: dict[str, tuple[int, Mapping[str, Any]]] = {}
        self._failed = False

    def fail(self) -> None:
        """Take no further state: there is no custodian here who could look."""
        self._failed = True

    def load(self, key: str) -> tuple[int, Mapping[str, Any]] | None:
        return self._states.get(key)

    def save(self, key: str, version: int, state: Mapping[str, Any]) -> bool:
        if self._failed:
            raise failure()
        stored = self._states.get(key)
        if version != (0 if stored is None else stored[0] + 1):
            return False
        self._states[key] = (version, state)
        return True


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
        if question.retired:
            raise InvalidInput(question.retired)
        question.check(card)
        self.question = question
        self._users = card.unit == "user"
        self._store: StateStore = MemoryStore() if store is None else store
        self._key = key or f"{card.name}:{digest(question)}"
        self._source = source
        plan = question.plan(card)
        if self._store.load(self._key) is None:  # unless another writer is first
            self._store.save(self._key, 0, to_store(fresh(plan)))
        self._state = self._stored()
        # Once chosen, a private clip stands in the stored plan and nowhere else.
        if replace(self._state.plan, upper=plan.upper) != plan:
            raise InvalidInput("The store holds another publication under this key.")

    @property
    def closed(self) -> int:
        return self._state.done

    @property
    def clip(self) -> tuple[float, float] | None:
        """The clip in force; None while a private choice is still to be made."""
        plan = self._state.plan
        return None if plan.waits(self.closed) else (float(plan.lower), float(plan.upper))

    def update(
        self,
        period: object,
        values: Values = NOTHING,
        *,
        users: Sequence[str] | None = None,
        leaves: Values = NOTHING,
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
        if index == self.closed - 1:
            return self._state.last
        points: list[Point] = []
        while self.closed < index:
            points.extend(self._closed_period(Day(), self.closed))
        points.extend(self._closed_period(day, index))
        return tuple(points)

    def _in_order(self, index: int) -> None:
        if index < 0:
            raise InvalidInput(f"The periods begin at {self.question.calendar.start}.")
        horizon = self.question.horizon
        if horizon is not None and index >= horizon:
            raise InvalidInput(
                f"This publication has {horizon} periods and ends before this one; "
                "open a new one, with its own price, to go on."
            )
        if index < self.closed - 1:
            last = self.question.calendar.label(self.closed - 1)
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
        for name, count, who in (("users", len(joins), users), ("leavers", len(gone), leavers)):
            if self._users and count and who is None:
                raise invalid("update", name, "given: the unit of privacy is a user", None)
            if who is not None and len(who) != count:
                raise invalid("update", name, "as long as the values", len(who))
        if not self._users:
            return Day(joins, gone)
        return Day(joins, gone, list(map(str, users or ())), list(map(str, leavers or ())))

    def _closed_period(self, day: Day, index: int) -> tuple[Point, ...]:
        """Advance, write down, and only then hand out; start over if another writer was first."""
        for _ in range(_TRIES):
            if self.closed > index:
                self._in_order(index)
                return self._state.last
            state, point = self._advanced(day)
            if self._store.save(self._key, self.closed + 1, point):
                self._state = state
                return self._state.last
            self._state = self._stored()
        raise LedgerBusy("Another process keeps updating this publication; try again.")

    def _advanced(self, day: Day) -> tuple[PublisherState, dict[str, Any]]:
        """Compute behind the boundary: the next state, and the same as the store keeps it."""
        try:
            state = advance(self._state, day, self._source)
            return state, to_store(state)
        except Exception:  # noqa: BLE001 - whatever it was may quote records or sums
            cause = traceback.format_exc()
        write_down(None, "publish", cause)
        self._store.fail()
        raise failure()

    def _stored(self) -> PublisherState:
        stored = self._store.load(self._key)
        if stored is None:
            raise LedgerUnusable("The stored state of this publication has gone.")
        return from_store(stored[1])


def _numbers(name: str, values: Values) -> npt.NDArray[np.float64]:
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"The '{name}' of an update must be numbers.") from None
    if numbers.ndim != 1:
        raise InvalidInput(f"The '{name}' of an update must be one list of numbers.")
    return numbers
