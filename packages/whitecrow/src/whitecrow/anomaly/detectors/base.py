"""What a detector is: a fixed function of one population and one of its members."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.int64]
"""A population's metric in whole steps of a public resolution, ascending; the record included."""


@runtime_checkable
class Detector(Protocol):
    """Says of one record of a population whether its metric is an outlier there.

    The verdict is a function of the *multiset* of values and of the record's own value, computed
    in exact arithmetic: no order of records, no other route of evaluation and no rounding can
    change it. Privacy proofs rest on this (docs/mechanisms.md 4.2).
    """

    kind: ClassVar[str]

    def outlier(self, values: Values, own: int) -> bool:
        """Return the verdict on a member with value ``own`` among ascending ``values``."""

    def words(self) -> str:
        """Say when a record is an outlier."""

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object with the detector's ``kind``."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Detector:
        """Build the detector that :meth:`to_json` wrote."""


def moments(values: Values, own: int) -> tuple[int, int]:
    """Return the sum of the values relative to the record's own, and that of their squares.

    Exact: in 64 bits where they hold the sum of squares, else in unbounded integers.

    Examples
    --------
    >>> moments(np.array([1, 2, 4]), 2)
    (1, 5)
    >>> moments(np.array([0, 2**62]), 0) == (2**62, 2**124)
    True
    """
    if not len(values):
        return 0, 0
    given = np.asarray(values)
    farthest = max(abs(int(given.min()) - own), abs(int(given.max()) - own))
    if farthest * farthest * len(given) < 1 << 62:
        offsets = np.array(given - own, dtype=np.int64)
        return int(offsets.sum()), int(offsets @ offsets)
    whole = [int(value) - own for value in values]
    return sum(whole), sum(y * y for y in whole)
