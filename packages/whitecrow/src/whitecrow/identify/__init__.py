"""Is this record an anomaly? Yes or no, under sensitive or differential privacy.

A record that need not be in the data is asked about by :mod:`~whitecrow.screen`.
"""

from whitecrow.identify.facts import IdentifyFacts, gather
from whitecrow.identify.mechanism import release
from whitecrow.identify.question import Identify
from whitecrow.place.question import cost
from whitecrow.question import QuestionType

__all__ = ["TYPE", "Identify", "IdentifyFacts", "gather", "release"]

TYPE = QuestionType(Identify, gather, release, cost)
