"""What an engine must offer, and how one is opened."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whitecrow.errors import Unavailable, invalid
from whitecrow.neighbours.closeness import Closeness
from whitecrow.neighbours.index import Progress

__all__ = ["ENGINES", "Engine", "Records", "open_engine"]

ENGINES = ("local", "spark", "sql", "gpu")
"""Every engine that has a name; ``local`` needs nothing but this package."""


class Records(Protocol):
    """The little that an engine asks of a dataset."""

    def matrix(self, columns: Sequence[str]) -> NDArray[np.float64]:
        """Return the columns as a C-contiguous matrix of doubles, one row a record."""

    def fingerprint(self) -> str:
        """Return a text that changes when the data change."""


@runtime_checkable
class Engine(Protocol):
    """Computes facts about neighbourhoods; every engine returns the same integers.

    The numbers are private facts: they go to a mechanism and nowhere else.
    """

    def neighbours(
        self, records: ArrayLike, closeness: Closeness, cap: int | None = None
    ) -> NDArray[np.int64]:
        """Return min(number of data records close to it, cap) for each record of a batch."""

    def copies(
        self, records: ArrayLike, closeness: Closeness, cap: int | None = None
    ) -> NDArray[np.int64]:
        """Return min(number of data records equal in all the columns, cap) for each record."""

    def degrees(self, closeness: Closeness, cap: int | None = None) -> NDArray[np.int64]:
        """Return min(number of close records, itself included, cap) for each data record."""


def open_engine(
    dataset: Records,
    name: str = "local",
    *,
    index: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Engine:
    """Open an engine on a dataset.

    Parameters
    ----------
    dataset : Dataset
        The records; an engine reads ``matrix`` and ``fingerprint`` only.
    name : str
        ``local`` counts in this process.
    index : path, optional
        Where ``local`` keeps its index, see :func:`~whitecrow.neighbours.beside`.
    progress : callable, optional
        Told how far a long build or count is.

    Raises
    ------
    InvalidInput
        No engine has this name.
    Unavailable
        The engine exists but this installation does not have it.
    """
    if name == "local":
        from whitecrow.neighbours.local import LocalEngine

        return LocalEngine(dataset, index=index, progress=progress)
    if name == "gpu":
        from whitecrow.neighbours.gpu import GpuEngine

        return GpuEngine(dataset, progress=progress)
    if name in ENGINES:
        raise Unavailable(f"The engine '{name}' is not installed here. Use engine='local'.")
    raise invalid("open_engine", "name", f"one of {', '.join(ENGINES)}", name)
