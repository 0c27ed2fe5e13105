"""How many records are near this place? A noisy number, differentially private.

Theorem. Let B be the number of records within the radius of a place that the question names.
Releasing B + Z, with P(Z = z) proportional to e^(-epsilon |z|), is epsilon-differentially private
under add/remove: one record more or less changes B by 0 or 1, so |o - B| changes by at most 1 for
every output o, and its probability by a factor of at most e^epsilon. A person with several records
is a path of as many databases: each record gets its part of epsilon.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log
from typing import Any

import numpy as np

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Card, Records
from whitecrow.declaration import Epsilon, Number, Record
from whitecrow.neighbours import Engine, NeighbourRelation
from whitecrow.noise import Source, discrete_laplace
from whitecrow.privacy import DifferentialPrivacy, Facts
from whitecrow.question import Description, Progress, Question, QuestionType, Said

__all__ = ["NEARBY", "Nearby", "NearbyFacts"]


class Nearby(Question):
    """How many records are like this one?

    Examples
    --------
    >>> Nearby({"age": 40}, radius=4, epsilon="1/2").to_json()
    {'place': {'age': 40}, 'radius': 4.0, 'epsilon': '1/2'}
    """

    kind = "nearby"
    asks = "How many records are like this one?"
    example = "patients.parquet --card patients.toml --place '{\"age\": 40}' --radius 4 --epsilon 1"

    place: Record = Record(help="The place; its columns are compared.", kw_only=False)
    radius: Number = Number(least=0, help="How near is near.")
    epsilon: Epsilon = Epsilon()

    def neighbour_relation(self, card: Card) -> NeighbourRelation:
        """The relation "within the radius"."""
        return DistanceAnomaly(1, self.radius).neighbour_relation(tuple(self.place), card)

    def check(self, card: Card) -> None:
        """Refuse columns that have no distances."""
        self.neighbour_relation(card)

    def price(self, card: Card) -> DifferentialPrivacy:
        """What the release will promise."""
        self.check(card)
        return DifferentialPrivacy(self.epsilon)

    def describe(self, card: Card, **public: object) -> Description:
        """Say how far off the number will be."""
        off = ceil(log(20) * card.contribution / self.epsilon)
        words = f"How many records lie within {self.radius:g}? Off by {off} or less in 95 of 100."
        return Description(words, self.price(card), {"error_95": off})

    def says(self, answer: Any) -> Said:
        """Say the number."""
        return Said(f"About {answer:,} records")


@dataclass(frozen=True, repr=False, eq=False)
class NearbyFacts(Facts):
    """The exact count, and the price of one record. Private."""

    exact_count: int
    step: Fraction


def gather(
    question: Nearby, dataset: Records, engine: Engine, progress: Progress | None = None
) -> NearbyFacts:
    """Count, behind the boundary."""
    card = dataset.card
    place = np.array([[float(value) for value in question.place.values()]])
    count = int(engine.neighbours(place, question.neighbour_relation(card), None)[0])
    return NearbyFacts(count, question.epsilon / card.contribution)


def release(question: Nearby, facts: NearbyFacts, source: Source | None = None) -> int:
    """The crossing: the count leaves with exact discrete noise. No float decides anything."""
    return facts.exact_count + discrete_laplace(1 / facts.step, source)


NEARBY = QuestionType(Nearby, gather, release)
