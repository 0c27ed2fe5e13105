"""The question ``identify``: is this member of the data an anomaly?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Card
from whitecrow.errors import invalid
from whitecrow.identify import law
from whitecrow.identify.checks import (
    FLOOR,
    check_model,
    checked_floor,
    metric_name,
    refuse_many,
    whole,
)
from whitecrow.identify.overlap import ball
from whitecrow.identify.record import Value, as_json, canonical, encoded, from_json
from whitecrow.neighbours import Closeness
from whitecrow.privacy import DifferentialPrivacy, Guarantee, SensitivePrivacy, exact, text
from whitecrow.question import Description

__all__ = ["Identify"]

_NOTIONS = ("sensitive", "differential")


@dataclass(frozen=True, init=False)
class Identify:
    """Is this record in the data, and an anomaly there?

    The answer is yes or no, wrong with a probability that falls exponentially with the distance
    from the boundary. Under ``notion="sensitive"`` the promise covers every record that is normal
    or would be after ``k`` insertions; isolated records are not covered, and in exchange the
    answers about them are accurate. Under ``notion="differential"`` everyone is covered, and the
    answer about an isolated record is little better than a coin.

    Parameters
    ----------
    record : mapping of column to value
        The columns named here are the ones that are compared. For ``haversine`` the first is the
        latitude and the second the longitude.
    model : DistanceAnomaly
        What an anomaly is.
    k : int
        How many insertions away from normal a record may be and still be covered; at least 1.
        With ``k >= beta`` everyone is covered.
    epsilon : exact number
        The price.
    notion : {"sensitive", "differential"}
        Whom the promise covers.
    floor : exact number
        An error probability not worth going below: neighbours are counted only as far as it needs.

    References
    ----------
    Asif et al., Construction 1 with the bound λ* of ``proof.md``; at radius 0 the exact distance.

    Examples
    --------
    >>> model = DistanceAnomaly(beta=18, radius=0.148)
    >>> question = Identify({"age": 61, "bmi": 24.1}, model=model, k=2, epsilon="0.1")
    >>> question.columns, question.tau
    (('age', 'bmi'), 17)
    """

    record: Mapping[str, Value]
    model: DistanceAnomaly
    k: int
    epsilon: Fraction
    notion: str
    floor: Fraction
    kind: ClassVar[str] = "identify"

    def __init__(
        self,
        record: Mapping[str, Any],
        *,
        model: DistanceAnomaly,
        k: int = 1,
        epsilon: object,
        notion: str = "sensitive",
        floor: object = FLOOR,
    ) -> None:
        owner = "Identify"
        check_model(model, owner)
        ordered = canonical(record, owner=owner, keep_order=model.metric == "haversine")
        if notion not in _NOTIONS:
            raise invalid(owner, "notion", "'sensitive' or 'differential'", notion)
        object.__setattr__(self, "record", ordered)
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "k", whole(k, owner, "k"))
        object.__setattr__(self, "epsilon", exact(epsilon, owner=owner))
        object.__setattr__(self, "notion", notion)
        object.__setattr__(self, "floor", checked_floor(floor, owner))

    def __hash__(self) -> int:
        return hash((tuple(self.record.items()), self.model, self.reach, self.epsilon))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are compared."""
        return tuple(self.record)

    @property
    def reach(self) -> int:
        """The k the mechanism uses: beta, which covers everyone, under differential privacy."""
        return min(self.k, self.model.beta) if self.notion == "sensitive" else self.model.beta

    @property
    def tau(self) -> int:
        """A record with this many records within the radius, itself included, is covered."""
        return self.model.beta + 1 - self.reach

    @property
    def covers_everyone(self) -> bool:
        """Whether the promise is differential privacy: asked for, or because ``k >= beta``."""
        return self.tau <= 1

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {
            **as_json(self.record, self.model),
            "model": self.model.to_json(),
            "k": self.k,
            "epsilon": text(self.epsilon),
            "notion": self.notion,
            "floor": text(self.floor),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build the question that :meth:`to_json` wrote."""
        return cls(
            from_json(data),
            model=DistanceAnomaly.from_json(data["model"]),
            k=data.get("k", 1),
            epsilon=data["epsilon"],
            notion=data.get("notion", "sensitive"),
            floor=data.get("floor", FLOOR),
        )

    def closeness(self, card: Card) -> Closeness:
        """Return the relation "within the radius" on this card."""
        return self.model.closeness(self.columns, card)

    def place(self, card: Card) -> list[float]:
        """Return the record's coordinates as the data hold them."""
        return encoded(self.record, card, owner="Identify")

    def location(self, card: Card) -> dict[str, Any]:
        """Return the ball the answer depends on, for spatial accounting."""
        return ball(self.closeness(card), self.place(card), card)

    def check(self, card: Card) -> None:
        """Raise :class:`~whitecrow.InvalidInput` if the card cannot serve this question."""
        self.closeness(card)
        self.place(card)
        if not self.covers_everyone:
            refuse_many(card, "Identify", 'notion="differential"')

    def price(self, card: Card) -> Guarantee:
        """Return what the release will promise."""
        self.check(card)
        if self.covers_everyone:
            return DifferentialPrivacy(self.epsilon)
        return SensitivePrivacy.of(
            self.epsilon,
            beta=self.model.beta,
            k=self.k,
            radius=self.model.radius,
            metric=metric_name(self.closeness(card)),
            columns=self.columns,
            card=card.fingerprint(),
        )

    def describe(self, card: Card, **public: object) -> Description:
        """Say what will be released, at which price, and how often it will be wrong.

        Parameters
        ----------
        card : Card
            The dataset's public facts.
        typical_neighbours : int, optional
            A public guess: how many records, itself included, an anomaly has within the radius.
        """
        from whitecrow.identify.words import identify_words

        price = self.price(card)
        words, figures = identify_words(self, card.contribution, public)
        return Description(f"{words} {price.statement()}", price, figures)

    def bound(self, copies: int, neighbours: int, step: Fraction) -> int | None:
        """Return the λ that the mechanism uses for given counts; None for an exact answer."""
        found = law.discrepancy(
            copies,
            neighbours,
            beta=self.model.beta,
            k=self.reach,
            radius_is_zero=self.model.radius == 0,
            tight=True,
        )
        return law.capped(found, law.error_cap(step, self.floor))

    def wrong(self, copies: int, neighbours: int, contribution: int = 1) -> float:
        """Return the error probability for guessed counts: a public function of the guess."""
        step = self.epsilon / contribution
        return law.flip_probability(self.bound(copies, neighbours, step), step)
