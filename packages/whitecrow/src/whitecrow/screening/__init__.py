"""Would these new records be anomalies among the data? Any number of them, at one price."""

from whitecrow.data import Card
from whitecrow.limits import Limits, sorting, worst_case
from whitecrow.question import QuestionType, Transcript
from whitecrow.screening.facts import ScreeningFacts, gather, written_places
from whitecrow.screening.law import Law
from whitecrow.screening.mechanism import release, resume, shaped
from whitecrow.screening.question import MOST_AT_ONCE, Screening

__all__ = [
    "MOST_AT_ONCE",
    "MOST_REPLAYED",
    "TYPE",
    "Law",
    "Screening",
    "ScreeningFacts",
    "gather",
    "release",
    "resume",
    "shaped",
    "written_places",
]

MOST_REPLAYED = 64
"""How many flags are taken in at once where the counters are computed anew."""


def cost(question: Screening, card: Card, records: int) -> Limits:
    """The worst case: every place is a flag, and each looks at all records."""
    width = len(question.names(card))
    flags = MOST_REPLAYED + max(1, len(question.asked))
    balls = len(question.balls(card))
    steps = balls * (sorting(records, width) + 4.0 * flags * records * width)
    return worst_case(steps, values=records * width, kept=records)


TYPE = QuestionType(Screening, gather, release, cost, Transcript(resume))
