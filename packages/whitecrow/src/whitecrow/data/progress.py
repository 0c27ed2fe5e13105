"""Whom to tell how far a long computation is, for code that is far from who asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[int, int, str], None]

_LISTENER: ContextVar[Progress | None] = ContextVar("whitecrow progress", default=None)


@contextmanager
def reporting(progress: Progress | None) -> Iterator[None]:
    """Let everything that is called from here report to ``progress``."""
    token = _LISTENER.set(progress)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def listener() -> Progress | None:
    return _LISTENER.get()
