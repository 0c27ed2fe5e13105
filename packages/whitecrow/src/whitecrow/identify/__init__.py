"""Is this record an anomaly? Yes or no, under sensitive or differential privacy.

A record that need not be in the data is asked about by :mod:`~whitecrow.screen`.
"""

from whitecrow.identify.question import Identify
from whitecrow.place.mechanism import PlaceFacts, gather, release
from whitecrow.place.question import cost
from whitecrow.question import QuestionType

__all__ = ["TYPE", "Identify", "PlaceFacts", "gather", "release"]

TYPE = QuestionType(Identify, gather, release, cost)
