"""Would this new record be an anomaly beside the data? Yes or no, under differential privacy."""

from whitecrow.identify.screen.facts import ScreenFacts, gather
from whitecrow.identify.screen.mechanism import release
from whitecrow.identify.screen.question import Screen
from whitecrow.question import QuestionType

__all__ = ["TYPE", "Screen", "ScreenFacts", "gather", "release"]

TYPE = QuestionType(Screen, gather, release)
