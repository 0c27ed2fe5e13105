"""Compiled kernels, one subject a file; imported only by the functions that use them."""

from __future__ import annotations

__all__ = ["KERNELS", "Kernels"]


class Kernels:
    """When the compiled kernels are used: from the moment on at which loading them has paid.

    Loading the compiler takes 0.8 s of one core; numpy computes 200 million differences of columns
    in 0.3 s (a few records, many rows) to 0.8 s (many records, few rows). So a process begins with
    numpy, and once its counts have added up to that much work, or the next one would, it loads the
    kernels and keeps to them: whatever is asked, about one loading time is lost at the most. Which
    code counts is a function of how much was asked of how many records; the counts are the same.

    Parameters
    ----------
    after : int, default 200,000,000
        Differences of columns that numpy computes before the kernels are loaded.
    """

    def __init__(self, after: int = 200_000_000) -> None:
        self._after = after
        self._done = 0

    def use(self) -> None:
        """Use the kernels from now on: a service does at its start, and whoever has them loaded."""
        self._done = self._after + 1

    def pay(self, work: int) -> bool:
        """Note a piece of work, in differences of columns; say whether the kernels are to do it."""
        self._done += work
        return self._done > self._after


KERNELS = Kernels()
"""Of this process: the compiler is loaded once for all engines."""
