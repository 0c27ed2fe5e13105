"""What ``tune`` must know of the data: the counts at the radii that are looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from whitecrow.counting.calibration import Calibration
from whitecrow.counting.facts import OutlierFacts, outlier_facts
from whitecrow.data import Records
from whitecrow.neighbours import Engine
from whitecrow.privacy import Facts
from whitecrow.question import Progress
from whitecrow.tune.question import Tune


@dataclass(frozen=True, repr=False, eq=False)
class TuneFacts(Facts):
    """The number of records, and a way to the counts at the radii that are looked at."""

    exact_size: int  # the number of records
    method: str  # how the radius is chosen (public)
    eta: Fraction  # the weight of the exponential mechanism (public)
    # Returns the facts of the count at one radius, computed when asked for.
    count: Callable[[int], OutlierFacts]


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
