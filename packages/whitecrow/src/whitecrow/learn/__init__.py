"""Learn once, score for ever: a released detector under differential privacy."""

from whitecrow.learn.cost import cost
from whitecrow.learn.facts import LearnFacts, gather
from whitecrow.learn.mechanism import release
from whitecrow.learn.question import Learn
from whitecrow.question import QuestionType

__all__ = ["TYPE", "Learn", "LearnFacts", "gather", "release"]

TYPE = QuestionType(Learn, gather, release, cost)
