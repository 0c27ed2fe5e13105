"""Stage 3: a threshold for a wanted rate of false alarms, by the exponential mechanism."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from whitecrow.detector import scoring
from whitecrow.detector.model import Model
from whitecrow.histogram.money import Money
from whitecrow.noise import Source, exponential_mechanism
from whitecrow.privacy import Unit

__all__ = ["allotted", "candidates", "choose", "score_edges", "utilities"]

_WITHIN, _BEYOND = 512, 64
_MISSED = 0.15
_SURE = 2 * math.log(7)

Counts = npt.NDArray[np.int64]


def score_edges(model: Model, references: npt.NDArray[np.float64]) -> Counts:
    """Return the candidate thresholds in units of worth, from the scores of made-up records."""
    return candidates(scoring.raw_scores(model, scoring.encoders(model), references))


def candidates(scores: Counts) -> Counts:
    """Return candidates for a threshold, in increasing order, from made-up scores.

    The upper half of the made-up scores by ranks in a geometric row, so that neighbours differ by
    some two percent of their alarms, also between the few highest; then some beyond the last, to
    four times as far, since the data's own tail may be longer. Few lie where nothing is: each draws
    a share of the choice.
    """
    ordered = np.sort(scores)[::-1]
    ranks = np.geomspace(1, len(ordered) / 2, _WITHIN)
    within = np.interp(ranks, np.arange(1, len(ordered) + 1), ordered)
    last = int(ordered[0])
    reach = max(last - int(np.median(ordered)), _BEYOND)
    beyond = last + np.geomspace(reach / 32, 3 * reach, _BEYOND)
    edges: Counts = np.unique(np.rint(np.concatenate([within, beyond])).astype(np.int64))
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


def allotted(
    rates: tuple[Fraction, ...], records: float, money: Money, share: Fraction
) -> dict[Fraction, Fraction]:
    """Return the epsilon of each rate that so many records carry; the others are refused.

    Rates share by their inverses: the rarer the alarms, the more precisely they must be counted.
    A choice misses its alarms by more than ``m`` with a chance of about ``exp(-m epsilon / 2)``.
    For 15 % of the alarms, or for their root if that is more (chance alone moves the alarms among
    other records by as much), it may be one in seven. Where it is more, the least rate is given up
    and leaves its part to the others. Only the released number of records is looked at.
    """
    kept = sorted(set(rates))
    while kept:
        whole = sum(1 / rate for rate in kept)
        found = {rate: money.selection(share / (rate * whole)) for rate in kept}
        short = [
            rate
            for rate in kept
            if float(found[rate]) * _tolerance(float(rate) * records) < _SURE * money.contribution
        ]
        if not short:
            return found
        kept.remove(short[0])
    return {}


def _tolerance(alarms: float) -> float:
    return max(_MISSED * alarms, math.sqrt(max(alarms, 0.0)))


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
