"""The question ``count``: how many outliers are there?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.calibration import CROWDING, Calibration
from whitecrow.anomaly.outliers import (
    canonical_columns,
    check_columns,
    check_mechanism,
    check_model,
    check_relation,
    noise_for,
    normalised_model,
    numeric_columns,
    whole,
)
from whitecrow.data import Card
from whitecrow.neighbours import Closeness
from whitecrow.privacy import DifferentialPrivacy, Guarantee, Unit, exact, text
from whitecrow.question import Description

__all__ = ["Count"]


@dataclass(frozen=True, init=False)
class Count:
    """How many records are outliers in a subspace?

    Parameters
    ----------
    columns : sequence of str, optional
        The subspace: columns of numbers. All of the card's, unless given.
    model : DistanceAnomaly
        What an outlier is: at most ``beta`` records, itself included, within ``radius``. The
        paper's "fewer than k neighbours" is ``beta = k``.
    epsilon, delta : exact numbers
        The price; ``delta`` is for the Gaussian mechanisms and is left unspent by the others.
    relation : {"add_remove", "replace_one"}
        Whether neighbouring databases differ in the presence of a record or in its values.
    mechanism : str
        ``auto`` (the least expected error, from public facts), ``smooth``, ``global``,
        ``analytic_gaussian`` or ``paper_gaussian``; see :mod:`whitecrow.anomaly.calibration`.
    normalised : bool
        Divide distances by the size of the subspace as the paper does (root mean square).
    crowding : int
        A public guess for the tuning: how many records near the threshold one ball holds. A
        wrong guess costs accuracy, never privacy.
    raw : bool
        Return the noisy count itself, which may be negative, instead of cutting it to what a
        count can be.

    References
    ----------
    Okada, Fukuchi, Kakizaki, Sakuma, "Differentially Private Analysis of Outliers", with the
    corrections of ``proof.md``.

    Examples
    --------
    >>> model = DistanceAnomaly(beta=3, radius=1.1)
    >>> question = Count(["bmi", "age"], model=model, epsilon="1/2")
    >>> question.columns, question.mechanism
    (('age', 'bmi'), 'auto')
    """

    columns: tuple[str, ...] | None
    model: DistanceAnomaly
    epsilon: Fraction
    delta: Fraction
    relation: Unit
    mechanism: str
    normalised: bool
    crowding: int
    raw: bool
    kind: ClassVar[str] = "count"

    def __init__(
        self,
        columns: Sequence[str] | None = None,
        *,
        model: DistanceAnomaly,
        epsilon: object,
        delta: object = 0,
        relation: str = "add_remove",
        mechanism: str = "auto",
        normalised: bool = False,
        crowding: int = CROWDING,
        raw: bool = False,
    ) -> None:
        owner = "Count"
        chosen = None if columns is None else canonical_columns(owner, columns)
        small = exact(delta, owner=owner, parameter="delta", positive=False)
        for name, value in (
            ("columns", chosen),
            ("model", check_model(owner, model)),
            ("epsilon", exact(epsilon, owner=owner)),
            ("delta", small),
            ("relation", check_relation(owner, relation)),
            ("mechanism", check_mechanism(owner, mechanism, small)),
            ("normalised", bool(normalised)),
            ("crowding", whole(owner, "crowding", crowding, least=0)),
            ("raw", bool(raw)),
        ):
            object.__setattr__(self, name, value)

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {
            "columns": None if self.columns is None else list(self.columns),
            "model": self.model.to_json(),
            "epsilon": text(self.epsilon),
            "delta": text(self.delta),
            "relation": self.relation,
            "mechanism": self.mechanism,
            "normalised": self.normalised,
            "crowding": self.crowding,
            "raw": self.raw,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build the question that :meth:`to_json` wrote."""
        rest = {key: value for key, value in data.items() if key not in ("columns", "model")}
        return cls(data.get("columns"), model=DistanceAnomaly.from_json(data["model"]), **rest)

    def subspace(self, card: Card) -> tuple[str, ...]:
        """Return the columns that are compared."""
        return numeric_columns("Count", card) if self.columns is None else self.columns

    def closeness(self, card: Card) -> Closeness:
        """Return the relation "within the radius" on this card."""
        return self._model(card).closeness(self.subspace(card), card)

    def calibration(self, card: Card) -> Calibration:
        """Return the noise: mechanism, scale and tuning, from public facts alone."""
        return noise_for(
            self._model(card),
            self.subspace(card),
            card,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            mechanism=self.mechanism,
            crowding=self.crowding,
        )

    def _model(self, card: Card) -> DistanceAnomaly:
        size = len(self.subspace(card))
        return normalised_model(self.model, size) if self.normalised else self.model

    def check(self, card: Card) -> None:
        """Raise :class:`~whitecrow.InvalidInput` if the card cannot serve this question."""
        check_columns("Count", self.subspace(card), card)
        self.calibration(card)

    def price(self, card: Card) -> Guarantee:
        """Return what the release will promise."""
        self.check(card)
        return DifferentialPrivacy(self.epsilon, self.calibration(card).delta, self.relation)

    def describe(self, card: Card, **public: object) -> Description:
        """Say what will be released, by which mechanism, and with which error.

        Parameters
        ----------
        card : Card
            The dataset's public facts.
        crowding : int, optional
            Another guess for the expected error; the tuning stays the question's.
        """
        from whitecrow.count.words import count_words

        price = self.price(card)
        words, figures = count_words(self, card, public)
        return Description(f"{words} {price.statement()}", price, figures)
