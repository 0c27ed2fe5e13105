"""Would this new record be an anomaly beside the data? Yes or no, under differential privacy."""

from whitecrow.identify.screen.facts import ScreenFacts, gather
from whitecrow.identify.screen.mechanism import release
from whitecrow.identify.screen.question import Screen

__all__ = ["Screen", "ScreenFacts", "gather", "release"]
