"""When an ask may run: one a person, few a dataset, each in a slot of published length.

A padded ask keeps its slot until its reply is due. So whoever waits for a slot waits for published
times and never for the time that somebody's computation took.

Replies leave at published moments, so that their time says nothing of the computation. A deadline
comes from public facts: the question's parameters, the card, the bounds. It must cover the
computation for any records within these, on this machine, or its multiples tell something of them.
The limits of a question count its steps for the worst records; what it takes on a machine like
those that were measured follows from them, with a margin. ``python -m benchmarks.deadlines``
compares the model with the clock.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from whitecrow.data import Card
from whitecrow.errors import TooMany, Unreachable
from whitecrow.ledger.account import ToldAt
from whitecrow.question import Question
from whitecrow.questions import question_type, type_of

if TYPE_CHECKING:
    from whitecrow_server._settings import Settings


def due(elapsed: float, deadline: float) -> float:
    """Return when to reply: the first multiple of the deadline that is not yet over.

    Examples
    --------
    >>> due(0.01, 0.25), due(0.3, 0.25)
    (0.25, 0.5)
    """
    return deadline * max(1, math.ceil(elapsed / deadline))


def reply_moment(began: datetime, deadline: float, margin: float) -> ToldAt:
    """When others may learn what an ask wrote: once its reply is due."""

    def moment(stamp: datetime) -> datetime:
        elapsed = (stamp - began).total_seconds()
        return began + timedelta(seconds=due(elapsed, deadline) + margin)

    return moment


async def wait(started: float, deadline: float | None) -> None:
    """Wait until the reply to a request that came at ``started`` (loop time) is due."""
    if deadline is None:
        return
    loop = asyncio.get_running_loop()
    # Fixed before sleeping: a late wake-up does not move the reply to the next multiple.
    target = started + due(loop.time() - started, deadline)
    while (left := target - loop.time()) > 0:
        await asyncio.sleep(left)


VALUES_A_DEADLINE = 10_000_000
"""Records times columns, by the card: so many values more, and reading them takes longer."""

_MARGIN = 2.5
"""How many times as long as the slowest measured machine would take for the worst records."""


def multiple(card: Card | None, records_at_most: int) -> int:
    """How many times its least reply time a question over a large dataset gets."""
    if card is None:  # not loaded yet: nothing can be asked
        return 1
    records = records_at_most if card.most_records is None else card.most_records
    return max(1, -(-records * len(card.columns) // VALUES_A_DEADLINE))


def deadline_of(
    settings: Settings, kind: str, card: Card | None, question: Question | None = None
) -> float | None:
    """The published reply time of a question; None if it is not padded.

    A scan takes longer over more records, and a deadline must cover it: so it grows with the size
    of the dataset, as public facts bound it and never as the records are.
    """
    seconds = settings.deadlines.get(kind, settings.deadlines.get("*"))
    if seconds is not None:
        return seconds * multiple(card, settings.records_at_most)
    if not settings.by_cost or card is None or question is None:
        return Question.reply_seconds if settings.by_cost else None
    return reply_time(question, card, settings.records_at_most)


def deadlines_over(settings: Settings, card: Card | None) -> dict[str, float]:
    """All reply times for a dataset that were set by kind."""
    times = multiple(card, settings.records_at_most)
    return {kind: seconds * times for kind, seconds in settings.deadlines.items()}


def reply_time(question: Question, card: Card, records_at_most: int) -> float:
    limits = type_of(question).limits(question, card, records_at_most)
    least = question.reply_seconds * multiple(card, records_at_most)
    return rounded(least if math.isinf(limits.seconds) else least + _MARGIN * limits.likely_seconds)


def rounded(seconds: float) -> float:
    """Round up to 1, 2.5 or 5 times a power of ten: few moments, easily told apart.

    Examples
    --------
    >>> [rounded(one) for one in (0.25, 0.26, 3.0, 40.0)]
    [0.25, 0.5, 5.0, 50.0]
    """
    power = 10.0 ** math.floor(math.log10(seconds))
    return next(step for step in (power, 2.5 * power, 5 * power, 10 * power) if seconds <= step)


Left = Callable[[], Awaitable[object]]
"""Returns when the client has closed its connection."""


class _Gate:
    """A semaphore with a bounded queue: ``most`` may enter at once, ``waiting`` more may wait."""

    def __init__(self, most: int, waiting: int) -> None:
        self._free, self._most_waiting = asyncio.Semaphore(most), waiting
        self.inside = self.waiting = 0

    async def enter(self, after: int, left: Left | None) -> None:
        if self.waiting >= self._most_waiting:
            raise TooMany(after=after)
        if not self._free.locked():
            await self._free.acquire()
        else:
            self.waiting += 1
            try:
                await _unless(left, self._free)
            finally:
                self.waiting -= 1
        self.inside += 1

    def leave(self) -> None:
        self.inside -= 1
        self._free.release()


class Schedule:
    """The slots of one worker."""

    def __init__(self, *, at_once: int, slots: int, waiting: int) -> None:
        self._at_once, self._slots, self._waiting = at_once, slots, waiting
        self._loop: asyncio.AbstractEventLoop | None = None
        self._gates: dict[tuple[str, ...], _Gate] = {}

    @asynccontextmanager
    async def slot(
        self,
        person: str,
        dataset: str,
        kind: str,
        deadline: float | None,
        left: Left | None = None,
        late: Callable[[], None] | None = None,
    ) -> AsyncIterator[None]:
        """Wait for a slot and keep it while the block runs, then until the reply is due.

        ``late`` is called if the block took longer than its deadline. Refused are asks of whom, or
        about which, too many wait already, and those whose asker hung up while waiting.
        """
        # Light ones look at one place; they do not wait for the others, which look at all records.
        light = question_type(kind).question.light
        wide = (self._at_once if deadline is None else self._slots) if light else 1
        after = max(1, math.ceil(deadline or 1))
        # One person has one ask in the second line at most: there, first come is a fair share.
        async with (
            self._through(("person", person), 1, after, left),
            self._through(("dataset", dataset, str(light), str(wide)), wide, after, left),
        ):
            loop = asyncio.get_running_loop()
            started = loop.time()
            try:
                yield
            finally:
                was_late = deadline is not None and loop.time() - started > deadline
                await wait(started, deadline)
                if late is not None and was_late:  # counted when it may be known
                    late()

    @asynccontextmanager
    async def _through(
        self, key: tuple[str, ...], most: int, after: int, left: Left | None
    ) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # a service runs in one loop; tests use one after the other
            self._loop, self._gates = loop, {}
        gate = self._gates.setdefault(key, _Gate(most, self._waiting))
        await gate.enter(after, left)
        try:
            yield
        finally:
            gate.leave()
            if not gate.inside and not gate.waiting:
                self._gates.pop(key, None)


async def _unless(left: Left | None, free: asyncio.Semaphore) -> None:
    """Acquire the semaphore, or give up when the client has closed its connection."""
    if left is None:
        await free.acquire()
        return
    acquired, gone = asyncio.ensure_future(free.acquire()), asyncio.ensure_future(left())
    try:
        await asyncio.wait({acquired, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not acquired.done():
            raise Unreachable("The client closed the connection; nothing was spent.")
    except BaseException:
        # Cancelled in the moment in which the turn came: nobody would ever give it back.
        if not acquired.cancel():
            free.release()
        raise
    finally:
        gone.cancel()


# Lanes: threads for each sort of work, in which people take turns

T = TypeVar("T")

_AFTER_SECONDS = 2


@dataclass(frozen=True)
class _Job:
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    work: Callable[[], Any]


class Lane:
    """Runs jobs in threads that end with the process, whatever they are doing."""

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
        """Run a job in a thread, unless too many of this person, or of all together, wait."""
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
                job.loop.call_soon_threadsafe(_resolve, job.future, result, error)
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
    lane: Lane
    who: str

    async def run(self, work: Callable[[], T]) -> T:
        return await self.lane.run(self.who, work)

    def refuse_if_full(self) -> None:
        """Raise now what :meth:`run` would: before a body is read that would be refused."""
        self.lane.refuse_if_full(self.who)


def _resolve(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():  # whoever waited for it was cancelled
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
