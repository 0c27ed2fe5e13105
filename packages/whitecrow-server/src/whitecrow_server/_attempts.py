"""How often somebody may try to sign in: attempts, counted before they are looked at."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, case, select, update
from sqlalchemy.dialects import postgresql, sqlite

from whitecrow.errors import TooMany
from whitecrow_server._settings import Settings
from whitecrow_server._store import Store
from whitecrow_server._tables import failures

_ADDRESS_FACTOR = 10  # an address may serve many people


class _Counter(NamedTuple):
    """How many attempts may be counted under a name within so many seconds.

    With ``begins_anew`` the time runs from the newest attempt, else from the first.
    """

    who: str
    most: int
    window: float
    begins_anew: bool = True


class Attempts:
    """The counters of all workers, in one table."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings

    def count(self, name: str, address: str) -> None:
        """Count an attempt before its password is looked at, or refuse it.

        Were only failures counted, after the hash, any number of guesses sent at once would all be
        looked at. Workers count in one row, which the database adds to.
        """
        self._count(self._counters(name, address))

    def count_code(self, name: str) -> None:
        """Count an attempt with the right password before its code is looked at, or refuse it."""
        self._count([_codes(name)])

    def forget(self, name: str, address: str) -> None:
        """Take back what a right password was counted as; a name starts anew."""
        mine, *others = self._counters(name, address)
        with self._store.transaction(counted=False) as connection:
            connection.execute(failures.delete().where(failures.c.who == mine.who))
            _take_back(connection, others)

    def unlock(self, name: str) -> None:
        """Let somebody try again at once, whose sign-in was locked."""
        mine = [counter.who for counter in (*self._counters(name, ""), _codes(name))]
        with self._store.transaction(counted=False) as connection:
            connection.execute(failures.delete().where(failures.c.who.in_(mine)))

    def _count(self, counters: Sequence[_Counter]) -> None:
        now = time.time()
        # Read first: whoever is locked out already has nobody else wait for the place to write.
        with self._store.transaction(write=False) as connection:
            for who, most, window, _ in counters:
                locked = (failures.c.who == who, failures.c.since >= now - window)
                row = connection.execute(select(failures).where(*locked)).one_or_none()
                if row is not None and row.number >= most:
                    raise TooMany(after=max(1, math.ceil(row.since + window - now)))
        with self._store.transaction(counted=False) as connection:
            add = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
            for who, most, window, begins_anew in counters:
                same = failures.c.who.startswith(f"{who.split()[0]} ", autoescape=True)
                connection.execute(failures.delete().where(same, failures.c.since < now - window))
                changes = {"number": failures.c.number + 1}
                if begins_anew:
                    # A refusal does not make the lock last longer.
                    since = case((failures.c.number < most, now), else_=failures.c.since)
                    changes["since"] = since
                connection.execute(
                    add(failures)
                    .values(who=who, number=1, since=now)
                    .on_conflict_do_update(index_elements=["who"], set_=changes)
                )
                row = connection.execute(select(failures).where(failures.c.who == who)).one()
                if row.number > most:  # undone with the transaction
                    raise TooMany(after=max(1, math.ceil(row.since + window - now)))

    def _counters(self, name: str, address: str) -> list[_Counter]:
        most, window = self._settings.lock_after, self._settings.lock_minutes * 60
        counters = [_Counter(f"name {name}"[:100], most, window)]
        if address:
            counters.append(_Counter(f"address {address}"[:100], most * _ADDRESS_FACTOR, window))
        return counters


def take_back_code(connection: Connection, name: str) -> None:
    """Do not count an attempt whose code was right."""
    _take_back(connection, [_codes(name)])


def forget_codes(connection: Connection, name: str) -> None:
    """Begin anew with the codes of somebody whose factor is another one, or gone."""
    connection.execute(failures.delete().where(failures.c.who == _codes(name).who))


def _codes(name: str) -> _Counter:
    """Codes that were tried after the right password: whoever tries many knows the password.

    A guess is right with probability 3 in a million. Five in a quarter of an hour, for ever, would
    find a code within a year or two; fifty a month take 500 years.
    """
    return _Counter(f"code {name}"[:100], 50, 30 * 86_400.0, begins_anew=False)


def _take_back(connection: Connection, counters: Sequence[_Counter]) -> None:
    mine = failures.c.who.in_([counter.who for counter in counters])
    fewer = {"number": failures.c.number - 1}
    connection.execute(update(failures).where(mine, failures.c.number > 0).values(fewer))
