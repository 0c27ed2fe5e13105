"""Locks on single bytes of a file, which the system takes away when their holder dies.

They belong to an open file description, not to a process: two threads that each open the file
exclude each other, and closing one descriptor frees its own locks only.
"""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

__all__ = ["free", "opened", "take", "wait_for"]


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
