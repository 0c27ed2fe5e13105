"""What a histogram may take."""

from __future__ import annotations

from whitecrow.data import Card
from whitecrow.limits import Limits, sorting, worst_case
from whitecrow.lookahead.question import Lookahead


def cost(question: Lookahead, card: Card, records: int) -> Limits:
    """Records are sorted into cells; every cell that may be released is drawn."""
    cells = min(question.cells(card), records) if question.threshold else question.cells(card)
    width = len(question.columns)
    return worst_case(
        sorting(records, width), draws=cells, values=records * width, kept=records + cells
    )
