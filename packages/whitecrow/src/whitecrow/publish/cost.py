"""What a publication may take."""

from __future__ import annotations

import math

from whitecrow.data import Card
from whitecrow.limits import Limits, sorting, worst_case
from whitecrow.publish.question import Publish


def cost(question: Publish, card: Card, records: int) -> Limits:
    """Records are sorted into periods; every period draws noise for its part of the tree."""
    periods = float(question.through)
    return worst_case(
        sorting(records),
        draws=2 * periods * (1 + math.log2(periods)),
        values=3 * records,
        kept=records + 16 * periods,
    )
