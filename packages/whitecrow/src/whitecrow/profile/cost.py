"""What a profile may take."""

from __future__ import annotations

from whitecrow.data import Card
from whitecrow.limits import Limits, sorting, worst_case
from whitecrow.profile.question import Profile

_LOOKS = 10
"""How often all records are sorted into the cells of columns, at the most."""
_CELLS = 1 << 22
"""Four times what a count may have over all columns."""
_CELLS_OF_A_COLUMN = 1024
"""Of the looks before it."""


def cost(question: Profile, card: Card, records: int) -> Limits:
    """Records are sorted into cells again and again; every cell gets its noise."""
    parts = question.parts(card)
    width = len(parts)
    cells = _CELLS + _CELLS_OF_A_COLUMN * width
    cells += records * sum(part.discovers for part in parts)  # each may have a text of its own
    return worst_case(
        _LOOKS * sorting(records, width), draws=cells, values=records * width, kept=records + cells
    )
