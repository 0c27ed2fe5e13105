"""When the reply to a question leaves, from public facts: its parameters, the card, the bounds.

A deadline must cover the computation for any records within the public bounds, on this machine, or
its multiples tell something of them. The limits of a question count its steps for the worst
records; what it takes on a machine like those that were measured follows from them, with a margin.
``python -m benchmarks.deadlines`` compares the model with the clock.
"""

from __future__ import annotations

import math

from whitecrow.data import Card
from whitecrow.question import Question
from whitecrow.questions import type_of

VALUES_A_DEADLINE = 10_000_000
"""Records times columns, by the card: so many values more, and reading them takes longer."""

_MARGIN = 2.5
"""How many times as long as the slowest measured machine would take for the worst records."""


def multiple(card: Card | None, records_at_most: int) -> int:
    """How many times its least reply time a question over a large dataset gets."""
    if card is None:  # not loaded yet: nothing can be asked
        return 1
    records = records_at_most if card.most_records is None else card.most_records
    return max(1, -(-records * len(card.columns) // VALUES_A_DEADLINE))


def reply_time(question: Question, card: Card, records_at_most: int) -> float:
    """The published reply time of one question, in seconds."""
    limits = type_of(question).limits(question, card, records_at_most)
    least = question.reply_seconds * multiple(card, records_at_most)
    return rounded(least if math.isinf(limits.seconds) else least + _MARGIN * limits.likely_seconds)


def rounded(seconds: float) -> float:
    """Round up to 1, 2.5 or 5 times a power of ten: few moments, easily told apart.

    Examples
    --------
    >>> [rounded(one) for one in (0.25, 0.26, 3.0, 40.0)]
    [0.25, 0.5, 5.0, 50.0]
    """
    power = 10.0 ** math.floor(math.log10(seconds))
    return next(step for step in (power, 2.5 * power, 5 * power, 10 * power) if seconds <= step)
