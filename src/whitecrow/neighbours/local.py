"""The engine that counts in this process and needs no server."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from whitecrow.neighbours.closeness import Closeness
from whitecrow.neighbours.counts import copies, count_all, count_close
from whitecrow.neighbours.engine import Records
from whitecrow.neighbours.index import Progress

__all__ = ["LocalEngine"]


class LocalEngine:
    """Counts neighbours of one dataset."""

    def __init__(self, dataset: Records, *, progress: Progress | None = None) -> None:
        self._dataset = dataset
        self._progress = progress

    def neighbours(
        self, records: ArrayLike, closeness: Closeness, cap: int | None = None
    ) -> NDArray[np.int64]:
        """Return min(number of data records close to it, cap) for each record of a batch."""
        return count_close(
            self._dataset.matrix(closeness.columns),
            records,
            closeness.radius,
            closeness.metric,
            cap,
            ranges=closeness.ranges,
        )

    def copies(
        self, records: ArrayLike, closeness: Closeness, cap: int | None = None
    ) -> NDArray[np.int64]:
        """Return min(number of data records equal in all the columns, cap) for each record."""
        return copies(self._dataset.matrix(closeness.columns), records, cap)

    def degrees(self, closeness: Closeness, cap: int | None = None) -> NDArray[np.int64]:
        """Return min(number of close records, itself included, cap) for each data record."""
        return count_all(
            self._dataset.matrix(closeness.columns),
            closeness.radius,
            closeness.metric,
            cap,
            ranges=closeness.ranges,
        )
