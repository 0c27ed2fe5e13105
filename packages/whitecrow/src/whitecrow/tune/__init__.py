"""Which radius makes about a given share of the records outliers? Under differential privacy."""

from whitecrow.question import QuestionType
from whitecrow.tune.mechanism import TuneFacts, gather, release
from whitecrow.tune.question import Tune, cost

__all__ = ["TYPE", "Tune", "TuneFacts", "gather", "release"]

TYPE = QuestionType(Tune, gather, release, cost)
