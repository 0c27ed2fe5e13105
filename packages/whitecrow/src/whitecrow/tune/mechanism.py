"""What ``tune`` must know of the data, and where it becomes an answer.

A radius is found by a search with noisy counts, or drawn by the exponential mechanism.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from whitecrow.counting.calibration import Calibration, draw
from whitecrow.counting.mechanism import OutlierFacts, outlier_facts
from whitecrow.data import Records
from whitecrow.neighbours import Engine
from whitecrow.noise import Source, exponential_mechanism
from whitecrow.privacy import Facts
from whitecrow.question import Progress
from whitecrow.tune.question import Tune


@dataclass(frozen=True, repr=False, eq=False)
class TuneFacts(Facts):
    """The number of records, and a way to the counts at the radii that are looked at."""

    exact_size: int  # the number of records
    method: str  # how the radius is chosen (public)
    eta: Fraction  # the weight of the exponential mechanism (public)
    count: Callable[[int], OutlierFacts]  # the facts of the count at one radius, when asked for


def gather(
    question: Tune, dataset: Records, engine: Engine, progress: Progress | None = None
) -> TuneFacts:
    """Prepare the counts; a search computes only those it comes to."""
    card = dataset.card
    method = question.chosen_method(card)
    # Choosing among all radii needs exact counts only: no sensitivity is computed for it.
    noise = (
        question.noise(card)
        if method == "search"
        else Calibration("global", question.relation, question.cap(card), Fraction(1))
    )

    def count(index: int) -> OutlierFacts:
        if progress is not None:
            progress(0, 1, "counting outliers at a radius")
        relation = question.model(index).neighbour_relation(question.subspace(card), card)
        return outlier_facts(dataset, engine, relation, question.beta, noise)

    size = dataset.count(question.subspace(card))
    return TuneFacts(size, method, question.eta(card), count)


def release(question: Tune, facts: TuneFacts, source: Source | None = None) -> float:
    """Return the radius: the first one, by noisy counts, with no more outliers than wanted."""
    share, radii = question.share, question.radii
    if facts.method == "exponential":
        utilities = [
            -abs(facts.count(index).exact_outliers - share * facts.exact_size)
            for index in range(len(radii))
        ]
        return radii[exponential_mechanism(utilities, facts.eta, source)]
    low, high = 0, len(radii)
    for _ in range(question.steps):
        middle = min((low + high) // 2, len(radii) - 1)
        counted = facts.count(middle)
        # In units of the share's denominator everything is a whole number, and the rounded noise
        # on it is a rounding of the ideal mechanism.
        unit = share.denominator
        excess = unit * counted.exact_outliers - share.numerator * facts.exact_size
        noise = draw(
            counted.calibration, unit * (counted.exact_sensitivity + question.drift()), source
        )
        if excess + noise > 0:
            low = min(middle + 1, high)
        else:
            high = middle
    return radii[min(low, len(radii) - 1)]
