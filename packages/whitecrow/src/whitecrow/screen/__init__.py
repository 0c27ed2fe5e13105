"""Would this new record be an anomaly among the data? Yes or no, under differential privacy."""

from whitecrow.place.mechanism import PlaceFacts, gather, release
from whitecrow.place.question import cost
from whitecrow.question import QuestionType
from whitecrow.screen.question import Screen

__all__ = ["TYPE", "PlaceFacts", "Screen", "gather", "release"]

TYPE = QuestionType(Screen, gather, release, cost)
