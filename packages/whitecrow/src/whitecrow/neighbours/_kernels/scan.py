"""Counting without an index: a look at every record, in a fixed order that is scattered."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whitecrow.neighbours._kernels.inner import kernel
from whitecrow.neighbours._kernels.metric import measure
from whitecrow.neighbours._kernels.tables import Relation

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RUN = 256
"""Records read in a row before jumping elsewhere."""


@kernel
def count_scanned(data: Floats, relation: Relation, records: Floats, cap: int, jump: int) -> Ints:
    """Return min(number of close data records, cap) for each record.

    Runs of records are visited ``jump`` runs apart, a number without common divisor with the
    number of runs. Sorted data then look shuffled, and a record with many neighbours soon finds
    ``cap`` of them wherever they are; the order depends on the number of records alone.
    """
    kind, threshold, scales, _ = relation
    runs = (len(data) + RUN - 1) // RUN
    counts = np.zeros(len(records), np.int64)
    for i in range(len(records)):
        run, count = 0, 0
        for _ in range(runs):
            for j in range(run * RUN, min(len(data), (run + 1) * RUN)):
                count += measure(kind, records[i], data[j], scales) <= threshold
            if count >= cap:
                break
            run += jump
            if run >= runs:
                run -= runs
        counts[i] = min(count, cap)
    return counts
