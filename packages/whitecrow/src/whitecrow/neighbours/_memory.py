"""Memory that was freed, and that the process holds all the same."""

from __future__ import annotations

import contextlib
import ctypes


def give_back() -> None:
    """Return freed memory to the system: the GNU C library keeps some of it until it is told.

    Others have no such function, and nothing happens.
    """
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
