"""The question ``screen``: would this new record be an anomaly beside the data?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Card
from whitecrow.identify import law
from whitecrow.identify.checks import FLOOR, check_model, checked_floor
from whitecrow.identify.overlap import ball
from whitecrow.identify.record import Value, as_json, canonical, encoded, from_json
from whitecrow.neighbours import Closeness
from whitecrow.privacy import DifferentialPrivacy, Guarantee, exact, text
from whitecrow.question import Description

__all__ = ["Screen"]


@dataclass(frozen=True, init=False)
class Screen:
    """Would this record, added to the data, have at most ``beta`` records within the radius?

    The record need not be in the data (novelty detection: "score this new transaction"), so the
    answer depends on the data through one count alone. It is differentially private for everyone
    and wrong with a probability that falls exponentially with the distance from the boundary:
    no relaxation of privacy is needed.

    Parameters
    ----------
    record : mapping of column to value
        The columns named here are the ones that are compared.
    model : DistanceAnomaly
        What an anomaly is.
    epsilon : exact number
        The price.
    floor : exact number
        An error probability not worth going below.

    References
    ----------
    Construction 1 of Asif et al. with the exact distance of ``proof.md``; the question is named in
    Section 3 of the paper and not worked out there.

    Examples
    --------
    >>> model = DistanceAnomaly(beta=18, radius=0.148)
    >>> Screen({"age": 61, "bmi": 24.1}, model=model, epsilon="0.1").columns
    ('age', 'bmi')
    """

    record: Mapping[str, Value]
    model: DistanceAnomaly
    epsilon: Fraction
    floor: Fraction
    kind: ClassVar[str] = "screen"

    def __init__(
        self,
        record: Mapping[str, Any],
        *,
        model: DistanceAnomaly,
        epsilon: object,
        floor: object = FLOOR,
    ) -> None:
        owner = "Screen"
        check_model(model, owner)
        ordered = canonical(record, owner=owner, keep_order=model.metric == "haversine")
        object.__setattr__(self, "record", ordered)
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "epsilon", exact(epsilon, owner=owner))
        object.__setattr__(self, "floor", checked_floor(floor, owner))

    def __hash__(self) -> int:
        return hash((tuple(self.record.items()), self.model, self.epsilon))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are compared."""
        return tuple(self.record)

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {
            **as_json(self.record, self.model),
            "model": self.model.to_json(),
            "epsilon": text(self.epsilon),
            "floor": text(self.floor),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build the question that :meth:`to_json` wrote."""
        return cls(
            from_json(data),
            model=DistanceAnomaly.from_json(data["model"]),
            epsilon=data["epsilon"],
            floor=data.get("floor", FLOOR),
        )

    def closeness(self, card: Card) -> Closeness:
        """Return the relation "within the radius" on this card."""
        return self.model.closeness(self.columns, card)

    def place(self, card: Card) -> list[float]:
        """Return the record's coordinates as the data hold them."""
        return encoded(self.record, card, owner="Screen")

    def location(self, card: Card) -> dict[str, Any]:
        """Return the ball the answer depends on, for spatial accounting."""
        return ball(self.closeness(card), self.place(card), card)

    def check(self, card: Card) -> None:
        """Raise :class:`~whitecrow.InvalidInput` if the card cannot serve this question."""
        self.location(card)

    def price(self, card: Card) -> Guarantee:
        """Return what the release will promise."""
        self.check(card)
        return DifferentialPrivacy(self.epsilon)

    def describe(self, card: Card, **public: object) -> Description:
        """Say what will be released, at which price, and how often it will be wrong.

        Parameters
        ----------
        card : Card
            The dataset's public facts.
        typical_neighbours : int, optional
            A public guess: how many records the data have within the radius of such a record.
        """
        from whitecrow.identify.words import screen_words

        price = self.price(card)
        words, figures = screen_words(self, card.contribution, public)
        return Description(f"{words} {price.statement()}", price, figures)

    def bound(self, neighbours: int, step: Fraction) -> int:
        """Return the λ that the mechanism uses for a given count."""
        found = law.novelty_discrepancy(neighbours, beta=self.model.beta)
        return min(found, law.error_cap(step, self.floor))

    def wrong(self, neighbours: int, contribution: int = 1) -> float:
        """Return the error probability for a guessed count: a public function of the guess."""
        step = self.epsilon / contribution
        return law.flip_probability(self.bound(neighbours, step), step)
