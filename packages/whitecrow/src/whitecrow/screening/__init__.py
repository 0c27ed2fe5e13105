"""Would these new records be anomalies among the data? Any number of them, at one price."""

from whitecrow.question import QuestionType, Transcript
from whitecrow.screening.law import Law
from whitecrow.screening.mechanism import (
    ScreeningFacts,
    gather,
    release,
    resume,
    shaped,
    written_places,
)
from whitecrow.screening.question import MOST_AT_ONCE, MOST_REPLAYED, Screening, cost

__all__ = [
    "MOST_AT_ONCE",
    "MOST_REPLAYED",
    "TYPE",
    "Law",
    "Screening",
    "ScreeningFacts",
    "shaped",
    "written_places",
]

TYPE = QuestionType(Screening, gather, release, cost, Transcript(resume))
