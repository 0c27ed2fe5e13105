"""Learn once, score for ever: a released detector under differential privacy."""

from whitecrow.learning.facts import LearnFacts, gather
from whitecrow.learning.mechanism import release
from whitecrow.learning.question import Learn, cost
from whitecrow.question import QuestionType

__all__ = ["TYPE", "Learn", "LearnFacts", "gather", "release"]

TYPE = QuestionType(Learn, gather, release, cost)
