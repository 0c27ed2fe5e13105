"""Transactions of the ledger, each on a connection of its engine.

Three things make writing fast, each measured with and without (benchmarks.ledger_parts;
docs/ledger.md has the numbers). Threads of one process that write at the same moment share a
transaction, hence a flush to disk, each in a savepoint of its own (SQLite only; PostgreSQL groups
commits itself). Statements are text, handed to the driver as they are. Whoever finds
SQLite's file taken by another process asks again after a short part of the time it has waited, a
millisecond at the most: SQLite's own pauses grow, and between busy processes some would wait for
seconds while others go on.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import secrets
import sqlite3
import threading
import time
import weakref
from collections import deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import PoolProxiedConnection

from whitecrow.errors import LedgerBusy, LedgerUnusable, WhitecrowError
from whitecrow.ledger.engine import engine_for, is_in_memory, parsed, sqlite_file, translated
from whitecrow.ledger.statements import FOR_SQLITE

PATIENCE_SECONDS = 60.0
"""How long a transaction waits for its turn before it gives up."""

_RETRY_SECONDS = 0.00005, 0.001
"""The shortest and the longest pause after which a process that finds the file taken asks again."""

_RETRY_PART = 1 / 64
"""How long such a pause is, of what has been waited so far: a group's commit takes milliseconds."""

_ONE_MOMENT = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
"""What PostgreSQL must be told for all reads of a transaction to see the same moment."""

A = TypeVar("A")
T = TypeVar("T")


class Database:
    """A store that runs transactions and speaks in whitecrow's errors; see :class:`Ledger` for
    URLs.
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
        if self.path is not None and os.path.realpath(self.path) in _IN_USE:
            raise LedgerUnusable(
                "This process is a fork of one that was using the ledger at that moment, and "
                "cannot use it safely. Start a process anew (spawn) and open the ledger there."
            )
        self._engine = engine_for(self.url, patience=PATIENCE_SECONDS)
        self._untried = self._engine if self.is_sqlite else engine_for(self.url, tried=False)
        self._process = os.getpid()
        self.failures = (SQLAlchemyError, OSError, self._engine.dialect.loaded_dbapi.Error)
        self._writer_lock = threading.RLock()
        self._opening = threading.Lock()  # held while a connection is taken, and during a fork
        self._line = GroupCommit(self._work, PATIENCE_SECONDS)
        self._writer: Session | None = None
        if self.path is not None:
            _DATABASES.add(self)

    @property
    def path(self) -> Path | None:
        """The file of an SQLite store; None for others."""
        return sqlite_file(self.url)

    @property
    def name(self) -> str:
        """How to call the store in messages; without a password."""
        return self.label or self.url.render_as_string(hide_password=True)

    @property
    def engine(self) -> Engine:
        """SQLAlchemy's engine, of this process."""
        self._belong_here()
        return self._engine

    def _belong_here(self) -> None:
        """Begin anew in a forked process: connections must not be shared across a fork."""
        if os.getpid() == self._process:
            return
        if self.in_memory:
            raise LedgerUnusable(
                "A ledger in memory cannot be used by a second process; give the ledger a file."
            )
        # What belongs to the other process is left alone: not used, and not closed either.
        inherited = self._engine, self._untried
        self._start()
        for engine in inherited:
            engine.dispose(close=False)

    def _connected(self) -> PoolProxiedConnection:
        self._belong_here()
        with self._opening:
            return self._untried.raw_connection()

    # Transactions

    def read(self, act: Callable[[Session], T]) -> T:
        if not self.is_sqlite:
            return self._on_server(_ONE_MOMENT, act)
        # One connection serves all threads of a store in memory; they take turns.
        lock = self._writer_lock if self.in_memory else nullcontext()
        with lock, self._reading() as session:
            return act(session)

    def write(self, act: Callable[[Session], T]) -> T:
        """Run a transaction; when this returns, what it did is durable.

        Other writers' acts may run in the same transaction. An act that raises is undone alone.
        """
        self._belong_here()
        if not self.is_sqlite:
            return self._on_server("BEGIN", act)
        failure: WhitecrowError | None = None
        try:
            return self._line.run(act)
        except self.failures as error:
            failure = translated(error, self.name)
        raise failure

    def _work(self, fetch: Callable[[], list[Job[Session]]]) -> None:
        """Do all that waits in line in one transaction."""
        with self._writer_lock:
            session = self._writing()
            try:
                _when_free(partial(session.command, "BEGIN IMMEDIATE"))
                jobs = fetch()
                if len(jobs) == 1:
                    jobs[0].result = jobs[0].act(session)
                else:
                    for job in jobs:
                        _act_in_savepoint(job, session)
                _when_free(session.raw.commit)
            except BaseException:
                try:
                    session.raw.rollback()
                except self.failures:
                    self._stop_writing()
                raise

    def _writing(self) -> Session:
        """The connection on which this process writes to SQLite, one act or group at a time.

        It is kept: to take it from the pool and give it back takes as long as several statements.
        """
        if self._writer is None:
            pooled = self._connected()
            self._writer = Session(pooled.driver_connection, sqlite=True)
            if self.in_memory:
                pooled.close()  # there is one, and the pool keeps it
            else:
                pooled.detach()
            # Whoever finds the file taken asks again here.
            self._writer.command("PRAGMA busy_timeout=0")
        return self._writer

    def _stop_writing(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None and not self.in_memory:
            writer.raw.close()

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        """A transaction of SQLite that only reads."""
        failure: WhitecrowError | None = None
        try:
            raw = self._connected()
            try:
                session = Session(raw, sqlite=True)
                session.command("BEGIN")
                yield session
                raw.commit()
            except BaseException:
                self._undo(raw)
                raise
            finally:
                raw.close()
        except self.failures as error:
            failure = translated(error, self.name)
        # Raised outside the handler: the driver's error names statements, and stays behind.
        if failure is not None:
            raise failure

    def _undo(self, raw: PoolProxiedConnection) -> bool:
        """Undo a transaction; False if its connection is dead, and was thrown away."""
        try:
            raw.rollback()
        except self.failures:
            raw.invalidate()
            return False
        return True

    def _on_server(self, begin: str, act: Callable[[Session], T]) -> T:
        """Run a transaction on PostgreSQL.

        Nobody asks whether a connection of the pool still lives: that is one more wait for the
        server. One that is dead before it has answered anything has done nothing, and the act
        begins again on another. A new one is not replaced.
        """
        failure: WhitecrowError | None = None
        try:
            while True:
                raw, session = self._connected(), None
                used = raw.info.setdefault("used", False)
                try:
                    session = Session(raw, sqlite=False, pipelined=True)
                    result = self._pipelined(session, begin, act)
                    raw.info["used"] = True
                    return result
                except BaseException as error:
                    unanswered = session is None or not session.answered
                    dead = not self._undo(raw)
                    if not (used and unanswered and dead and isinstance(error, self.failures)):
                        raise
                finally:
                    raw.close()
        except self.failures as error:
            failure = translated(error, self.name)
        raise failure

    def _pipelined(self, session: Session, begin: str, act: Callable[[Session], T]) -> T:
        """Send statements that return nothing together with the one that follows.

        Whatever fails among them fails at the next query, or at the end at the latest. The driver
        would wait for the answer to its own BEGIN, and for that to its own COMMIT once more: here
        they travel with the others.
        """
        driver: Any = session.raw.driver_connection
        with driver.pipeline():
            session.command(begin)
            result = act(session)
            session.answered = True  # whether the server has done this must be known
            ended = session.raw.cursor()
            ended.execute("COMMIT")
        if ended.statusmessage != "COMMIT":  # the server undid what had failed before
            raise driver.OperationalError("the transaction was undone")
        return result

    def joined(self, connection: Connection) -> Session:
        """The transaction that somebody else has open on a connection to this store."""
        return Session(connection.connection, sqlite=self.is_sqlite)

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A writing transaction as SQLAlchemy has it, for changes of the schema."""
        failure: WhitecrowError | None = None
        try:
            with self._writer_lock, self.engine.begin() as connection:
                yield connection
        except self.failures as error:
            failure = translated(error, self.name)
        if failure is not None:
            raise failure

    def close(self) -> None:
        if os.getpid() == self._process:
            with self._writer_lock:
                self._stop_writing()
        self._engine.dispose()
        self._untried.dispose()

    def let_go(self, until: float, held: contextlib.ExitStack) -> bool:
        """Close all connections to an SQLite file, and open none while ``held``; False if in use.

        Those of other threads are waited for, ``until`` a moment of the monotonic clock.
        """
        if os.getpid() != self._process:  # it was inherited, and has been closed
            return True
        for lock in (self._writer_lock, self._opening):
            if not lock.acquire(timeout=max(0.0, until - time.monotonic())):
                return False
            held.callback(lock.release)
        pool: Any = self._engine.pool
        while pool.checkedout() and time.monotonic() < until:
            time.sleep(_RETRY_SECONDS[0])
        if pool.checkedout() or (self._writer is not None and self._writer.raw.in_transaction):
            return False
        self._stop_writing()
        self._engine.dispose()
        return True


# Forks. SQLite notes in the process which locks of a file it holds. A child would inherit the note
# and not the locks: it would write to a log that the parent, who sees nobody else, may delete. So
# nothing is open while a process is forked; where that cannot be had, the child may not go on.

_FORK_SECONDS = 5.0  # how long a fork waits for other threads' transactions
_DATABASES: weakref.WeakSet[Database] = weakref.WeakSet()
_IN_USE: set[str] = set()
"""Files that were in use when this process was forked."""
_INHERITED: list[Database] = []  # what a child must not close, either
_FORKING = contextlib.ExitStack()


def _before_fork() -> None:
    until = time.monotonic() + _FORK_SECONDS
    for database in list(_DATABASES):
        if not database.let_go(until, _FORKING):
            _IN_USE.add(os.path.realpath(str(database.path)))


def _after_fork_in_parent() -> None:
    _IN_USE.clear()
    _FORKING.close()


def _after_fork_in_child() -> None:
    _FORKING.pop_all()  # the locks are the parent's: each database makes its own
    if _IN_USE:
        _INHERITED.extend(_DATABASES)


if hasattr(os, "register_at_fork"):  # elsewhere there is no fork
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


def _when_free(command: Callable[[], object]) -> None:
    """Begin or end a transaction that locks, as soon as no other process is in the way."""
    begun = time.monotonic()
    while True:
        try:
            command()
            return
        except sqlite3.OperationalError as error:
            # A file that is being recovered is busy, too.
            code = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
            waited = time.monotonic() - begun
            if code != sqlite3.SQLITE_BUSY or waited > PATIENCE_SECONDS:
                raise
        shortest, longest = _RETRY_SECONDS
        time.sleep(min(longest, max(shortest, waited * _RETRY_PART)))


_PRIMARY = 0xFF  # the part of an SQLite error's code that says what kind it is


def _act_in_savepoint(job: Job[Session], session: Session) -> None:
    """Act among others; undo what an act that raises has done, and nothing else."""
    session.command("SAVEPOINT act")
    try:
        job.result = job.act(session)
    except Exception as error:  # noqa: BLE001 - it is raised where the act came from
        job.error = error
        session.command("ROLLBACK TO act")
    session.command("RELEASE act")


def _make_private(path: Path, mode: int = 0o600) -> None:
    """Make a new file that its owner alone can read; what fails here fails again, and is told.

    A file that is there is not opened: closing it would end SQLite's locks of this process on it.
    """
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode))


# Statements


@cache
def _for_sqlite(statement: str) -> str:
    """Who writes has locked the whole store."""
    return FOR_SQLITE.get(statement, statement).partition(" FOR UPDATE")[0]


@cache
def _for_postgresql(statement: str) -> str:
    return re.sub(r":(\w+)", r"%(\1)s", statement.replace("%", "%%"))


@cache
def _row(columns: tuple[str, ...]) -> Callable[[Iterable[Any]], Any]:
    """What makes rows with these columns."""
    make: Any = namedtuple  # whose names are known when the query was run
    row: Callable[[Iterable[Any]], Any] = make("Row", columns)._make
    return row


class Session:
    """A transaction that is open; ``pipelined`` if statements need not be waited for.

    Statements are in words that both databases share, with parameters such as ``:name``.
    """

    def __init__(self, raw: Any, *, sqlite: bool, pipelined: bool = False) -> None:
        self.raw, self._cursor = raw, raw.cursor()
        self._spelled = _for_sqlite if sqlite else _for_postgresql
        self.pipelined = pipelined
        self.answered = False  # whether the act knows anything of the store yet
        self._ahead: dict[Any, Any] = {}

    def command(self, text: str) -> None:
        self._cursor.execute(text)

    def run(self, statement: str, /, **given: Any) -> None:
        """Run a statement that returns nothing."""
        if self._ahead:  # what was read before a change may not be what is read after it
            self._ahead.clear()
        self._cursor.execute(self._spelled(statement), given)

    def ahead(self, statement: str, /, **given: Any) -> None:
        """Send a query whose rows will be asked for, together with those around it.

        The server runs them in this order, so a query sent behind a lock sees what the lock
        protects. Nothing is done where no query travels.
        """
        key = (statement, *given.items())
        if self.pipelined and key not in self._ahead:
            self._ahead[key] = cursor = self.raw.cursor()
            cursor.execute(self._spelled(statement), given)

    def rows(self, statement: str, /, **given: Any) -> list[Any]:
        """Run a query and return its rows, whose columns are attributes."""
        cursor = self._ahead.pop((statement, *given.items()), None) if self._ahead else None
        if cursor is None:
            cursor = self._cursor
            cursor.execute(self._spelled(statement), given)
        records: list[Any] = cursor.fetchall()
        self.answered = True
        if not records:
            return records
        return list(map(_row(tuple(column[0] for column in cursor.description)), records))

    def one(self, statement: str, /, **given: Any) -> Any | None:
        """Run a query and return its first row, if there is one."""
        rows = self.rows(statement, **given)
        return rows[0] if rows else None


# Writers of one process: the first does the work of those behind it

_TOGETHER = 64  # how many writers share a transaction at most

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

    ``work`` fetches the jobs once it may begin, does them in one transaction and sets their results
    and errors. What it raises is the error of them all. An act that has waited for ``patience``
    seconds is given up, with nothing done.
    """

    def __init__(self, work: Callable[[Callable[[], list[Job[A]]]], None], patience: float) -> None:
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


# Claims: who computes which answer.
#
# Two processes may hold the same reservation: one that paid and one that asks the same question a
# moment later, or after a crash. Only one of them may draw an answer: were both to draw and the
# faster to win, the released answer would depend on the time each took. So an open reservation
# names its holder, a ledger in a process, from the transaction on that others can see it in.
#
# A holder keeps one lock as long as it lives, and whoever finds its name tries that lock. The
# system takes it away when the process dies, and no clock decides: an empty SQLite file beside the
# store that is locked as SQLite locks on every system, an advisory lock of a PostgreSQL server.

_PAUSES_SECONDS = (0.002, 0.1)
"""How long to wait before another process's claim is looked at again: at first, and at the most."""

_HEARTBEAT_SECONDS = 1.0
"""How often a holder makes sure, before it takes a claim, that the server still has its lock."""


@dataclass(eq=False)
class Claim:
    """The right to compute an answer, held until it is given up or its holder dies."""

    claims: Claims
    dataset: int
    seq: int
    holder: str

    def release(self) -> None:
        """Give it up; twice does no harm, and in a fork it stays with the process that took it."""
        if self.claims.holds(self):
            try:
                self.claims.give_up(self)
            finally:
                self.forget()

    def forget(self) -> None:
        """Note that the store knows: the reservation was closed, or its transaction undone."""
        self.claims.forget(self)


class Claims:
    """Who computes which answer of one store.

    Among the threads of a process a table decides, and whoever waits is told when a claim is given
    up. Among processes the holders that the store names do.
    ``clear`` makes the store name none instead of a reservation's holder.
    """

    def __init__(self, database: Database, clear: Callable[[Session, int, int, str], None]) -> None:
        self._database, self._clear = database, clear
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._held: dict[tuple[int, int], Claim] = {}
        self._given_up = threading.Condition()
        self._holder = _holder_of(self._database)

    def _own(self) -> _Holder:
        if self._process != os.getpid():  # a fork holds none of what it inherits
            self._begin()
        return self._holder

    def holder(self) -> str:
        """The name under which this process takes claims now; for a transaction that writes."""
        return self._own().name()

    def is_free(self, session: Session, dataset: int, seq: int, by: str) -> bool:
        """Whether nobody computes the answer to a reservation that names a holder, or none."""
        dead = not by or not self._own().is_alive(session, by)
        return dead and (dataset, seq) not in self._held

    def take(
        self, session: Session, dataset: int, seq: int, by: str, *, fresh: bool = False
    ) -> Claim | None:
        """Take the claim on a reservation in a transaction that writes; None while it is not free.

        Who does so must be noted in the same transaction; ``fresh`` if that was done there, by
        this process.
        """
        claim = Claim(self, dataset, seq, by if fresh else self.holder())
        free = fresh or self.is_free(session, dataset, seq, by)
        with self._given_up:
            taken = free and self._held.setdefault((dataset, seq), claim) is claim
        return claim if taken else None

    def holds(self, claim: Claim) -> bool:
        """Whether a claim is held, by this process."""
        held = self._held.get((claim.dataset, claim.seq))
        return held is claim and self._process == os.getpid()

    def forget(self, claim: Claim) -> None:
        """Let others of this process take a claim, and tell those who wait."""
        with self._given_up:
            if self.holds(claim):
                del self._held[claim.dataset, claim.seq]
                self._given_up.notify_all()

    def give_up(self, claim: Claim) -> None:
        """Let other processes take a claim on a reservation that stays open."""
        given = claim.dataset, claim.seq, claim.holder
        try:
            self._database.write(lambda session: self._clear(session, *given))
        except WhitecrowError:
            self._holder.close()  # what this one computes may then be taken up by others

    def wait(self, dataset: int, seq: int, free: Callable[[], bool], seconds: float) -> None:
        """Wait until nobody computes an answer, so long at the most; nothing is written."""
        until = time.monotonic() + seconds
        pause, longest = _PAUSES_SECONDS
        while (left := until - time.monotonic()) > 0:
            with self._given_up:
                self._given_up.wait_for(lambda: (dataset, seq) not in self._held, left)
            if free():
                return
            time.sleep(min(pause, left))
            pause = min(2 * pause, longest)

    def close(self) -> None:
        """Give back what the lock is kept with, unless somebody still computes."""
        with self._given_up:
            if self._process == os.getpid() and not self._held:
                self._holder.close()


class _Holder:
    """Who takes claims on a store in memory, which no other process uses."""

    def name(self) -> str:
        """What reservations are marked with; the lock is held from now on."""
        return ""

    def is_alive(self, session: Session, by: str) -> bool:
        """Whether a holder other than this one still has its lock."""
        return False

    def close(self) -> None:
        """Let go of the lock; the next name is another."""


def _holder_of(database: Database) -> _Holder:
    if database.path is not None:
        return _FileHolder(database.path)
    return _Holder() if database.in_memory else _ServerHolder(database)


class _FileHolder(_Holder):
    """For SQLite: an empty file beside the store, locked for as long as this process lives."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._leave: weakref.finalize[..., _FileHolder] | None = None
        self._name = self._own = ""

    def _file(self, name: str) -> Path:
        return self._store.with_name(f"{self._store.name}-claims-{int(name)}")

    def name(self) -> str:
        """In a transaction that writes: no other holder begins at the same time."""
        if self._leave is None or not os.path.exists(self._own):  # noqa: PTH110 - for each ask
            for left in self._store.parent.glob(f"{glob.escape(self._store.name)}-claims-*"):
                if not is_locked(left):  # its process died
                    _remove(left)
            self._name = str(secrets.randbits(63))
            path = self._file(self._name)
            self._own = str(path)
            # Whoever may use the store may see who still lives.
            held = locked(path, self._store.stat().st_mode & 0o777)
            self._leave = weakref.finalize(self, _unlocked, held, path, os.getpid())
        return self._name

    def is_alive(self, session: Session, by: str) -> bool:
        return by != self._name and is_locked(self._file(by))

    def close(self) -> None:
        if self._leave is not None:
            self._leave()
            self._leave = None


def locked(path: Path, mode: int = 0o600) -> sqlite3.Connection:
    """Lock a file as SQLite does, until the connection is closed or the process ends.

    It is made if it is missing, stays empty, and is waited for.
    """
    _make_private(path, mode)
    connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        # Nothing is written: no file for a journal.
        _when_free(partial(connection.execute, "PRAGMA journal_mode=OFF"))
        _when_free(partial(connection.execute, "BEGIN EXCLUSIVE"))
    except BaseException:
        connection.close()
        raise
    return connection


def is_locked(path: Path) -> bool:
    """Whether somebody has locked a file; nobody a file that is not there."""
    if not path.exists():
        return False
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=0)) as connection:
            connection.execute("SELECT * FROM sqlite_master").fetchall()
    except sqlite3.Error:
        return path.exists()
    return False


def _unlocked(connection: sqlite3.Connection, path: Path, process: int) -> None:
    connection.close()
    if process == os.getpid():  # a fork inherits the file, and not its lock
        _remove(path)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # it is gone, or somebody looks at it
        path.unlink()


_TRY = "SELECT pg_try_advisory_xact_lock_shared(:whose) AS taken"


class _ServerHolder(_Holder):
    """For PostgreSQL: an advisory lock, held by a connection that serves nothing else."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._using = threading.Lock()
        self._connection: PoolProxiedConnection | None = None
        self._seen, self._name = 0.0, ""

    def name(self) -> str:
        with self._using:
            if self._connection is not None and time.monotonic() > self._seen + _HEARTBEAT_SECONDS:
                try:
                    self._run(self._connection, "SELECT 1")
                except self._database.failures:  # the server has dropped the lock with it
                    self._drop()
            if self._connection is None:
                connection = self._database.engine.raw_connection()
                driver: Any = connection.driver_connection
                driver.autocommit = True
                self._name = str(secrets.randbits(63))
                self._connection = connection
                self._run(connection, f"SELECT pg_advisory_lock({self._name})")
            return self._name

    def _run(self, connection: PoolProxiedConnection, text: str) -> None:
        cursor = connection.cursor()
        cursor.execute(text)
        cursor.close()
        self._seen = time.monotonic()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()  # no other use wants it without transactions

    def is_alive(self, session: Session, by: str) -> bool:
        row = None if by == self._name else session.one(_TRY, whose=int(by))
        return row is not None and not row.taken

    def close(self) -> None:
        with self._using:
            self._drop()
