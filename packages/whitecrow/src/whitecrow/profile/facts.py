"""What ``profile`` must know of the data: how many records each cell holds, and which texts occur.

Where the next cells are is read off what was released of those before, so the facts are the records
behind two counting functions. Records that the card leaves out are counted too: a missing value, or
a category that is not listed, is what a profile is to tell of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from whitecrow.data import Card, Dataset, Records
from whitecrow.data.warehouse import RemoteDataset
from whitecrow.histogram.counting import Counts, Matrix, every_counted_by, every_text
from whitecrow.histogram.line import Edges
from whitecrow.neighbours import Engine
from whitecrow.privacy import Facts
from whitecrow.profile.question import Profile
from whitecrow.question import Progress


@dataclass(frozen=True, eq=False)
class _ByCell:
    """Counts by the cells of some columns; the first cell of each is for missing values."""

    edges: tuple[Edges, ...]

    @property
    def size(self) -> int:
        return sum(len(edges) + 2 for edges in self.edges)

    def count(self, rows: Matrix, counts: Counts) -> None:
        first = 0
        for place, edges in enumerate(self.edges):
            values = rows[:, place]
            cells = np.where(np.isnan(values), 0, np.searchsorted(edges, values, side="right") + 1)
            size = len(edges) + 2
            counts[first : first + size] += np.bincount(cells, minlength=size)
            first += size


@dataclass(frozen=True, repr=False, eq=False)
class ProfileFacts(Facts):
    """The records, behind counting functions.

    Parameters
    ----------
    card : Card
        The dataset's public facts.
    by_cell : callable
        Counts columns by their cells: how many values are missing, then how many lie in each.
    by_text : callable
        Counts a column's texts; None stands for a missing one.
    """

    card: Card
    by_cell: Callable[[Mapping[str, Edges]], dict[str, Counts]]
    by_text: Callable[[str], dict[str | None, int]]


def gather(
    question: Profile,
    dataset: Records,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> ProfileFacts:
    """Hold the records behind counting functions; nothing is counted yet."""
    assert isinstance(dataset, Dataset | RemoteDataset)

    def by_cell(wanted: Mapping[str, Edges]) -> dict[str, Counts]:
        counting = _ByCell(tuple(wanted.values()))
        counts = every_counted_by(counting, dataset, tuple(wanted))
        if progress is not None:
            progress(1, 1, "counting by cell")
        ends = np.cumsum([len(edges) + 2 for edges in wanted.values()])[:-1]
        return dict(zip(wanted, np.split(counts, ends), strict=True))

    def by_text(name: str) -> dict[str | None, int]:
        found = every_text(dataset, name)
        if progress is not None:
            progress(1, 1, "counting texts")
        return found

    return ProfileFacts(dataset.card, by_cell, by_text)
