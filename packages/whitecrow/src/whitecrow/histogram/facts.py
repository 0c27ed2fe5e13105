"""Facts that are counted by cells: they answer with noise, and with nothing else.

Which cells are counted next is read off what was released of those before, so the records are
counted while a release is made. The exact counts stay in here: what comes out has its noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from whitecrow.histogram.counting import Counting, Counts
from whitecrow.histogram.noise_budget import Money, Noise
from whitecrow.noise import Source
from whitecrow.privacy import Facts


@dataclass(frozen=True, repr=False, eq=False)
class CellFacts(Facts):
    """The records, behind cells.

    Parameters
    ----------
    _count : callable
        Counts all records by cells, exactly, here or where they are; only this object calls it.
    """

    _count: Callable[[Any], Counts]
    _counted: list[Any] = field(default_factory=list, init=False)

    def noisy_counts(
        self,
        cells: Counting,
        noise: Noise,
        source: Source | None = None,
        groups: Counts | None = None,
    ) -> Counts:
        """Return how many records the cells hold, each number with its own draw of the noise.

        Parameters
        ----------
        cells : Counting
            Which cell a record is in.
        noise : Noise
            What is added.
        source : Source, optional
            Where the noise comes from.
        groups : int64 array, optional
            For each cell the larger one that it is a part of; -1 for cells that are left out.
        """
        counts = self._exact(cells)
        if groups is not None:
            kept = groups >= 0
            merged = np.zeros(int(groups.max(initial=-1)) + 1, dtype=np.int64)
            np.add.at(merged, groups[kept], counts[kept])
            counts = merged
        return noise.added(counts, source)

    def _exact(self, cells: Counting) -> Counts:
        """Count once what is asked for several times in a row."""
        if not self._counted or self._counted[0] != cells:
            self._counted[:] = cells, self._count(cells)
        counts: Counts = self._counted[1]
        return counts


class Answers(Protocol):
    """Noisy counts, each for a part of a price: drawn now, or read again."""

    @property
    def money(self) -> Money:
        """What all of it is paid with."""

    def counts(
        self, cells: Counting, share: Fraction, tables: int, groups: Counts | None = None
    ) -> tuple[npt.NDArray[Any], float]:
        """Return the noisy counts of ``tables`` histograms that share a part, and the deviation."""


@dataclass(frozen=True)
class Bought:
    """Noisy counts of some facts, drawn when they are asked for.

    Parameters
    ----------
    facts : CellFacts
    money : Money
        What is paid with.
    source : Source, optional
        Of the noise; the operating system's unless given.
    """

    facts: CellFacts
    money: Money
    source: Source | None = None

    def counts(
        self, cells: Counting, share: Fraction, tables: int, groups: Counts | None = None
    ) -> tuple[Counts, float]:
        """Return the noisy counts of ``tables`` histograms that share a part, and the deviation."""
        noise = self.money.histograms(share, tables)
        return self.facts.noisy_counts(cells, noise, self.source, groups), noise.deviation
