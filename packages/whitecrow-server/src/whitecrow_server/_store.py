"""The service's own tables: a connection of their own to the database the ledger is in.

Every transaction that decides something locks first and reads afterwards, as in the ledger. Each
that writes also counts up a version, so that all workers know at once when what they remember of
people, tokens and access is out of date. The service works if its database takes a write, and soon.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from sqlalchemy import Column, Connection, Float, Integer, MetaData, Row, Select, Table, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import PoolProxiedConnection

from whitecrow.errors import NotReady, WhitecrowError
from whitecrow.ledger.engine import READ_ONLY, engine_for, parsed

_AWAY = "The service's database cannot be used at the moment; try again later."
_WAIT_SECONDS = 30


class Store:
    def __init__(self, url: str) -> None:
        self._engine = engine_for(parsed(url), patience=_WAIT_SECONDS)
        self._looking = threading.Lock()
        self._looker: PoolProxiedConnection | None = None

    def version(self) -> int:
        """How often the service's tables were changed, by whichever worker; cheap to ask."""
        with self._looking:
            # Twice: a connection that is kept for long may have been cut since it was last used.
            for _ in range(2):
                try:
                    cursor = self._connection().cursor()
                    cursor.execute(_VERSION)
                    rows = cursor.fetchall()
                    cursor.close()
                    return int(rows[0][0])
                except (SQLAlchemyError, self._engine.dialect.loaded_dbapi.Error, IndexError):
                    looker, self._looker = self._looker, None
                    if looker is not None:
                        looker.invalidate()
        # Raised outside the handler: the driver's error names statements, and stays behind.
        raise NotReady(_AWAY)

    def _connection(self) -> PoolProxiedConnection:
        """A connection for polling, outside of transactions, so that it sees the newest state."""
        if self._looker is None:
            self._looker = self._engine.raw_connection()
            if self._engine.dialect.name == "postgresql":
                driver: Any = self._looker.driver_connection
                driver.autocommit = True
        return self._looker

    @contextmanager
    def transaction(self, *, write: bool = True, counted: bool = True) -> Iterator[Connection]:
        """Run one transaction; it is durable when the block is left without an error.

        What is written counts up the version, unless ``counted`` is False.
        """
        away = False
        try:
            with self._engine.connect() as connection:
                if not write:
                    connection = connection.execution_options(**READ_ONLY)
                with connection.begin():
                    yield connection
                    if write and counted:
                        connection.execute(_COUNT)
        except (SQLAlchemyError, self._engine.dialect.loaded_dbapi.Error):
            away = True
        if away:  # outside the handler, as above
            raise NotReady(_AWAY)

    def rows(self, query: Select[Any]) -> list[Row[Any]]:
        with self.transaction(write=False) as connection:
            return list(connection.execute(query))

    def row(self, query: Select[Any]) -> Row[Any] | None:
        """Return the first row of a query, or None."""
        return next(iter(self.rows(query)), None)

    def probe(self) -> None:
        """Write a little, and have it on disk; raises if that cannot be done.

        Asked often, it neither changes what workers remember nor grows the store.
        """
        with self.transaction(counted=False) as connection:
            connection.execute(update(probes).values(at=time.time()))

    def close(self) -> None:
        with self._looking:
            if self._looker is not None:
                self._looker.close()
                self._looker = None
        self._engine.dispose()


def put(
    connection: Connection, table: Table, row: Mapping[str, Any], changes: Mapping[str, Any]
) -> None:
    """Insert a row; where one with its key is there already, change that."""
    add = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    new, same = add(table).values(row), list(table.primary_key.columns)
    connection.execute(new.on_conflict_do_update(index_elements=same, set_=dict(changes)))


changes = Table("service_changes", MetaData(), Column("number", Integer, nullable=False))
"""One row: how often the service's tables were changed."""

probes = Table("service_probe", MetaData(), Column("at", Float, nullable=False))
"""One row: when it was last tried whether the database can be written."""

_COUNT = update(changes).values(number=changes.c.number + 1)
_VERSION = "SELECT number FROM service_changes"


K = TypeVar("K")
V = TypeVar("V")

_MOST = 10_000


class VersionedCache(Generic[K, V]):
    """Values that hold as long as a version stands still; errors are never remembered.

    Examples
    --------
    >>> versions = iter([1, 1, 2])
    >>> memory = VersionedCache(lambda: next(versions))
    >>> [memory.get("a", lambda word=word: word) for word in ("old", "unread", "new")]
    ['old', 'old', 'new']
    """

    def __init__(self, version: Callable[[], int]) -> None:
        self._version = version
        self._lock = threading.Lock()
        self._at = -1
        self._values: dict[K, V] = {}

    def get(self, key: K, read: Callable[[], V]) -> V:
        version = self._version()  # first: what is read afterwards is at least as new
        with self._lock:
            if version != self._at:
                self._at, self._values = version, {}
            elif key in self._values:
                return self._values[key]
        value = read()
        with self._lock:
            if version == self._at:
                if len(self._values) >= _MOST:
                    self._values.clear()
                self._values[key] = value
        return value


_HOLDS_SECONDS = 1.0
_MOST_HUNG = 8
"""Each holds a thread and a connection until the database's own limits end it."""

_LEAST_FREE = 16 * 2**20
"""Bytes. Less than that, and the store may not be able to grow by the next answers."""

_SLOW = "The service's database takes no writes at the moment: it does not answer in time."
_FULL = "The service's database takes no writes at the moment: its disk is full."


class _Probe:
    """One try, in a thread of its own: a database that hangs must not hang whoever asks."""

    def __init__(self, store: Store, path: Path | None) -> None:
        self.began, self.done = time.monotonic(), threading.Event()
        self.error: WhitecrowError | None = None
        self._store, self._path = store, path
        threading.Thread(target=self._run, name="whitecrow-probe", daemon=True).start()

    def _run(self) -> None:
        try:
            self._store.probe()
            # A log that was written before is written again without growing: look at the disk too.
            if self._path is not None and shutil.disk_usage(self._path).free < _LEAST_FREE:
                self.error = NotReady(_FULL)
        except WhitecrowError as error:
            self.error = error
        except OSError:
            self.error = NotReady(_SLOW)
        finally:
            self.done.set()

    def stale(self, patience: float) -> bool:
        """Whether it is time to try again; one that has not ended in time has failed."""
        holds = _HOLDS_SECONDS if self.done.is_set() else _HOLDS_SECONDS + patience
        return time.monotonic() - self.began > holds


class Readiness:
    """Probes a store.

    One probe runs at a time, and what it found holds for a second: whoever asks often gets no more
    writes than whoever asks rarely. One that hangs is given up, and another begins: a connection
    that was lost must not decide for ever.
    """

    def __init__(self, store: Store, path: Path | None, *, patience: float = 5.0) -> None:
        self._store, self._path, self._patience = store, path, patience
        self._lock = threading.Lock()
        self._last: _Probe | None = None
        self._hung: list[_Probe] = []

    def check(self) -> None:
        """Return if the database takes writes; raise :class:`NotReady` if it does not."""
        with self._lock:
            self._hung = [probe for probe in self._hung if not probe.done.is_set()]
            probe = self._last
            if probe is None:
                probe = _Probe(self._store, self._path)
            elif probe.stale(self._patience) and len(self._hung) < _MOST_HUNG:
                self._hung.append(probe)
                probe = _Probe(self._store, self._path)
            self._last = probe
        left = probe.began + self._patience - time.monotonic()
        if not probe.done.wait(max(0.0, left)):
            raise NotReady(_SLOW)
        if probe.error is not None:
            raise NotReady(str(probe.error))
