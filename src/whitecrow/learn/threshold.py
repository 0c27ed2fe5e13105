"""Stage 3: a threshold for a wanted rate of false alarms, by the exponential mechanism."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from whitecrow.detector import scoring
from whitecrow.detector.model import Model
from whitecrow.noise import Source, exponential_mechanism
from whitecrow.privacy import Unit

__all__ = ["CANDIDATES", "choose", "enough", "score_edges", "utilities"]

CANDIDATES = 2048

Counts = npt.NDArray[np.int64]


def score_edges(model: Model, references: npt.NDArray[np.float64]) -> Counts:
    """Return the candidate thresholds in units of worth, from the scores of made-up records.

    They lie above the made-up median in a geometric row, to four times as far as the last made-up
    record: tails of scores are long, and in an even row most candidates would lie beyond all data.
    """
    scores = scoring.raw_scores(model, scoring.encoders(model), references)
    middle = int(np.median(scores))
    reach = max(int(scores.max()) - middle, CANDIDATES)
    steps = np.rint(np.geomspace(reach / 200, 4 * reach, CANDIDATES - 1)).astype(np.int64)
    edges: Counts = np.unique(np.append(middle + steps, middle))
    return edges


def utilities(counts: Counts, rate: Fraction) -> list[int]:
    """Return how close each candidate comes to the rate: ``-|b alarms - a n|`` for ``a/b``.

    Parameters
    ----------
    counts : int64 array
        Records by intervals of the score, one more than candidates.
    rate : Fraction

    Examples
    --------
    >>> utilities(np.array([90, 9, 1]), Fraction(1, 100))
    [-900, 0]
    """
    above = np.cumsum(counts[::-1])[::-1][1:]
    total = int(counts.sum())
    a, b = rate.numerator, rate.denominator
    return [-abs(b * int(alarms) - a * total) for alarms in above]


def sensitivity(rate: Fraction, relation: Unit, contribution: int) -> int:
    """Return the most that one unit of privacy moves a utility by."""
    a, b = rate.numerator, rate.denominator
    return contribution * (b if relation == "replace_one" else max(a, b - a))


def enough(records: float, rate: Fraction, epsilon: Fraction, contribution: int) -> bool:
    """Whether so many records carry a threshold: the alarms must rise above the noise."""
    return float(rate) * records * float(epsilon) >= 2 * math.log(CANDIDATES) * contribution


def choose(
    counts: Counts,
    rate: Fraction,
    epsilon: Fraction,
    relation: Unit,
    contribution: int,
    source: Source | None,
) -> int:
    """Return the place of a candidate, epsilon-DP."""
    eta = epsilon / (2 * sensitivity(rate, relation, contribution))
    return exponential_mechanism(utilities(counts, rate), eta, source)
