"""Memory: what was freed goes back to the system before an index is made."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import pytest

from whitecrow.neighbours.plans import give_back


def resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the GNU C library's function")
def test_freed_pieces_go_back_to_the_system() -> None:
    """Pieces between others that stay are kept by the C library until it is told."""
    pieces = [np.ones(12_000) for _ in range(1000)]
    kept = pieces[::50]
    del pieces
    before = resident()
    give_back()
    assert before - resident() > 40_000_000
    assert all(piece.sum() == 12_000 for piece in kept)


def test_where_the_library_has_no_such_function_nothing_happens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str | None] = []

    def without_it(name: str | None) -> object:
        asked.append(name)
        return object()

    def no_library(name: str | None) -> object:
        asked.append(name)
        raise OSError

    for library in (without_it, no_library):
        monkeypatch.setattr("ctypes.CDLL", library)
        give_back()
    assert asked == [None, None]
