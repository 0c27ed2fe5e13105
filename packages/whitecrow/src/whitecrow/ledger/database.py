"""Transactions of the ledger, each on a connection of its engine.

Three things make writing fast, each measured with and without (benchmarks.ledger_parts;
docs/ledger.md has the numbers). Threads of one process that write at the same moment share a
transaction, hence a flush to disk, each in a savepoint of its own (SQLite only; PostgreSQL groups
commits itself). Statements are SQLAlchemy's, compiled once and handed to the driver. Whoever finds
SQLite's file taken by another process asks again after a millisecond: SQLite's own pauses grow, and
between busy processes some would wait for seconds while others go on.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
import threading
import time
from collections import deque, namedtuple
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

from sqlalchemy import Connection, Engine
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import PoolProxiedConnection
from sqlalchemy.sql import Executable

from whitecrow.errors import LedgerBusy, LedgerUnusable, NeedsLinux, WhitecrowError
from whitecrow.ledger.engine import engine_for, is_in_memory, parsed, translated

PATIENCE_SECONDS = 60.0
"""How long a transaction waits for its turn before it gives up."""

_POLL_SECONDS = 0.001
"""How often a process that finds the file taken asks again."""

_ONE_MOMENT = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
"""What PostgreSQL must be told for all reads of a transaction to see the same moment."""

A = TypeVar("A")
T = TypeVar("T")


class Database:
    """A store that runs transactions and speaks in whitecrow's errors.

    Parameters
    ----------
    url : str or Path
        ``sqlite:///file``, ``sqlite://`` (in memory), ``postgresql+psycopg://...``, or a file name.
    """

    def __init__(self, url: str | Path) -> None:
        self.url = parsed(url)
        # What messages call the store instead of its address, where strangers may read them.
        self.label: str | None = None
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.in_memory = is_in_memory(self.url)
        if self.path is not None:
            _make_private(self.path)
        self._start()

    def _start(self) -> None:
        self._engine = engine_for(self.url, patience=PATIENCE_SECONDS)
        self._compiler = Compiler(self._engine.dialect)
        self._process = os.getpid()
        self.failures = (SQLAlchemyError, OSError, self._engine.dialect.loaded_dbapi.Error)
        self._turn = threading.RLock()
        self._line = GroupCommit(self._work, PATIENCE_SECONDS)

    @property
    def path(self) -> Path | None:
        """The file of an SQLite store; None for others."""
        if not self.is_sqlite or is_in_memory(self.url):
            return None
        return Path(str(self.url.database))

    @property
    def name(self) -> str:
        """How to call the store in messages; without a password."""
        return self.label or self.url.render_as_string(hide_password=True)

    @property
    def engine(self) -> Engine:
        """The engine, renewed in a forked process: connections must not be shared across a fork."""
        if os.getpid() != self._process:
            if self.in_memory:
                raise LedgerUnusable(
                    "A ledger in memory cannot be used by a second process; give the ledger a file."
                )
            # What belongs to the other process is left alone: not used, and not closed either.
            self._engine.dispose(close=False)
            self._start()
        return self._engine

    # Transactions

    def read(self, act: Callable[[Session], T]) -> T:
        """Run a transaction that changes nothing."""
        # One connection serves all threads of a store in memory; they take turns.
        turn = self._turn if self.in_memory else nullcontext()
        with turn, self._session("BEGIN" if self.is_sqlite else _ONE_MOMENT) as session:
            return act(session)

    def write(self, act: Callable[[Session], T]) -> T:
        """Run a transaction; when this returns, what it did is durable.

        Other writers' acts may run in the same transaction. An act that raises is undone alone.
        """
        engine = self.engine  # first of all: a fork has its own line
        if engine.dialect.name != "sqlite":
            with self._session("") as session:
                return act(session)
        failure: WhitecrowError | None = None
        try:
            return self._line.run(act)
        except self.failures as error:
            failure = translated(error, self.name)
        raise failure

    def _work(self, fetch: Callable[[], list[Job[Session]]]) -> None:
        """Do all that waits in line in one transaction."""
        with self._turn, self._session("") as session:
            _begin_writing(session)
            jobs = fetch()
            if len(jobs) == 1:
                jobs[0].result = jobs[0].act(session)
                return
            for job in jobs:
                _act_apart(job, session)

    @contextmanager
    def _session(self, begin: str) -> Iterator[Session]:
        failure: WhitecrowError | None = None
        try:
            raw = self.engine.raw_connection()
            try:
                with self._without_waiting(raw):
                    session = Session(raw, self._compiler)
                    if begin:
                        session.command(begin)
                    yield session
                    raw.commit()
                # Nothing is left to do unless no result had come back to say that a transaction is
                # open: then the commit above was taken for needless.
                raw.commit()
            except BaseException:
                try:
                    raw.rollback()
                except self.failures:
                    raw.invalidate()
                raise
            finally:
                raw.close()
        except self.failures as error:
            failure = translated(error, self.name)
        # Raised outside the handler: the driver's error names statements, and stays behind.
        if failure is not None:
            raise failure

    def _without_waiting(self, raw: PoolProxiedConnection) -> AbstractContextManager[object]:
        """Send statements to PostgreSQL that return nothing together with the one that follows.

        Whatever fails among them fails at the next query, or at the commit at the latest.
        """
        driver: Any = raw.driver_connection
        return nullcontext() if self.is_sqlite else driver.pipeline()

    def joined(self, connection: Connection) -> Session:
        """The transaction that somebody else has open on a connection to this store."""
        return Session(connection.connection, self._compiler)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A writing transaction as SQLAlchemy has it, for changes of the schema."""
        failure: WhitecrowError | None = None
        try:
            with self._turn, self.engine.begin() as connection:
                yield connection
        except self.failures as error:
            failure = translated(error, self.name)
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Give all connections back."""
        self._engine.dispose()


def _begin_writing(session: Session) -> None:
    """Begin a transaction that writes as soon as no other process has one."""
    until = time.monotonic() + PATIENCE_SECONDS
    session.command("PRAGMA busy_timeout=0")
    try:
        while True:
            try:
                return session.command("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(_POLL_SECONDS)
    finally:
        session.command(f"PRAGMA busy_timeout={round(1000 * PATIENCE_SECONDS)}")


def _act_apart(job: Job[Session], session: Session) -> None:
    """Act among others; undo what an act that raises has done, and nothing else."""
    session.command("SAVEPOINT act")
    try:
        job.result = job.act(session)
    except Exception as error:  # noqa: BLE001 - it is raised where the act came from
        job.error = error
        session.command("ROLLBACK TO act")
    session.command("RELEASE act")


def _make_private(path: Path) -> None:
    """Make a new file that its owner alone can read; what fails here fails again, and is told."""
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


# Statements


class Compiler:
    """Turns SQLAlchemy's statements into the driver's text, and remembers them.

    Parameters
    ----------
    dialect : Dialect
        The engine's.
    """

    def __init__(self, dialect: Dialect) -> None:
        # Parameters go by name, which both drivers understand in their own spelling.
        kind: Any = type(dialect)
        self._dialect = kind(paramstyle="named") if dialect.name == "sqlite" else dialect
        self._known: dict[int, tuple[Any, str, dict[str, Any], Any]] = {}

    def of(self, statement: Executable) -> tuple[str, dict[str, Any], Any]:
        """The text, the parameters it brings itself, and what makes its rows (or None)."""
        known = self._known.get(id(statement))
        if known is None:
            built: Any = statement
            compiled = built.compile(dialect=self._dialect)
            row = None
            if getattr(built, "is_select", False):
                make: Any = namedtuple  # whose names are known when the statement is
                row = make("Row", built.selected_columns.keys())._make
            # Parameters that a caller gives need no value from the statement.
            own = {name: value for name, value in compiled.params.items() if value is not None}
            # The statement is kept with its text, so that its id stays its own.
            known = (statement, compiled.string, own, row)
            self._known[id(statement)] = known
        return known[1:]


class Session:
    """A transaction that is open.

    Parameters
    ----------
    raw : DBAPI connection
        From the engine's pool.
    compiler : Compiler
        The engine's.
    """

    def __init__(self, raw: Any, compiler: Compiler) -> None:
        self._cursor = raw.cursor()
        self._compiler = compiler

    def command(self, text: str) -> None:
        """Run a fixed text."""
        self._cursor.execute(text)

    def run(self, statement: Executable, **given: Any) -> None:
        """Run a statement that returns nothing."""
        text, own, _ = self._compiler.of(statement)
        self._cursor.execute(text, {**own, **given} if own else given)

    def rows(self, statement: Executable, **given: Any) -> list[Any]:
        """Run a query and return its rows, whose columns are attributes."""
        text, own, row = self._compiler.of(statement)
        self._cursor.execute(text, {**own, **given} if own else given)
        return [row(found) for found in self._cursor.fetchall()]

    def one(self, statement: Executable, **given: Any) -> Any | None:
        """Run a query and return its first row, if there is one."""
        found = self.rows(statement, **given)
        return found[0] if found else None


# Writers of one process: the first does the work of those behind it

_TOGETHER = 64
"""How many writers share a transaction at most."""

_INTERRUPTED = (
    "The ledger's work was interrupted. Nothing was released; ask again: a question that was "
    "already charged is not charged twice."
)


class Job(Generic[A]):
    """One writer's act and what came of it."""

    def __init__(self, act: Callable[[A], object]) -> None:
        self.act = act
        self.result: object = None
        self.error: Exception | None = None
        self.done = False
        # Each writer is woken alone: many threads that wake to find nothing done cost as much as
        # what they wait for.
        self._called = threading.Lock()
        self._called.acquire()

    def wait(self, seconds: float = -1) -> bool:
        """Wait to be called; whether that happened in time."""
        return self._called.acquire(timeout=seconds)

    def call(self) -> None:
        """Wake whoever waits: the job is done, or theirs to lead."""
        self._called.release()


class GroupCommit(Generic[A]):
    """A queue of acts.

    Parameters
    ----------
    work : callable
        Fetches the jobs once it may begin, does them in one transaction and sets their results and
        errors. What it raises is the error of them all.
    patience : float
        How many seconds an act waits for its turn before it is given up, with nothing done.
    """

    def __init__(
        self,
        work: Callable[[Callable[[], list[Job[A]]]], None],
        patience: float,
    ) -> None:
        self._work, self._patience = work, patience
        self._lock = threading.Lock()
        self._led = False
        self._waiting: deque[Job[A]] = deque()

    def run(self, act: Callable[[A], T]) -> T:
        """Do an act, with others or for others; return its result or raise its error."""
        job: Job[A] = Job(act)
        with self._lock:
            leads, self._led = not self._led, True
            if not leads:
                self._waiting.append(job)
        if not leads:
            self._wait(job)
        if not job.done:
            self._lead(job)
        if job.error is not None:
            raise job.error
        return cast(T, job.result)

    def _wait(self, job: Job[A]) -> None:
        """Wait until somebody has done the job, or it is the job's turn to lead."""
        called = False
        try:
            called = job.wait(self._patience)
        finally:
            if not called and not self._left(job):
                job.wait()  # somebody has begun it: its end is near, and must be known
                called = True
        if not called:
            raise LedgerBusy(
                "The ledger is busy: another process or thread has held it for too long. "
                "Nothing was spent and nothing released; ask again later."
            )

    def _left(self, job: Job[A]) -> bool:
        """Leave the queue; False if the job is not in it any more."""
        with self._lock:
            waits = job in self._waiting
            if waits:
                self._waiting.remove(job)
        return waits

    def _lead(self, mine: Job[A]) -> None:
        jobs = [mine]

        def fetch() -> list[Job[A]]:
            with self._lock:
                while self._waiting and len(jobs) < _TOGETHER:
                    jobs.append(self._waiting.popleft())
            return jobs

        failure: Exception | None = None
        finished = False
        try:
            self._work(fetch)
            finished = True
        except Exception as error:  # noqa: BLE001 - it is raised where the acts came from
            failure = error
        finally:
            with self._lock:
                heir = self._waiting.popleft() if self._waiting else None
                self._led = heir is not None
            if heir is not None:
                heir.call()
            for job in jobs:
                if not finished:
                    job.error = job.error or failure or LedgerBusy(_INTERRUPTED)
                job.done = True
                if job is not mine:
                    job.call()


try:
    import fcntl

    fcntl.F_OFD_SETLK  # noqa: B018 - other systems have the module without these locks
except (ImportError, AttributeError):
    raise NeedsLinux(
        "The ledger, and with it the curator and the service, runs on Linux only: it locks open "
        "file descriptions. Detectors, cards, questions, guarantees and the client work here."
    ) from None


# Locks that end with their holder: who computes which answer.
#
# Bytes of a file are locked through an open file description; the system takes a lock away when
# its holder dies, and no clock decides. Such locks do not belong to a process: two threads that
# each open the file exclude each other, and closing one descriptor frees its own locks only.
#
# Claims. Two processes may hold the same reservation: one that paid and one that asks the same
# question a moment later, or after a crash. Only one of them may draw an answer: were both to
# draw and the faster to win, the released answer would depend on the time each took. So whoever
# computes holds a claim: a byte of a file beside an SQLite store, an advisory lock of a
# PostgreSQL server.

# Bytes of a file


def opened(path: Path, mode: int = 0o600) -> int:
    """Open a file to hold locks on; made if missing, closed on exec."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)


def take(descriptor: int, place: int) -> bool:
    """Lock a byte, or say that somebody else has."""
    try:
        _set(descriptor, fcntl.F_OFD_SETLK, fcntl.F_WRLCK, place)
    except (BlockingIOError, PermissionError):
        return False
    return True


def wait_for(descriptor: int, place: int) -> None:
    """Lock a byte as soon as whoever has it lets go."""
    _set(descriptor, fcntl.F_OFD_SETLKW, fcntl.F_WRLCK, place)


def free(descriptor: int, place: int) -> None:
    """Let go of a byte."""
    _set(descriptor, fcntl.F_OFD_SETLK, fcntl.F_UNLCK, place)


def _set(descriptor: int, command: int, kind: int, place: int) -> None:
    # struct flock of Linux: type, whence, start, length, pid (0 for these locks).
    wanted = struct.pack("hhqqi4x", kind, os.SEEK_SET, place, 1, 0)
    fcntl.fcntl(descriptor, command, wanted)


# Claims

_PAUSES_SECONDS = (0.002, 0.1)
"""How long to wait before another process's claim is tried again: at first, and at the most."""


class Claim:
    """The right to compute an answer, held until it is given up or its holder dies."""

    def __init__(self, claims: Claims, key: tuple[int, int], unlock: Callable[[], None]) -> None:
        self._claims, self._key, self._process = claims, key, os.getpid()
        self._unlock: Callable[[], None] | None = unlock

    def release(self) -> None:
        """Give it up; twice does no harm, and in a fork it stays with the process that took it."""
        unlock, self._unlock = self._unlock, None
        if unlock is None or self._process != os.getpid():
            return
        try:
            unlock()
        finally:
            self._claims.forget(self._key)


class Claims:
    """Who computes which answer of one store.

    Among the threads of a process a set decides, and whoever waits is told when a claim is given
    up. Among processes the locks of the store do.

    Parameters
    ----------
    locks : Locks, optional
        What other processes see; None for a store in memory, which no other process uses.
    """

    def __init__(self, locks: Locks | None) -> None:
        self._locks = locks
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._held: set[tuple[int, int]] = set()
        self._given_up = threading.Condition()

    def take(self, dataset: int, seq: int) -> Claim | None:
        """Take the claim on a reservation, or return None while somebody holds it."""
        if self._process != os.getpid():  # a fork holds none of what it inherits
            self._begin()
        key = dataset, seq
        with self._given_up:
            if key in self._held:
                return None
            self._held.add(key)
        unlock = None
        try:
            unlock = _nothing if self._locks is None else self._locks.take(dataset, seq)
        finally:
            if unlock is None:
                self.forget(key)
        return None if unlock is None else Claim(self, key, unlock)

    def forget(self, key: tuple[int, int]) -> None:
        """Note that a claim was given up."""
        with self._given_up:
            self._held.discard(key)
            self._given_up.notify_all()

    def wait(self, dataset: int, seq: int, seconds: float) -> None:
        """Wait until nobody holds a claim, so long at the most; the store is left in peace."""
        until = time.monotonic() + seconds
        pause, longest = _PAUSES_SECONDS
        while True:
            with self._given_up:
                self._given_up.wait_for(
                    lambda: (dataset, seq) not in self._held, max(0.0, until - time.monotonic())
                )
            claim = self.take(dataset, seq)
            if claim is not None:
                return claim.release()
            left = until - time.monotonic()
            if left <= 0:
                return None
            time.sleep(min(pause, left))
            pause = min(2 * pause, longest)

    def close(self) -> None:
        """Give back what the locks are kept with, unless somebody still computes."""
        with self._given_up:
            if self._locks is not None and self._process == os.getpid() and not self._held:
                self._locks.close()


def _nothing() -> None:
    """Unlock what only a set holds."""


class Locks(Protocol):
    """Locks that end with the process that holds them."""

    def take(self, dataset: int, seq: int) -> Callable[[], None] | None:
        """Lock a reservation and return what unlocks it; None while another process has it."""

    def close(self) -> None:
        """Give back what the locks are kept with; none is held."""


def claims_of(database: Database) -> Claims:
    """Return the claims of a store."""
    if database.path is not None:
        return Claims(_FileLocks(database.path))
    return Claims(None if database.in_memory else _ServerLocks(database))


class _FileLocks:
    """For SQLite: bytes of a file beside the store, locked through one open file description."""

    def __init__(self, path: Path) -> None:
        self._store = path
        self._opening = threading.Lock()
        self._process = -1

    def take(self, dataset: int, seq: int) -> Callable[[], None] | None:
        with self._opening:
            if self._process != os.getpid():
                self._open()
        place = (dataset << 40) + seq
        return partial(free, self._file, place) if take(self._file, place) else None

    def _open(self) -> None:
        """Open the file; a fork leaves the description it inherits, and its locks, alone."""
        mode = self._store.stat().st_mode & 0o777  # whoever may use the store may use its claims
        self._file = opened(self._store.with_name(f"{self._store.name}-claims"), mode)
        self._process = os.getpid()

    def close(self) -> None:
        with self._opening:
            if self._process == os.getpid():
                os.close(self._file)
                self._process = -1


class _ServerLocks:
    """For PostgreSQL: advisory locks, each held by a connection that serves no other."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._free: deque[PoolProxiedConnection] = deque()
        self._process = os.getpid()

    def take(self, dataset: int, seq: int) -> Callable[[], None] | None:
        if self._process != os.getpid():  # a fork has connections of its own
            self._free, self._process = deque(), os.getpid()
        while self._free:
            # One that was kept may have been cut since; a new one is taken then.
            with contextlib.suppress(*self._database.failures):
                return self._take(self._free.pop(), (dataset, seq))
        connection = self._database.engine.raw_connection()
        driver: Any = connection.driver_connection
        driver.autocommit = True
        return self._take(connection, (dataset, seq))

    def _take(
        self, connection: PoolProxiedConnection, key: tuple[int, int]
    ) -> Callable[[], None] | None:
        try:
            cursor = connection.cursor()
            cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", key)
            taken = bool(cursor.fetchall()[0][0])
            cursor.close()
        except BaseException:
            connection.invalidate()
            raise
        if taken:
            return partial(self._unlock, connection, key)
        self._free.append(connection)
        return None

    def _unlock(self, connection: PoolProxiedConnection, key: tuple[int, int]) -> None:
        try:
            cursor = connection.cursor()
            cursor.execute("SELECT pg_advisory_unlock(%s, %s)", key)
            cursor.close()
        except self._database.failures:
            connection.invalidate()  # the server has dropped the lock with the connection
        else:
            self._free.append(connection)

    def close(self) -> None:
        while self._process == os.getpid() and self._free:
            self._free.pop().invalidate()  # no other use wants it without transactions
