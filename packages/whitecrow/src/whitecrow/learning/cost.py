"""What learning a detector may take."""

from __future__ import annotations

from whitecrow.data import Card
from whitecrow.learning.question import MOST_TABLES, Learn
from whitecrow.limits import Limits, sorting, worst_case

_LOOKS = 8
"""How often all records are sorted into the cells of columns, at the most."""
CELLS_OF_TABLES = 1 << 18
"""Measured are 150 thousand."""
_CELLS_OF_A_COLUMN = 3072
"""Over all looks; measured are 2,700."""


def cost(question: Learn, card: Card, records: int) -> Limits:
    """Records are sorted into cells of columns, then of tables; every cell gets its noise."""
    width = len(question.names(card))
    steps = _LOOKS * sorting(records, width) + 64.0 * records * MOST_TABLES
    cells = CELLS_OF_TABLES + _CELLS_OF_A_COLUMN * width
    return worst_case(steps, draws=cells, values=records * width, kept=records + cells)
