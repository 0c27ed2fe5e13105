"""What a profile releases of one column: noisy counts."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Numbers:
    """What was released of a column of numbers or dates.

    Parameters
    ----------
    name : str
    kind : {"number", "integer", "date"}
    edges : tuple of float
        Where a new cell begins.
    counts : tuple of int
        The noisy count of each cell; there is one cell more than edges.
    missing : int
        The noisy count of missing values.
    deviation : float
        The standard deviation of the noise of each count.
    """

    name: str
    kind: str
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    missing: int
    deviation: float

    @property
    def total(self) -> int:
        """How many records the counts add up to."""
        return sum(self.counts) + self.missing

    @property
    def total_deviation(self) -> float:
        """The standard deviation of the total's noise."""
        return self.deviation * math.sqrt(len(self.counts) + 1)


@dataclass(frozen=True)
class Categories:
    """What was released of a column of categories or texts.

    Parameters
    ----------
    name : str
    kind : {"category", "text"}
    values : tuple of str
        Those of the card, then those that were found.
    counts : tuple of int
        Their noisy counts.
    missing : int
        The noisy count of missing values.
    deviation : float
        The standard deviation of the noise of each count.
    listed : int
        How many of the values were on the card.
    threshold : int, optional
        The noisy count from which on a value was named that the card does not list.
    others : int, optional
        The noisy count of values that the card does not list, where none of them is named.
    """

    name: str
    kind: str
    values: tuple[str, ...]
    counts: tuple[int, ...]
    missing: int
    deviation: float
    listed: int
    threshold: int | None = None
    others: int | None = None

    @property
    def total(self) -> int | None:
        """How many records the counts add up to; unknown where rare values are not counted."""
        if self.others is None:
            return None
        return sum(self.counts) + self.missing + self.others

    @property
    def total_deviation(self) -> float:
        """The standard deviation of the total's noise."""
        return self.deviation * math.sqrt(len(self.counts) + 2)
