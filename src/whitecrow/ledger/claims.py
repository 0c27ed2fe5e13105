"""Who is computing which answer right now.

Two processes may hold the same reservation: one that paid and one that asks the same question a
moment later, or after a crash. Only one of them may draw an answer: were both to draw and the
faster to win, the released answer would depend on the time each took. So whoever computes holds a
claim, a lock that the operating system or the database server takes away when its holder dies; no
clock decides.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Protocol

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from whitecrow.ledger import locks
from whitecrow.ledger.database import Database

__all__ = ["Claim", "Claims", "claims_of"]


class Claim(Protocol):
    """A lock that is held."""

    def release(self) -> None:
        """Give it up; twice does no harm."""


class Claims(Protocol):
    """The locks of one store."""

    def take(self, dataset: int, seq: int) -> Claim | None:
        """Take the lock on a reservation, or return None while somebody holds it."""


def claims_of(database: Database) -> Claims:
    """Return the locks that fit a store."""
    if database.path is not None:
        return _FileClaims(database.path)
    return _MemoryClaims() if database.in_memory else _ServerClaims(database)


class _MemoryClaims:
    """For a store in memory: the threads of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: set[tuple[int, int]] = set()

    def take(self, dataset: int, seq: int) -> Claim | None:
        with self._lock:
            if (dataset, seq) in self._held:
                return None
            self._held.add((dataset, seq))
        return _MemoryClaim(self._held, (dataset, seq))


class _MemoryClaim:
    def __init__(self, held: set[tuple[int, int]], key: tuple[int, int]) -> None:
        self._held, self._key = held, key

    def release(self) -> None:
        self._held.discard(self._key)


class _FileClaims:
    """For SQLite: one byte of a file beside the store, locked through an open file description."""

    def __init__(self, path: Path) -> None:
        self._store = path
        self._path = path.with_name(f"{path.name}-claims")

    def take(self, dataset: int, seq: int) -> Claim | None:
        mode = self._store.stat().st_mode & 0o777  # whoever may use the store may use its claims
        descriptor = locks.opened(self._path, mode)
        place = (dataset << 40) + seq
        if not locks.take(descriptor, place):
            os.close(descriptor)
            return None
        return _FileClaim(descriptor, place)


class _FileClaim:
    def __init__(self, descriptor: int, place: int) -> None:
        self._descriptor: int | None = descriptor
        self._place = place

    def release(self) -> None:
        if self._descriptor is not None:
            # A child forked meanwhile has the descriptor too: closing ours alone would not do.
            locks.free(self._descriptor, self._place)
            os.close(self._descriptor)
            self._descriptor = None


class _ServerClaims:
    """For PostgreSQL: an advisory lock, held by a connection of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, dataset: int, seq: int) -> Claim | None:
        connection = self._database.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        key = {"dataset": dataset, "seq": seq}
        taken = connection.execute(
            text("SELECT pg_try_advisory_lock(:dataset, :seq)"), key
        ).scalar_one()
        if not taken:
            connection.close()
            return None
        return _ServerClaim(connection, key)


class _ServerClaim:
    def __init__(self, connection: Connection, key: dict[str, int]) -> None:
        self._connection: Connection | None = connection
        self._key = key

    def release(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            connection.execute(text("SELECT pg_advisory_unlock(:dataset, :seq)"), self._key)
            connection.close()
        except SQLAlchemyError:
            connection.invalidate()  # the server has dropped the lock with the connection
            connection.close()
