"""A threshold of scores, bought for a rate of false alarms."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Threshold:
    """A score above which a wanted part of the data lay."""

    rate: Fraction  # the wanted rate of false alarms
    score: float | None  # the threshold; None where the data are too few for the rate
    rough: float | None = None  # bought from too few: it may flag twice the rate, or nothing

    def to_json(self) -> dict[str, object]:
        """Return plain JSON."""
        known = {} if self.rough is None else {"rough": self.rough}
        return {"rate": str(self.rate), "score": self.score, **known}
