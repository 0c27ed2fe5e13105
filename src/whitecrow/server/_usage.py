"""Rate limits over several machines: each tells the others, through the database, what it took.

A write for each request would cost more than most requests. So each machine answers by its own
buckets, and once a second takes from them what the others took in the meantime. Over several
machines a person can have a burst on each, and then the one rate.
"""

from __future__ import annotations

import secrets
import threading
import time

from sqlalchemy import func, select
from sqlalchemy.dialects import postgresql, sqlite

from whitecrow.errors import NotReady
from whitecrow.server._limits import Limits
from whitecrow.server._store import Store
from whitecrow.server._tables import usage

__all__ = ["Usage"]

_SECONDS = 1.0
_FORGOTTEN = 600.0


class Usage:
    """Keeps the buckets of this machine in step with those of others.

    Parameters
    ----------
    store : Store
        The database that the machines share.
    limits : Limits
        The buckets of this machine.
    """

    def __init__(self, store: Store, limits: Limits) -> None:
        self._store, self._limits = store, limits
        self._machine = secrets.token_hex(8)
        self._told: dict[bytes, float] = {}
        self._known: dict[bytes, float] = {}
        self._ended = threading.Event()

    def start(self) -> None:
        """Begin to tell and to listen, in the background."""
        threading.Thread(target=self._run, name="whitecrow-usage", daemon=True).start()

    def close(self) -> None:
        """Stop."""
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.wait(_SECONDS):
            try:
                if self._limits.leads():
                    self.exchange()
            except NotReady:  # the database is away: the machine goes on by its own buckets
                continue

    def exchange(self) -> None:
        """Tell what was taken here since the last time, and take what was taken elsewhere."""
        taken = self._limits.taken()
        new = {key: number for key, number in taken.items() if number != self._told.get(key)}
        if not new:
            return
        now, names = time.time(), {key.hex(): key for key in new}
        with self._store.transaction(counted=False) as connection:
            add = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
            for name, key in sorted(names.items()):  # in one order: two machines do not deadlock
                row = {"number": new[key], "at": now}
                connection.execute(
                    add(usage)
                    .values(who=name, machine=self._machine, **row)
                    .on_conflict_do_update(index_elements=["who", "machine"], set_=row)
                )
            connection.execute(usage.delete().where(usage.c.at < now - _FORGOTTEN))
            others = (
                select(usage.c.who, func.sum(usage.c.number))
                .where(usage.c.who.in_(names), usage.c.machine != self._machine)
                .group_by(usage.c.who)
            )
            found = {names[who]: float(number) for who, number in connection.execute(others)}
        self._told = taken
        for key in new:
            elsewhere = found.get(key, 0.0)
            more = elsewhere - self._known.get(key, elsewhere)
            if more > 0:
                self._limits.debit(key, more)
        self._known = {**{k: v for k, v in self._known.items() if k in taken}, **found}
