"""Is this record an anomaly? Yes or no, under sensitive or differential privacy.

This folder holds ``identify`` itself; :mod:`~whitecrow.identify.screen` (a record that need not be
in the data) and :mod:`~whitecrow.identify.lookahead` (a sanitised histogram) have the same shape.
"""

from whitecrow.identify.facts import IdentifyFacts, gather
from whitecrow.identify.mechanism import release
from whitecrow.identify.question import Identify
from whitecrow.question import QuestionType

__all__ = ["TYPE", "Identify", "IdentifyFacts", "gather", "release"]

TYPE = QuestionType(Identify, gather, release)
