"""The tester: choose an event on some draws, test it on others, and know what it would catch.

Nothing here knows a mechanism. The first part of the draws chooses the event (the answers whose
frequencies differ most, cut where the bound is best); only the second part tests it, so the bound
is valid whatever was chosen. A bound above the reference is tested once more on fresh draws: the
table's confidence is 99.9 %, and a false alarm needs a second accident of one in a thousand.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from whitecrow_audit.audit.bounds import Claim, Floats, at_least, at_most

Law = Mapping[Any, float]
Counts = Mapping[Hashable, int]

CONFIRM = 1e-3
"""The false-alarm rate of the second test, on fresh draws."""

SPLITS = (0.5, 0.75, 0.9, 0.97)
"""Parts of alpha that may go to the smaller probability, which is the harder one to pin down."""

MOST = 20_000_000
"""More draws than anybody makes."""

_ROUNDING = 1e-9


class Tries(NamedTuple):
    """How many draws test an event."""

    high: int
    """Of the database on which it should be more frequent."""
    low: int
    """Of the other."""

    def times(self, factor: float) -> Tries:
        """Return a multiple, rounded down."""
        return Tries(int(self.high * factor), int(self.low * factor))


@dataclass(frozen=True)
class Event:
    """A set of answers, the database on which it should be more frequent, and a split of alpha."""

    answers: frozenset[Hashable]
    forward: bool
    split: float

    def seen(self, counts: Counts) -> int:
        """Return how often it came up."""
        return sum(counts.get(answer, 0) for answer in self.answers)

    def chances(self, laws: tuple[Law, Law]) -> tuple[float, float]:
        """Return its probabilities: the one that should be larger, then the other."""
        first, second = (math.fsum(law.get(a, 0.0) for a in self.answers) for law in laws)
        p, q = (first, second) if self.forward else (second, first)
        return min(1.0, p), min(1.0, q)


def choose(draws: tuple[Counts, Counts], claim: Claim, alpha: float) -> Event:
    """Return the event with the largest bound; what it is worth, other draws must say.

    Candidates are the sets of answers whose ratio of frequencies is above a threshold, in both
    directions: for exact frequencies these are the best sets there are (Neyman and Pearson).
    """
    answers, first, second = _columns(draws)
    best, chosen = -1.0, Event(frozenset(answers[:1]), True, SPLITS[0])
    for forward, high, low in ((True, first, second), (False, second, first)):
        order = np.argsort(-(high + 0.5) / (low + 0.5), kind="stable")
        p, q = np.cumsum(high[order]), np.cumsum(low[order])
        for split in SPLITS:
            epsilon = claim.implied(
                at_least(p, high.sum(), alpha * (1 - split)), at_most(q, low.sum(), alpha * split)
            )
            at = int(np.argmax(epsilon))
            if epsilon[at] > best:
                best = float(epsilon[at])
                members = frozenset(answers[i] for i in order[: at + 1])
                chosen = Event(members, forward, split)
    return chosen


def bound(event: Event, draws: tuple[Counts, Counts], claim: Claim, alpha: float) -> float:
    """Return the loss that draws prove at confidence ``1 - alpha``, for an event fixed before."""
    high, low = draws if event.forward else draws[::-1]
    p = at_least(event.seen(high), sum(high.values()), alpha * (1 - event.split))
    q = at_most(event.seen(low), sum(low.values()), alpha * event.split)
    return float(claim.implied(p, q))


def visible(laws: tuple[Law, Law], claim: Claim) -> float:
    """Return the largest loss that any event shows, from the exact laws."""
    worst = 0.0
    for p, q in _thresholds(laws):
        worst = max(worst, float(claim.implied(p, q).max()))
    return worst


def needed(laws: tuple[Law, Law], claim: Claim, reference: float, alpha: float) -> Tries:
    """Return how many draws show, more than 8 times of 10, that ``reference`` is exceeded.

    For designing a test (:func:`power` says what the design is worth): the least numbers for which
    the bound is above the reference with both counts 0.8 deviations off. The database on which
    the event is frequent may need fewer: its probability is the easier one to pin down.
    """
    best = Tries(MOST, MOST)
    low = np.geomspace(150, MOST, 90)[:, None]
    for p, q in _thresholds(laws):
        y = np.clip(low * q + 0.8 * np.sqrt(low * q * (1 - q)), 0, low)
        for part, split in itertools.product((1.0, 0.4), (0.75, 0.95)):
            high = np.ceil(low * part)
            x = np.clip(high * p - 0.8 * np.sqrt(high * p * (1 - p)), 0, high)
            shown = claim.implied(
                at_least(x, high, alpha * (1 - split)), at_most(y, low, alpha * split)
            )
            enough = np.flatnonzero((shown > reference).any(axis=1))
            if len(enough):
                at = int(enough[0])
                best = min(best, Tries(int(high[at, 0]), int(low[at, 0])), key=sum)
    return best


def contrast(laws: tuple[Law, Law], claim: Claim, reference: float) -> float:
    """Return how clearly an event can show that ``reference`` is exceeded, in deviations a draw.

    A first-order stand-in for :func:`needed` (its inverse square root), for comparing many pairs.
    """
    best = 0.0
    for p, q in _thresholds(laws):
        gap = claim.implied(p, q) - reference
        step = 1e-4
        by_p = (claim.implied(p, q) - claim.implied(p * (1 - step), q)) / step
        by_q = (claim.implied(p, q * (1 - step)) - claim.implied(p, q)) / step
        # Rare events are seen by their number, which is never known better than to a few.
        spread = np.abs(by_p) * np.sqrt((1 - p) / np.maximum(p, 1e-12)) + np.abs(by_q) * np.sqrt(
            (1 - q) / np.maximum(q, 0.01 * p + 1e-12)
        )
        best = max(best, float((gap / np.maximum(spread, 1e-9)).max()))
    return best


def power(
    laws: tuple[Law, Law],
    claim: Claim,
    reference: float,
    *,
    choosing: int,
    tries: Tries,
    alpha: float,
    rounds: int = 6,
) -> float:
    """Return the probability that this tester reports draws from these laws as above ``reference``.

    The choice of the event is simulated ``rounds`` times from the exact laws (with a fixed seed:
    nothing here is private); for each chosen event the probability that its test rejects, and that
    the test on fresh draws does too, is summed exactly over the two binomial laws.
    """
    answers = sorted({*laws[0], *laws[1]}, key=repr)
    generator = np.random.default_rng(2026)
    weights = [np.array([law.get(answer, 0.0) for answer in answers]) for law in laws]
    total = 0.0
    for _ in range(rounds):
        first, second = (generator.multinomial(choosing, law / law.sum()) for law in weights)
        counts = (
            dict(zip(answers, first.tolist(), strict=True)),
            dict(zip(answers, second.tolist(), strict=True)),
        )
        event = choose(counts, claim, alpha)
        chances = event.chances(laws)
        total += caught(chances, claim, reference, tries, alpha, event.split) * caught(
            chances, claim, reference, tries, CONFIRM, event.split
        )
    return total / rounds


@lru_cache(maxsize=4096)
def caught(
    chances: tuple[float, float],
    claim: Claim,
    reference: float,
    tries: Tries,
    alpha: float,
    split: float,
) -> float:
    """Return the probability that an event with these chances shows more than ``reference``.

    For each count on one side, the least count on the other that proves it; both are binomial.
    """
    from scipy.special import bdtr, bdtrc

    p, q = chances
    reference *= 1 + _ROUNDING
    # Counts further from the mean than this have a chance below 1e-9 and are taken to fail.
    width = 6.5 * math.sqrt(tries.low * q * (1 - q)) + 20
    low, high = max(0, int(tries.low * q - width)), min(tries.low, int(tries.low * q + width))
    y = np.unique(np.linspace(low, high, min(high - low + 1, 400)).round().astype(np.int64))
    upper = at_most(y, tries.low, alpha * split)
    least = np.zeros(len(y), dtype=np.int64)  # proves nothing
    enough = np.full(len(y), tries.high + 1, dtype=np.int64)  # proves it, or nothing does
    while int((enough - least).max()) > 1:
        middle = (least + enough) // 2
        shown = claim.implied(at_least(middle, tries.high, alpha * (1 - split)), upper) > reference
        enough = np.where(shown, middle, enough)
        least = np.where(shown, least, middle)
    chance = np.where(enough > tries.high, 0.0, bdtrc(enough - 1.0, tries.high, p))
    # Counts that were skipped need as much as the next one that was looked at: a lower bound.
    below = np.where(y[:1] > 0, bdtr(y[:1] - 1.0, tries.low, q), 0.0)
    chances_of_y = np.diff(np.concatenate((below, bdtr(y.astype(np.float64), tries.low, q))))
    return float((chance * chances_of_y).sum())


def _columns(draws: tuple[Counts, Counts]) -> tuple[Sequence[Hashable], Floats, Floats]:
    answers = sorted({*draws[0], *draws[1]}, key=repr)
    first, second = (np.array([float(side.get(a, 0)) for a in answers]) for side in draws)
    return answers, first, second


def _thresholds(laws: tuple[Law, Law]) -> list[tuple[Floats, Floats]]:
    """Return the chances of every set "ratio above a threshold", in both directions."""
    answers = sorted({*laws[0], *laws[1]}, key=repr)
    first, second = (np.array([law.get(a, 0.0) for a in answers]) for law in laws)
    thresholds = []
    for high, low in ((first, second), (second, first)):
        order = np.argsort(-(high + 1e-300) / (low + 1e-300), kind="stable")
        p, q = np.cumsum(high[order])[:-1], np.cumsum(low[order])[:-1]
        if len(p):
            thresholds.append((np.minimum(p, 1.0), np.minimum(q, 1.0)))
    return thresholds
