"""How far out the cells of tables lie."""

from __future__ import annotations

import numpy as np

from whitecrow.detector.model import SHIFT, SPAN, UNIT, Tables


def tables() -> Tables:
    """One table of a number and a category, one of ranks, one of a number that may be missing."""
    return Tables(
        start=np.array([0, 2, 3, 4], np.int32),
        axis=np.array([0, 1, 3, 2], np.int32),
        offset=np.zeros(4, np.int32),
        pace=np.full(4, (1 << SHIFT) // UNIT, np.int32),
    )


LEAST = np.array([0, SPAN, UNIT, SPAN, SPAN, SPAN], np.int32)


def test_cells_are_as_far_as_their_farthest_axis_with_distances() -> None:
    found = tables()
    first, ranks, missing = np.split(found.reaches(LEAST), found.base[1:-1])
    along = [2.5, 1.5, 0.5, 0.5, 1.5, 2.5]
    assert np.allclose(first.reshape(-1, 7)[:, :6], along)
    assert not ranks.any()
    assert np.allclose(missing[:6], [0.0, *along[1:]])


def test_a_cell_across_the_middle_is_as_far_as_its_values_are_on_average() -> None:
    wide = Tables(*(np.array(part, np.int32) for part in ([0, 1], [0], [0], [1])))
    (reach,) = wide.reaches(LEAST)
    assert reach == 1.5
