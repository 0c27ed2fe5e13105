"""Rate limits over several machines: one bucket for each person, in the database they share.

Machines borrow from it, some requests at a time (:mod:`whitecrow_server._limits`). What is lent is
lent by the database's clock, under the row's lock: all together get no more than one would.
"""

from __future__ import annotations

import time

from sqlalchemy import Float, cast, func
from sqlalchemy.dialects import postgresql

from whitecrow_server._store import Store
from whitecrow_server._tables import buckets

_FORGOTTEN = 600.0
_NOW = cast(func.extract("epoch", func.statement_timestamp()), Float)


class Buckets:
    """Lends requests."""

    def __init__(self, store: Store, rate: float, capacity: int) -> None:
        self._store, self._rate, self._capacity = store, rate, capacity
        self._swept = time.monotonic()

    def lend(self, who: str, wanted: int) -> tuple[int, float]:
        """How many of those wanted there are, and in how many seconds there is one more."""
        # Whoever waited for the row's lock began earlier than it was last written.
        passed = func.greatest(0.0, _NOW - buckets.c.at)
        level = func.least(float(self._capacity), buckets.c.left + self._rate * passed)
        granted = func.least(float(wanted), func.floor(level))
        first = {"left": float(self._capacity - wanted), "at": _NOW, "granted": float(wanted)}
        more = {
            "left": level - granted,
            "at": func.greatest(buckets.c.at, _NOW),
            "granted": granted,
        }
        with self._store.transaction(counted=False) as connection:
            # A crash may forget what was lent just now; nobody needs to wait for the disk.
            connection.exec_driver_sql("SET LOCAL synchronous_commit TO OFF")
            row = connection.execute(
                postgresql.insert(buckets)
                .values(who=who, **first)
                .on_conflict_do_update(index_elements=["who"], set_=more)
                .returning(buckets.c.granted, buckets.c.left)
            ).one()
            if time.monotonic() - self._swept > _FORGOTTEN:
                self._swept = time.monotonic()
                full = max(_FORGOTTEN, self._capacity / self._rate)  # by then it is
                connection.execute(buckets.delete().where(buckets.c.at < _NOW - full))
        return int(row.granted), max(0.0, 1 - row.left) / self._rate
