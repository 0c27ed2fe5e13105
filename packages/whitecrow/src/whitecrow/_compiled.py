"""How kernels are compiled, and when they are used.

numba compiles a kernel when it is first called and keeps the machine code: beside the kernel's
source, else in the user's own cache, or in the folder that NUMBA_CACHE_DIR names. Whoever waits for
it at a terminal is told once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

_INTO_OTHERS = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Neither Python nor C calls them: a way in would be compiled for nobody."""


def compiled(**flags: Any) -> Callable[[Any], Any]:
    """Return a decorator: compiled when first called, with numba's flags, and the code kept."""
    from numba import njit

    _tell_of_compiling()

    def wrap(function: Any) -> Any:
        try:
            return njit(cache=True, **flags)(function)
        except RuntimeError:  # no folder can be written: every process compiles for itself
            return njit(**flags)(function)

    return wrap


def compiled_into(**flags: Any) -> Callable[[Any], Any]:
    """Return a decorator for a function that only compiled ones call: it becomes part of them."""
    from numba import njit

    decorate: Any = njit  # its types know fewer flags than it does
    decorator: Callable[[Any], Any] = decorate(**flags, **_INTO_OTHERS)
    return decorator


def cache_folder() -> str | None:
    """Return where numba keeps the code of kernels; None if no folder can be written."""
    folder: str | None = compiled()(lambda: None).stats.cache_path
    return (os.environ.get("NUMBA_CACHE_DIR") or folder) if folder is not None else None


@cache
def _tell_of_compiling() -> None:
    from numba.core import event

    class Notice(event.Listener):
        told = False

        def on_start(self, event: Any) -> None:
            module = event.data["dispatcher"].py_func.__module__
            if not self.told and module.startswith("whitecrow.") and sys.stderr.isatty():
                self.told = True
                sys.stderr.write("whitecrow: compiling, once for this machine (half a minute)\n")

        def on_end(self, event: Any) -> None:
            """Say nothing more."""

    event.register("numba:compile", Notice())


class Kernels:
    """Which code counts: numpy at first, compiled kernels from some work on.

    Loading the compiler takes a second, compiling a kernel up to ten; numpy computes 500 million
    differences of columns in one to two seconds. So a process begins with numpy and loads the
    kernels ``after`` so many differences, or when it is told to. That depends on how much was asked
    of how many records; the counts are the same.
    """

    def __init__(self, after: int = 500_000_000) -> None:
        self._left = after

    @property
    def loaded(self) -> bool:
        return self._left < 0

    def use(self) -> None:
        self._left = -1

    def pay(self, work: int) -> bool:
        """Note a piece of work, in differences of columns; say whether the kernels are to do it."""
        if self._left >= 0:
            self._left -= work
        return self.loaded


KERNELS = Kernels()
"""Of this process: the compiler is loaded once for all engines."""
