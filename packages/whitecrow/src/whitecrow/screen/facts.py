"""What ``screen`` must know of the data: one count."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from whitecrow.anomaly import law
from whitecrow.data import Records
from whitecrow.neighbours import Engine
from whitecrow.privacy import Facts
from whitecrow.question import Progress
from whitecrow.screen.question import Screen


@dataclass(frozen=True, repr=False, eq=False)
class ScreenFacts(Facts):
    """The number of records within the radius, as far as the mechanism looks."""

    exact_neighbours: int
    step: Fraction


def gather(
    question: Screen, dataset: Records, engine: Engine, progress: Progress | None = None
) -> ScreenFacts:
    """Count neighbours up to the cap beyond which no answer changes its law."""
    neighbour_relation = question.neighbour_relation(dataset.card)
    place = np.array([question.place(dataset.card)])
    step = question.epsilon / dataset.card.contribution
    most = question.model.beta + law.error_cap(step, question.error_floor)
    count = engine.copies if question.model.radius == 0 else engine.neighbours
    return ScreenFacts(int(count(place, neighbour_relation, most)[0]), step)
