"""What counting outliers may take."""

from __future__ import annotations

from whitecrow.counting.calibration import Calibration
from whitecrow.counting.smooth import horizon
from whitecrow.limits import Limits, in_turn, sorting, worst_case


def pairs_cost(width: int, records: int) -> Limits:
    """Every record is compared with every other in ``width`` columns."""
    return worst_case(float(records) ** 2 * width, values=records * width, kept=records)


def noisy_count_cost(width: int, records: int, noise: Calibration, beta: int) -> Limits:
    """All pairs, and for a smooth sensitivity the balls of each number of changes."""
    found = pairs_cost(width, records)
    if noise.decay is None:
        return found
    last = horizon(noise.cap, noise.decay, noise.relation, records)
    terms = (last + 1) * (min(beta, last) + 1)
    steps = sorting(records, width) * (last + 1) + 1000.0 * terms
    balls = worst_case(steps, draws=last, values=records * width, kept=records)
    return in_turn([found, balls])
