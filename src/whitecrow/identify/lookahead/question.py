"""The question ``lookahead``: a sanitised histogram for the radius-0 model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.data import Card
from whitecrow.errors import InvalidInput, invalid
from whitecrow.identify.checks import check_model, refuse_many, whole
from whitecrow.privacy import DifferentialPrivacy, Guarantee, SensitivePrivacy, exact, text
from whitecrow.question import Description

__all__ = ["MOST_CELLS", "Lookahead"]

MOST_CELLS = 1_000_000
"""The largest domain of which every cell, the empty ones too, is perturbed."""


@dataclass(frozen=True, init=False)
class Lookahead:
    """Release how many records have each combination of values, near-normal cells perturbed.

    Any question about anomalies at radius 0 can be answered from the released histogram at no
    further price. Every cell that holds at least ``beta - k`` records gets discrete Laplace noise.
    **Cells with fewer records are released as they are**: sensitive privacy promises nothing to
    records that far from normal. With ``k >= beta`` every cell of the domain is perturbed, the
    empty ones too, and the promise is differential privacy.

    Parameters
    ----------
    columns : sequence of str
        Categories, or integers with bounds on the card: the domain is public and finite.
    model : DistanceAnomaly
        With radius 0: a value is anomalous if 1 to ``beta`` records have it.
    k : int
        How many insertions away from normal a record may be and still be covered; at least 1.
    epsilon : exact number
        The price.

    References
    ----------
    Asif et al., Section 8.1, with two corrections: *every* (k+1)-sensitive cell is perturbed, not
    only the one asked about, and n = k steps of look-ahead are not enough (``proof.md``).

    Examples
    --------
    >>> model = DistanceAnomaly(beta=20, radius=0)
    >>> Lookahead(["ward", "diagnosis"], model=model, k=5, epsilon="1").threshold
    15
    """

    columns: tuple[str, ...]
    model: DistanceAnomaly
    k: int
    epsilon: Fraction
    kind: ClassVar[str] = "lookahead"

    def __init__(
        self, columns: Sequence[str], *, model: DistanceAnomaly, k: int, epsilon: object
    ) -> None:
        owner = "Lookahead"
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        if not names or len(set(names)) != len(names):
            raise invalid(owner, "columns", "name at least one column, each once", names)
        check_model(model, owner)
        if model.radius != 0:
            hint = (
                "For a radius above 0 no look-ahead is sensitively private (Theorem 1 of the "
                "paper); ask Identify or Screen instead."
            )
            raise invalid(owner, "model", "have radius 0", model.radius, hint)
        if model.metric == "haversine":
            hint = "Cells hold equal values, and on the globe two longitudes can be one place."
            raise invalid(owner, "model", "have another metric than haversine", model.metric, hint)
        object.__setattr__(self, "columns", tuple(sorted(names)))
        object.__setattr__(self, "model", model)
        object.__setattr__(self, "k", whole(k, owner, "k"))
        object.__setattr__(self, "epsilon", exact(epsilon, owner=owner))

    @property
    def threshold(self) -> int:
        """Cells with at least this many records are perturbed: ``beta - k``, at least 0."""
        return max(0, self.model.beta - self.k)

    @property
    def covers_everyone(self) -> bool:
        """Whether the promise is differential privacy (``k >= beta``)."""
        return self.threshold == 0

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {
            "columns": list(self.columns),
            "model": self.model.to_json(),
            "k": self.k,
            "epsilon": text(self.epsilon),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build the question that :meth:`to_json` wrote."""
        return cls(
            data["columns"],
            model=DistanceAnomaly.from_json(data["model"]),
            k=data["k"],
            epsilon=data["epsilon"],
        )

    def domain(self, card: Card) -> tuple[Sequence[int | str], ...]:
        """Return the values each column may take, from the card alone."""
        return tuple(_values(name, card) for name in self.columns)

    def cells(self, card: Card) -> int:
        """Return how many cells the domain has."""
        return math.prod(len(values) for values in self.domain(card))

    def check(self, card: Card) -> None:
        """Raise :class:`~whitecrow.InvalidInput` if the card cannot serve this question."""
        cells = self.cells(card)
        if not self.covers_everyone:
            refuse_many(card, "Lookahead", "k of at least beta")
        elif cells > MOST_CELLS:
            raise InvalidInput(
                f"With k {self.k} of at least beta {self.model.beta} every cell of the domain is "
                f"perturbed, and there are {cells:,} of them; the most is {MOST_CELLS:,}. "
                "Take fewer columns, coarser categories, or a k below beta."
            )

    def price(self, card: Card) -> Guarantee:
        """Return what the release will promise."""
        self.check(card)
        if self.covers_everyone:
            return DifferentialPrivacy(self.epsilon)
        return SensitivePrivacy.of(
            self.epsilon,
            beta=self.model.beta,
            k=self.k,
            radius=0.0,
            metric=self.model.metric,
            columns=self.columns,
            card=card.fingerprint(),
        )

    def describe(self, card: Card, **public: object) -> Description:
        """Say what will be released, at which price, and how far off the counts will be.

        Parameters
        ----------
        card : Card
            The dataset's public facts.
        typical_count : int, optional
            A public guess: how many records a cell of interest holds.
        """
        from whitecrow.identify.words import lookahead_words

        price = self.price(card)
        words, figures = lookahead_words(self, self.cells(card), card.contribution, public)
        return Description(f"{words} {price.statement()}", price, figures)


def _values(name: str, card: Card) -> Sequence[int | str]:
    column = card.column(name)
    if column.type == "category" and column.categories is not None:
        return column.categories
    if column.type == "integer" and column.lower is not None and column.upper is not None:
        return range(math.ceil(column.lower), math.floor(column.upper) + 1)
    raise InvalidInput(
        f"The column {name!r} has no finite list of values on the card. Lookahead needs "
        'categories, or type = "integer" with bounds.'
    )
