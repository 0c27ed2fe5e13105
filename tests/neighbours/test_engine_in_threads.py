"""One engine serves many threads: a question counts in its own columns, whatever runs beside it."""

from __future__ import annotations

import numpy as np

from whitecrow.neighbours import NeighbourRelation
from whitecrow.neighbours._local import LocalEngine


class _Records:
    """Ten records near 0 in the column ``near``, none of them near 0 in ``far``."""

    def matrix(self, columns):
        values = {"near": np.zeros(10), "far": np.arange(100.0, 110.0)}
        return np.column_stack([values[name] for name in columns])

    def rows(self, columns, places):
        return self.matrix(columns)[places]


class _Interrupted(LocalEngine):
    """Another thread asks about other columns at the worst moment: just after the values are kept.

    The moment is played out in one thread, so that the test does not depend on luck.
    """

    others: NeighbourRelation | None = None

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "_latest" and value is not None and self.others is not None:
            others, self.others = self.others, None
            self.neighbours([[0.0] * len(others.columns)], others)


def test_a_question_in_another_thread_does_not_change_the_columns_of_this_one():
    engine = _Interrupted(_Records())
    engine.others = NeighbourRelation(("far",), "euclidean", 1.0)
    assert engine.neighbours([[0.0]], NeighbourRelation(("near",), "euclidean", 1.0)).tolist() == [
        10
    ]
    engine.others = NeighbourRelation(("near", "far"), "euclidean", 1.0)
    assert engine.degrees(NeighbourRelation(("near",), "euclidean", 0.5)).tolist() == [10] * 10
