"""What ``identify`` must know of the data: two counts around one record."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from whitecrow.anomaly import law
from whitecrow.data import Records
from whitecrow.identify.question import Identify
from whitecrow.neighbours import Engine
from whitecrow.privacy import Facts
from whitecrow.question import Progress


@dataclass(frozen=True, repr=False, eq=False)
class IdentifyFacts(Facts):
    """The counts, as far as the mechanism looks.

    Parameters
    ----------
    exact_copies : int
        Records at the place asked about: within 0 of it by the metric.
    exact_neighbours : int
        Records within the radius, the copies included.
    step : Fraction
        The loss allowed for one record (public): ε over the card's contribution bound.
    """

    exact_copies: int
    exact_neighbours: int
    step: Fraction


def gather(
    question: Identify, dataset: Records, engine: Engine, progress: Progress | None = None
) -> IdentifyFacts:
    """Count copies and neighbours up to the caps beyond which no answer changes its law."""
    neighbour_relation = question.neighbour_relation(dataset.card)
    place = np.array([question.place(dataset.card)])
    step = question.epsilon / dataset.card.contribution
    beta = question.model.beta
    most = beta + law.error_cap(step, question.error_floor)
    if question.model.radius == 0:
        # Within 0 is one place, an equivalence: copies and neighbours are the same records.
        copies = int(engine.copies(place, neighbour_relation, most)[0])
        return IdentifyFacts(copies, copies, step)
    copies = int(engine.copies(place, neighbour_relation, beta)[0])
    neighbours = int(engine.neighbours(place, neighbour_relation, most)[0])
    return IdentifyFacts(copies, neighbours, step)
