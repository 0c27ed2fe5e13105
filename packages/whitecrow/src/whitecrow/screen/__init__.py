"""Would this new record be an anomaly beside the data? Yes or no, under differential privacy."""

from whitecrow.place.question import cost
from whitecrow.question import QuestionType
from whitecrow.screen.facts import ScreenFacts, gather
from whitecrow.screen.mechanism import release
from whitecrow.screen.question import Screen

__all__ = ["TYPE", "Screen", "ScreenFacts", "gather", "release"]

TYPE = QuestionType(Screen, gather, release, cost)
