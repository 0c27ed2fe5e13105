"""Stage 3: a threshold for a wanted rate of false alarms, by the exponential mechanism."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from whitecrow.histogram.facts import Counts
from whitecrow.histogram.noise_budget import NoiseBudget
from whitecrow.noise import Source, exponential_mechanism
from whitecrow.privacy import Unit

_WITHIN, _BEYOND, _BELOW, _EVENLY = 512, 192, 64, 2048
_MISSED = 0.15
_FEW = 40
_FEW_BEYOND = 5


def candidates(scores: Counts, least: int) -> Counts:
    """Return candidates for a threshold, in increasing order, from synthetic scores.

    Those of :func:`_by_rank`, and others evenly from the ``least`` score there can be: records
    whose columns hang together are less strange than synthetic ones, and all of them may lie below
    these. Candidates where nothing is draw next to nothing of the choice: a rate is refused where
    they would draw more.
    """
    evenly = np.linspace(min(least, int(scores.min())) - 1, int(scores.max()), _EVENLY)
    return np.unique(np.concatenate([_by_rank(scores), np.rint(evenly).astype(np.int64)]))


def _by_rank(scores: Counts) -> Counts:
    """Return synthetic scores, with some above and below them.

    Their ranks are in a geometric row, so that neighbours differ by some two percent of their
    alarms, also between the few highest; then some beyond the last, near it at first, to four times
    as far, since the data's own tail may be longer, and some below the first.
    """
    ordered = np.sort(scores)[::-1]
    ranks = np.geomspace(1, len(ordered), _WITHIN)
    within = np.interp(ranks, np.arange(1, len(ordered) + 1), ordered)
    first, last = int(ordered[-1]), int(ordered[0])
    reach = max(last - int(np.median(ordered)), _BEYOND)
    beyond = last + np.geomspace(reach / 2048, 3 * reach, _BEYOND)
    below = first - np.geomspace(reach / 64, reach, _BELOW)
    return np.unique(np.rint(np.concatenate([below, within, beyond])).astype(np.int64))


def few(scores: Counts) -> Counts:
    """Return a few candidates, for a histogram whose noise adds up from cell to cell."""
    edges = _by_rank(scores)
    last = len(edges) - 1
    inner = min(_WITHIN, last)
    within = np.linspace(0, inner, _FEW - _FEW_BEYOND)
    beyond = np.linspace(inner, last, _FEW_BEYOND)
    return edges[np.unique(np.concatenate([within, beyond]).round().astype(np.int64))]


def read_off(
    noisy: Counts, edges: Counts, rates: tuple[Fraction, ...], records: float, deviation: float
) -> dict[Fraction, float]:
    """Return the threshold of each rate that noisy counts carry; the others are refused.

    Nothing but noisy counts is looked at: of records by intervals of the score, one more than
    edges. Between two edges the number of alarms is taken to fall geometrically, as the candidates'
    does.
    """
    above = np.maximum.accumulate(np.cumsum(noisy[:0:-1]))[::-1].astype(np.float64)
    thresholds = {}
    for rate in rates:
        wanted = float(rate) * records
        enough = np.flatnonzero(above >= wanted)
        # Beyond the last candidate may lie more than wanted.
        if not len(enough) or enough[-1] == len(edges) - 1:
            continue
        last = int(enough[-1])
        tolerance = max(_MISSED * wanted, math.sqrt(max(wanted, 0.0)))
        if deviation * math.sqrt(len(edges) - last) > tolerance:
            continue
        high, low = np.log(np.maximum(above[last : last + 2], 0.5))
        part = 0.0 if high <= low else (high - math.log(wanted)) / (high - low)
        lower, upper = float(edges[last]), float(edges[last + 1])
        thresholds[rate] = lower + min(max(float(part), 0.0), 1.0) * (upper - lower)
    return thresholds


def utilities(counts: Counts, rate: Fraction) -> list[int]:
    """Return how close each candidate comes to the rate: ``-|b alarms - a n|`` for ``a/b``."""
    # Records are counted by intervals of the score, one more than candidates.
    above = np.cumsum(counts[::-1])[::-1][1:]
    total = int(counts.sum())
    a, b = rate.numerator, rate.denominator
    return [-abs(b * int(alarms) - a * total) for alarms in above]


def sensitivity(rate: Fraction, relation: Unit, contribution: int) -> int:
    """Return the most that one unit of privacy moves a utility by."""
    a, b = rate.numerator, rate.denominator
    return contribution * (b if relation == "replace_one" else max(a, b - a))


def allotted(
    rates: tuple[Fraction, ...], records: float, budget: NoiseBudget, share: Fraction
) -> dict[Fraction, Fraction]:
    """Return the epsilon of each rate that so many records carry; the others are refused.

    Rates share by their inverses: the rarer the alarms, the more precisely they must be counted.
    A choice misses its alarms by more than ``m`` with a chance of about ``exp(-m epsilon / 2)``.
    For 15 % of the alarms it may be one in twenty. Where alarms are few, it may be one in seven for
    their root: chance alone moves the alarms among other records by as much. Where it is more, the
    least rate is given up and leaves its part to the others. Only the released number of records is
    looked at.
    """
    remaining = sorted(set(rates))
    while remaining:
        whole = sum(1 / rate for rate in remaining)
        allotments = {rate: budget.selection(share / (rate * whole)) for rate in remaining}
        short = [
            rate
            for rate, epsilon in allotments.items()
            if not _carried(float(epsilon) / budget.contribution, float(rate) * records)
        ]
        if not short:
            return allotments
        remaining.remove(short[0])
    return {}


def rough(
    rates: tuple[Fraction, ...], records: float, budget: NoiseBudget, share: Fraction
) -> dict[Fraction, Fraction]:
    """Return the epsilon of the largest rate, for where no rate is carried well.

    It is rough: of so few alarms a choice may well miss all. With fewer still there is none.
    Only the released number of records is looked at.
    """
    largest = max(rates)
    epsilon = budget.selection(share)
    alarms = float(largest) * records
    enough = alarms * float(epsilon) / budget.contribution >= 2.0 * math.log(7)
    return {largest: epsilon} if enough else {}


def enough_records(rate: Fraction, budget: NoiseBudget, share: Fraction) -> int:
    """Return from about how many records on a rate alone gets its threshold."""
    epsilon = float(budget.selection(share)) / budget.contribution
    alarms = min(2.0 * math.log(20) / (_MISSED * epsilon), (2.0 * math.log(7) / epsilon) ** 2)
    return math.ceil(alarms / float(rate))


def _carried(epsilon: float, alarms: float) -> bool:
    missed = max(alarms, 0.0) * _MISSED / math.log(20)
    return epsilon * max(missed, math.sqrt(max(alarms, 0.0)) / math.log(7)) >= 2.0


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
