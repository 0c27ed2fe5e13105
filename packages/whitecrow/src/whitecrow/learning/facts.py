"""What ``learn`` must know of the data: how many records cells hold, and which edge has a rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from whitecrow.data import Card, Records
from whitecrow.detector import on_gpu
from whitecrow.histogram.counting import Counts, counted_by
from whitecrow.histogram.facts import CellFacts
from whitecrow.learning import threshold
from whitecrow.learning.cells import ByColumn, ByScore, ByTable, Cells
from whitecrow.learning.question import Learn
from whitecrow.neighbours import Engine, device_of
from whitecrow.noise import Source
from whitecrow.privacy import Unit
from whitecrow.question import Progress


@dataclass(frozen=True, repr=False, eq=False)
class LearnFacts(CellFacts):
    """The records, behind cells.

    Parameters
    ----------
    card : Card
        The dataset's public facts.
    """

    card: Card

    def chosen_edge(
        self,
        cells: ByScore,
        rate: Fraction,
        epsilon: Fraction,
        relation: Unit,
        source: Source | None,
    ) -> int:
        """Return the place of an edge that about this part of the records is above, epsilon-DP."""
        contribution = self.card.contribution
        return threshold.choose(self._exact(cells), rate, epsilon, relation, contribution, source)


def gather(
    question: Learn,
    dataset: Records,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> LearnFacts:
    """Hold the records behind cells; nothing is counted yet."""
    names = question.names(dataset.card)
    device = device_of(engine)

    def count(cells: Cells) -> Counts:
        if device is None:
            counts = counted_by(cells, dataset, names)
        else:
            on_device = replace(cells, device=device)
            counts = counted_by(on_device, dataset, names, batch=on_gpu.BATCH, alone=True)
        if progress is not None:
            progress(1, 1, _WORDS[type(cells)])
        return counts

    return LearnFacts(count, dataset.card)


_WORDS = {
    ByColumn: "counting by column",
    ByTable: "counting by table",
    ByScore: "counting by score",
}
