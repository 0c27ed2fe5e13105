"""What ``profile`` must know of the data: how many records cells hold, and which texts occur.

Records that the card leaves out are counted too: a missing value, or a category that is not listed,
is what a profile is to tell of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from whitecrow.data import Card, Dataset, Records
from whitecrow.data.warehouse import RemoteDataset
from whitecrow.histogram.facts import CellFacts, Counts, Matrix, every_counted_by, every_text
from whitecrow.histogram.line import Floats
from whitecrow.histogram.noise_budget import Noise
from whitecrow.histogram.table import Categories
from whitecrow.neighbours import Engine
from whitecrow.noise import Source
from whitecrow.profile.question import Profile
from whitecrow.question import Progress


@dataclass(frozen=True, eq=False)
class ByEdges:
    """The cells of some columns, one column after the other; the first is for missing values."""

    names: tuple[str, ...]
    edges: tuple[Floats, ...]

    @property
    def sizes(self) -> list[int]:
        return [len(edges) + 2 for edges in self.edges]

    @property
    def size(self) -> int:
        return sum(self.sizes)

    def count(self, rows: Matrix, counts: Counts) -> None:
        columns = np.split(counts, np.cumsum(self.sizes)[:-1])
        for edges, values, own in zip(self.edges, rows.T, columns, strict=True):
            cells = np.where(np.isnan(values), 0, np.searchsorted(edges, values, side="right") + 1)
            own += np.bincount(cells, minlength=len(own))


@dataclass(frozen=True, repr=False, eq=False)
class ProfileFacts(CellFacts):
    """The records, behind cells and texts."""

    card: Card  # the dataset's public facts
    _texts: Callable[[str], dict[str | None, int]]  # a column's texts, exactly; None is missing

    def noisy_texts(
        self,
        name: str,
        listed: Sequence[str],
        noise: Noise,
        source: Source | None = None,
        least: int | None = None,
    ) -> Categories:
        """Return the counts of listed texts, each with its own draw of the noise.

        With ``least`` other texts are named where their noisy count is at least that; without,
        they are counted together.
        """
        exact = self._texts(name)
        wanted = set(listed)
        # Sorted, so that neither the order of the records nor that of an engine's answer shows.
        unlisted = sorted(text for text in exact if text is not None and text not in wanted)
        rest = [exact[text] for text in unlisted]
        public = [exact.get(None, 0), *(exact.get(value, 0) for value in listed)]
        counts = np.array([*public, *([sum(rest)] if least is None else rest)], dtype=np.int64)
        missing, *noisy = noise.added(counts, source).tolist()
        noisy, rest = noisy[: len(listed)], noisy[len(listed) :]
        named = {}
        if least is not None:
            named = {text: n for text, n in zip(unlisted, rest, strict=True) if n >= least}
        kind, off = self.card.column(name).type, noise.deviation
        values, held = (*listed, *named), (*noisy, *named.values())
        others = rest[0] if least is None else None
        return Categories(name, kind, values, held, missing, off, len(listed), least, others)


def gather(
    question: Profile,
    dataset: Records,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> ProfileFacts:
    """Hold the records behind cells; nothing is counted yet."""
    assert isinstance(dataset, Dataset | RemoteDataset)

    def count(cells: ByEdges) -> Counts:
        counts = every_counted_by(cells, dataset, cells.names)
        if progress is not None:
            progress(1, 1, "counting by cell")
        return counts

    def texts(name: str) -> dict[str | None, int]:
        counts = every_text(dataset, name)
        if progress is not None:
            progress(1, 1, "counting texts")
        return counts

    return ProfileFacts(count, dataset.card, texts)
