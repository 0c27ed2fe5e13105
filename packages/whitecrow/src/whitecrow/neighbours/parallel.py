"""Running compiled kernels on all cores.

The kernels release Python's lock, so plain threads suffice. Unlike numba's own parallel loops they
may be used from several threads at once and after a fork, which servers do.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")

_pool: ThreadPoolExecutor | None = None
_most: int | None = None


def workers() -> int:
    """Return how many cores this process may use."""
    return _most if _most is not None else _cores()


def limit(most: int) -> None:
    """Use so many cores from now on: for a process that works beside others of its kind."""
    global _most
    _most = most


@cache
def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # some systems cannot say
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def chunks(total: int, least: int) -> Iterator[tuple[int, int]]:
    """Divide ``range(total)`` into runs of at least ``least``, several for each core."""
    size = max(least, -(-total // (8 * workers())), 1)
    for first in range(0, total, size):
        yield first, min(total, first + size)


def run(tasks: Sequence[Callable[[], object]]) -> None:
    """Run the tasks, on several cores when there are several of both."""
    for _ in results(tasks):
        pass


def results(tasks: Sequence[Callable[[], T]]) -> Iterator[T]:
    """Run the tasks in the same way; yield what each returns, in order."""
    if len(tasks) == 1 or workers() == 1:
        for task in tasks:
            yield task()
    else:
        for future in [_executor().submit(task) for task in tasks]:
            yield future.result()


def side_by_side(act: Callable[[T], object], parts: Iterable[T], most: int) -> None:
    """Do something with each part as it comes, with at most so many at a time."""
    together = min(workers(), most)
    if together == 1:
        for part in parts:
            act(part)
        return
    begun: deque[Future[object]] = deque()
    coming = iter(parts)
    current = next(coming, None)
    while current is not None:
        if len(begun) == together:
            begun.popleft().result()
        following = next(coming, None)
        if following is None:
            act(current)  # the last, often the only one: this thread would do nothing but wait
        else:
            begun.append(_executor().submit(act, current))
        current = following
    for future in begun:
        future.result()


def _executor() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(workers(), thread_name_prefix="whitecrow")
    return _pool


def _forget() -> None:
    """Drop the pool in a forked child, which has none of its parent's threads."""
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):  # elsewhere there is no fork
    os.register_at_fork(after_in_child=_forget)
