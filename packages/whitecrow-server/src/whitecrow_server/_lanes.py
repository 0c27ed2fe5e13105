"""Lanes: threads for one sort of work each, in which people take turns.

Whoever sends much waits behind their own work and nobody else's. A lane has few threads, of which
one person gets a share; of the persons who wait, the one whose turn was longest ago comes next.
What would wait too long is refused at once, with the moment to come again.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from whitecrow.errors import TooMany

T = TypeVar("T")

_AFTER_SECONDS = 2


@dataclass(frozen=True)
class _Job:
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    work: Callable[[], Any]


class Lane:
    """Runs jobs in threads that end with the process, whatever they are doing.

    Parameters
    ----------
    most : int
        How many threads there are at the most; they are made when they are needed.
    share : int
        How many jobs of one person run at once.
    waiting : int
        How many jobs of one person may wait.
    crowd : int
        How many jobs of all together may wait.
    """

    def __init__(self, most: int, *, share: int, waiting: int, crowd: int = 1000) -> None:
        self._most, self._share = most, share
        self._waiting, self._crowd = waiting, crowd
        self._made = self._idle = self._queued = 0
        self._running: Counter[str] = Counter()
        self._queues: OrderedDict[str, deque[_Job]] = OrderedDict()
        self._changed = threading.Condition()

    def of(self, who: str) -> Share:
        """The share of a person, or of an address before sign-in."""
        return Share(self, who)

    async def run(self, who: str, work: Callable[[], T]) -> T:
        """Run a job in a thread and return its result, or raise its error.

        Raises
        ------
        TooMany
            Too many jobs of this person, or of all together, wait already.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._changed:
            self._refuse_if_full(who)
            self._queues.setdefault(who, deque()).append(_Job(loop, future, work))
            self._queued += 1
            if self._idle < self._queued and self._made < self._most:
                self._made += 1
                threading.Thread(target=self._work, name="whitecrow-lane", daemon=True).start()
            self._changed.notify()
        return await future

    def refuse_if_full(self, who: str) -> None:
        """Raise now what :meth:`run` would."""
        with self._changed:
            self._refuse_if_full(who)

    def _refuse_if_full(self, who: str) -> None:
        if len(self._queues.get(who, ())) >= self._waiting or self._queued >= self._crowd:
            raise TooMany(after=_AFTER_SECONDS)

    def _work(self) -> None:
        while True:
            who, job = self._next()
            result: Any = None
            error: BaseException | None = None
            try:
                if not job.future.cancelled():
                    result = job.work()
            except BaseException as raised:  # noqa: BLE001 - it is raised where the job came from
                error = raised
            with self._changed:
                self._running[who] -= 1
                if not self._running[who]:
                    del self._running[who]
                if who in self._queues:  # it may have waited for this share alone
                    self._changed.notify()
            if not job.loop.is_closed():
                job.loop.call_soon_threadsafe(_settle, job.future, result, error)
            del job, result, error  # nothing of a request is kept while waiting

    def _next(self) -> tuple[str, _Job]:
        """Wait for a job whose person has a share left; who came last in turn comes first."""
        with self._changed:
            while True:
                for who in self._queues:
                    if self._running[who] < self._share:
                        break
                else:
                    self._idle += 1
                    self._changed.wait()
                    self._idle -= 1
                    continue
                queue = self._queues[who]
                job = queue.popleft()
                self._queued -= 1
                self._running[who] += 1
                if queue:
                    self._queues.move_to_end(who)
                else:
                    del self._queues[who]
                return who, job


@dataclass(frozen=True)
class Share:
    """One person's part of a lane."""

    lane: Lane
    who: str

    async def run(self, work: Callable[[], T]) -> T:
        """Run a job when it is this person's turn."""
        return await self.lane.run(self.who, work)

    def refuse_if_full(self) -> None:
        """Raise now what :meth:`run` would: before a body is read that would be refused."""
        self.lane.refuse_if_full(self.who)


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():  # whoever waited for it was cancelled
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
