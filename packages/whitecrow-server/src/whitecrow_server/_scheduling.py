"""When an ask may run: one a person, few a dataset, each in a slot of published length.

A padded ask keeps its slot until its reply is due. So whoever waits for a slot waits for published
times and never for the time that somebody's computation took.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from whitecrow.errors import TooMany, Unreachable
from whitecrow.questions import question_type
from whitecrow_server import _padding as padding

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
    """The slots of one worker.

    Parameters
    ----------
    at_once : int
        How many light asks about a dataset run at once while replies are not padded.
    slots : int
        How many do while they are: each deadline must cover so many computations.
    waiting : int
        How many asks of one person, and how many about one dataset, may wait.
    """

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

        ``late`` is called if the block took longer than its deadline.

        Raises
        ------
        TooMany
            Too many asks of this person, or about this dataset, wait already.
        Unreachable
            Whoever asked hung up while waiting: nothing was begun.
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
                await padding.wait(started, deadline)
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
    turn, gone = asyncio.ensure_future(free.acquire()), asyncio.ensure_future(left())
    try:
        await asyncio.wait({turn, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not turn.done():
            raise Unreachable("Whoever asked has hung up; nothing was spent.")
    except BaseException:
        # Cancelled in the moment in which the turn came: nobody would ever give it back.
        if not turn.cancel():
            free.release()
        raise
    finally:
        gone.cancel()
