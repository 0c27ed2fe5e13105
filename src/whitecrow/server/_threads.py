"""Threads in which requests wait and compute, while the event loop goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

__all__ = ["Threads"]

T = TypeVar("T")

_Task = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[[], Any]]


class Threads:
    """Runs jobs in threads that end with the process, whatever they are doing.

    Parameters
    ----------
    most : int
        How many threads there are at the most; they are made when they are needed.
    """

    def __init__(self, most: int) -> None:
        self._most, self._made = most, 0
        self._idle = 0
        self._lock = threading.Lock()
        self._tasks: SimpleQueue[_Task] = SimpleQueue()

    async def run(self, job: Callable[[], T]) -> T:
        """Run a job in a thread and return its result, or raise its error."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        with self._lock:
            if self._idle:
                self._idle -= 1
            elif self._made < self._most:
                self._made += 1
                threading.Thread(target=self._work, name="whitecrow-request", daemon=True).start()
        self._tasks.put((loop, future, job))
        return await future

    def _work(self) -> None:
        while True:
            loop, future, job = self._tasks.get()
            result: Any = None
            error: BaseException | None = None
            try:
                result = job()
            except BaseException as raised:  # noqa: BLE001 - it is raised where the job came from
                error = raised
            with self._lock:
                self._idle += 1
            if not loop.is_closed():
                loop.call_soon_threadsafe(_settle, future, result, error)
            del loop, future, job, result, error  # nothing of a request is kept while waiting


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():  # whoever waited for it was cancelled
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)
