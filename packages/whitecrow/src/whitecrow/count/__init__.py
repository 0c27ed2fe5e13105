"""How many outliers are there in a subspace? A number, under differential privacy."""

from whitecrow.count.mechanism import gather, release
from whitecrow.count.question import Count, cost
from whitecrow.question import QuestionType

__all__ = ["TYPE", "Count", "gather", "release"]

TYPE = QuestionType(Count, gather, release, cost)
