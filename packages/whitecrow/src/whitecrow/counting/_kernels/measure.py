"""One column's part of a measure, as :mod:`whitecrow.neighbours.relation` defines it."""

from __future__ import annotations

from whitecrow._compiled import compiled_into
from whitecrow.neighbours.relation import SQUARES, SUM


@compiled_into()
def add(kind: int, measure: float, difference: float) -> float:
    """Take one more column's absolute difference into a measure."""
    if kind == SQUARES:
        return measure + difference * difference
    if kind == SUM:
        return measure + difference
    return max(measure, difference)
