"""Would these new records be anomalies among the data? Any number of them, at one price."""

from whitecrow.question import QuestionType, Transcript
from whitecrow.screening.mechanism import gather, release, resume
from whitecrow.screening.question import MOST_AT_ONCE, Screening, cost

__all__ = ["MOST_AT_ONCE", "TYPE", "Screening"]

TYPE = QuestionType(Screening, gather, release, cost, Transcript(resume))
