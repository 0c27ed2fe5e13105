"""Writers of one process stand in line, and the first does the work of those behind it.

Threads that write at the same moment share a transaction, hence a flush to disk. Whoever comes
while nobody writes leads: it takes all who have queued up meanwhile into its transaction, tells
each what came of it, and calls the next in line to lead. Nobody waits for more than the transaction
it is in and the one before it.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar, cast

from whitecrow.errors import LedgerBusy

__all__ = ["GroupCommit", "Job"]

_TOGETHER = 64
"""How many writers share a transaction at most."""

_INTERRUPTED = (
    "The ledger's work was interrupted. Nothing was released; ask again: a question that was "
    "already charged is not charged twice."
)

A = TypeVar("A")
T = TypeVar("T")


class Job(Generic[A]):
    """One writer's act and what came of it."""

    def __init__(self, act: Callable[[A], object]) -> None:
        self.act = act
        self.result: object = None
        self.error: Exception | None = None
        self.done = False
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
        called = False
        try:
            called = job.wait(self._patience)
        finally:
            if not called and not self._left(job):
                job.wait()  # somebody has begun it: its end is near, and must be known
                called = True
        if not called:
            raise LedgerBusy(
                "The ledger is busy: another process or thread has held it for too long. Nothing "
                "was spent and nothing released; ask again later."
            )

    def _left(self, job: Job[A]) -> bool:
        """Leave the line; False if the job is not in it any more."""
        with self._lock:
            if job in self._waiting:
                self._waiting.remove(job)
                return True
        return False

    def _lead(self, mine: Job[A]) -> None:
        jobs = [mine]

        def fetch() -> list[Job[A]]:
            with self._lock:
                while self._waiting and len(jobs) < _TOGETHER:
                    jobs.append(self._waiting.popleft())
            return jobs

        failure: Exception = LedgerBusy(_INTERRUPTED)
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
                    job.error = job.error or failure
                job.done = True
                if job is not mine:
                    job.call()
