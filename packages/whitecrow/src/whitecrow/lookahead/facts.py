"""What ``lookahead`` must know of the data: the occupied cells and their counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from whitecrow.data import Records
from whitecrow.lookahead.question import Lookahead
from whitecrow.neighbours import Engine
from whitecrow.privacy import Facts
from whitecrow.question import Progress


@dataclass(frozen=True, repr=False, eq=False)
class LookaheadFacts(Facts):
    """The true histogram."""

    # The occupied cells, as places in the domain's value lists, in the domain's order.
    exact_cells: NDArray[np.int64]
    exact_counts: NDArray[np.int64]  # how many records each holds; at least 1
    domain: tuple[Sequence[int | str], ...]  # the values of each column (public)
    step: Fraction  # the loss allowed for one record (public)


def gather(
    question: Lookahead, dataset: Records, engine: Engine, progress: Progress | None = None
) -> LookaheadFacts:
    """Count the records of each occupied cell."""
    axes = question.axes(dataset.card)
    groups, held = dataset.tally([axis.key for axis in axes])
    firsts = np.array([axis.first for axis in axes], dtype=np.int64)
    places = np.column_stack(groups).astype(np.int64) - firsts
    cells, which = np.unique(places, axis=0, return_inverse=True)
    counts = np.zeros(len(cells), np.int64)
    np.add.at(counts, which.reshape(-1), held)
    step = question.epsilon / dataset.card.contribution
    return LookaheadFacts(cells, counts, tuple(axis.values for axis in axes), step)
