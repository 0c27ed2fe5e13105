"""How many records has each combination of values? A sanitised histogram for the radius-0 model."""

from whitecrow.identify.lookahead.facts import LookaheadFacts, gather
from whitecrow.identify.lookahead.mechanism import anomalies, release
from whitecrow.identify.lookahead.question import Lookahead

__all__ = ["Lookahead", "LookaheadFacts", "anomalies", "gather", "release"]
