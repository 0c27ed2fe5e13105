"""Counting for every record of a table with few columns: most are settled cell by cell.

What remains are the records in thin places, and they need only the records of the cells within
their reach (:mod:`~whitecrow.neighbours.cells`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours import parallel
from whitecrow.neighbours.cells import in_order, lay_over
from whitecrow.neighbours.relation import Form

Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]

MOST_COLUMNS = 3

_MOST_CELLS = 1 << 17
_SAMPLE = 4096


@dataclass(frozen=True, repr=False)
class Settled:
    """What the cells tell."""

    counts: Counts  # the cap for settled records, 0 for the others
    asking: Counts  # the rows that are not settled
    # These and all rows that may be close to them, cell by cell so that near ones are together, and
    # at the end those of outermost cells.
    nearby: Counts
    within: int  # how many of ``nearby`` lie in other cells


def settle(values: Matrix, form: Form, cap: int, most: int) -> Settled | None:
    """Settle what cells can, or return None where they would leave more than ``most`` open."""
    size = len(values)
    sample = values[:: max(1, size // _SAMPLE)]
    lattice = lay_over(sample, form, min(_MOST_CELLS, max(256, size // 8)))
    if lattice is None:
        return None
    spans = parallel.chunks(size, 1 << 18)
    parts = parallel.results([partial(lattice.keys, values[slice(*span)]) for span in spans])
    keys = np.concatenate(list(parts))
    held = np.bincount(keys, minlength=lattice.total)
    inhabited = np.flatnonzero(held)
    judged = lattice.judged(inhabited, held[inhabited], cap)
    if judged.asked > most:
        return None

    rank = np.full(lattice.total, -1, np.int32)
    asking, within = np.zeros(lattice.total, bool), 0
    for turn in judged.turns(size):  # all of them, in one
        inner = lattice.inner(turn.near)
        within = int(turn.held[inner].sum())
        listed = turn.near[np.lexsort([lattice.along(turn.near), ~inner])]
        rank[listed] = np.arange(len(listed), dtype=np.int32)
        asking[turn.asking] = True
    ranks = rank[keys]
    rows = np.flatnonzero(ranks >= 0)
    nearby = rows[in_order(ranks[rows])]
    open_ = asking[keys]
    counts = np.where(open_, 0, cap)
    return Settled(counts, np.flatnonzero(open_), nearby, within)
