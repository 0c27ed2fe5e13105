"""How many records has each combination of values? A sanitised histogram for the radius-0 model."""

from whitecrow.lookahead.mechanism import LookaheadFacts, anomalies, gather, release
from whitecrow.lookahead.question import Lookahead, cost
from whitecrow.question import QuestionType

__all__ = ["TYPE", "Lookahead", "LookaheadFacts", "anomalies", "gather", "release"]

TYPE = QuestionType(Lookahead, gather, release, cost)
