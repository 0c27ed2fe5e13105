"""Where machine code is kept, whose code is trusted, and who compiles when several would.

Kept code is run: a folder is used only if nobody else can write to it. Processes that need the same
code take turns, so that one compiles and the others load what it has kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows: every process compiles for itself
    _LOCKS = False
else:
    _LOCKS = True

INSTALLED = Path(__file__).parent / "__pycache__" / "kernels"
"""The package's own folder, filled on this machine."""

CARRIED = Path(__file__).parent / "_machine_code"
"""What a wheel for one platform brings along; no other wheel has it."""


def folders() -> list[Path]:
    """Where code is looked for: the given folder, the package's own, the user's, the wheel's."""
    return [place for place in (*_given(), INSTALLED, *_own(), CARRIED) if trusted(place)]


def folder_to_fill() -> Path | None:
    """Return where new code is kept: the first folder that can be written.

    A given folder is the only one. None: there is no place to keep it.
    """
    places = [*_given()] or [INSTALLED, *_own()]
    fit = (place for place in places if trusted(place) and _can_be_filled(place))
    return next(fit, None)


def _given() -> Iterator[Path]:
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        yield Path(given)


def trusted(place: Path) -> bool:
    """Say whether only oneself, root, or whoever installed the package can write to a folder.

    One that is not there yet holds nobody's code. A group of one's own (as many systems give every
    user) is oneself.
    """
    if os.name == "nt":  # permissions are not in the mode
        return True
    try:
        about = place.stat()
    except OSError:
        return True
    owners = {os.geteuid(), 0, Path(__file__).stat().st_uid}
    shared = about.st_mode & 0o002 or (about.st_mode & 0o020 and about.st_gid != about.st_uid)
    return about.st_uid in owners and not shared


def _own() -> Iterator[Path]:
    base = os.environ.get("LOCALAPPDATA") if os.name == "nt" else os.environ.get("XDG_CACHE_HOME")
    try:
        yield (Path(base) if base else Path.home() / ".cache") / "whitecrow" / "kernels"
    except RuntimeError:  # nobody's home
        return


def _can_be_filled(place: Path) -> bool:
    """Say whether a folder can be written, or made where it is not there yet; make nothing."""
    while not os.access(place, os.F_OK) and place != place.parent:
        place = place.parent
    return place.is_dir() and os.access(place, os.W_OK | os.X_OK)


class Turn:
    """Whose turn it is to compile a piece of code, among the processes of this machine.

    The lock is the operating system's: it ends with the process that holds it. Where there are no
    locks it is everybody's turn.

    Parameters
    ----------
    file : Path
        A file for the lock, made if need be, that nobody else can open.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._held: int | None = None

    def taken(self) -> bool:
        """Take the turn if nobody has it; say whether it is ours now."""
        if not _LOCKS:
            return True
        try:
            if self._held is None:
                flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
                self._held = os.open(self._file, flags, 0o600)
            flock(self._held, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks, a file that is somebody else's
            return True
        return True

    def over(self) -> None:
        """Let the next one go on. Whoever waits looks for the code first, whatever file it has."""
        if self._held is not None:
            self._file.unlink(missing_ok=True)
            os.close(self._held)
            self._held = None
