"""Stage 3: a threshold for a wanted rate of false alarms, by the exponential mechanism."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from whitecrow.detector import scoring
from whitecrow.detector.model import Model
from whitecrow.histogram.money import Money
from whitecrow.noise import Source, exponential_mechanism
from whitecrow.privacy import Unit

__all__ = ["allotted", "choose", "score_edges", "utilities"]

_WITHIN, _BEYOND = 512, 64
_ENOUGH = Fraction(40, 3)

Counts = npt.NDArray[np.int64]


def score_edges(model: Model, references: npt.NDArray[np.float64]) -> Counts:
    """Return the candidate thresholds in units of worth, from the scores of made-up records.

    The upper half of the made-up scores by ranks in a geometric row, so that neighbours differ by
    some two percent of their alarms; then some beyond the last, to four times as far, since the
    data's own tail may be longer. Few lie where nothing is: each draws a share of the choice.
    """
    scores = np.sort(scoring.raw_scores(model, scoring.encoders(model), references))[::-1]
    ranks = np.unique(np.rint(np.geomspace(1, len(scores) / 2, _WITHIN)).astype(np.int64))
    last = int(scores[0])
    reach = max(last - int(np.median(scores)), _BEYOND)
    beyond = last + np.rint(np.geomspace(reach / 32, 3 * reach, _BEYOND)).astype(np.int64)
    edges: Counts = np.unique(np.concatenate([scores[ranks - 1], beyond]))
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
    A choice misses its alarms by about ``2 / epsilon``, which may be 15 % of them; where it is
    more, the least rate is given up and leaves its part to the others. Only the released number of
    records is looked at.
    """
    kept = sorted(set(rates))
    while kept:
        whole = sum(1 / rate for rate in kept)
        found = {rate: money.selection(share / (rate * whole)) for rate in kept}
        wanted = _ENOUGH * money.contribution
        short = [rate for rate in kept if float(rate * found[rate]) * records < wanted]
        if not short:
            return found
        kept.remove(short[0])
    return {}


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
