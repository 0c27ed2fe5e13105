"""A threshold of scores, bought for a rate of false alarms."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Threshold:
    """A score above which a wanted part of the data lay.

    Parameters
    ----------
    rate : Fraction
        The wanted rate of false alarms.
    score : float or None
        The threshold; None where the data are too few for the rate.
    """

    rate: Fraction
    score: float | None
