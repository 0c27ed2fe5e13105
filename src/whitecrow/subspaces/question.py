"""The question ``subspaces``: in which columns do outliers live?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.calibration import CROWDING, Calibration
from whitecrow.anomaly.outliers import (
    canonical_columns,
    cap_of,
    check_columns,
    check_model,
    check_relation,
    noise_for,
    normalised_model,
    numeric_columns,
    whole,
)
from whitecrow.data import Card
from whitecrow.errors import InvalidInput, invalid
from whitecrow.neighbours import Closeness
from whitecrow.privacy import DifferentialPrivacy, Guarantee, Unit, exact, text
from whitecrow.question import Description

__all__ = ["Subspaces"]

Subspace = tuple[str, ...]

_MOST = 200_000


@dataclass(frozen=True, init=False)
class Subspaces:
    """Which subspaces hold the most outliers, and (if asked) how many?

    The answer is a list, best first: of lists of column names or, with a ``count_share``, of
    objects ``{"columns": [...], "count": 12, "raw": 12}``.

    Parameters
    ----------
    size : int, optional
        Look at all subspaces of this many columns.
    top : int
        How many to name, best first.
    subspaces : sequence of sequences of str, optional
        Look at these instead, of any sizes.
    columns : sequence of str, optional
        With ``size``: the columns to combine. All of the card's columns of numbers, unless given.
    model : DistanceAnomaly
        What an outlier is.
    epsilon : exact number
        The price of everything together.
    relation : {"add_remove", "replace_one"}
        Whether neighbouring databases differ in the presence of a record or in its values.
    normalised : bool
        Divide distances by the size of the subspace as the paper does (root mean square).
    count_share : exact number
        The part of ε that goes to counting the outliers of the subspaces found, in equal parts
        (the paper's scenario 2); 0 names them only.
    crowding : int
        A public guess for the tuning of the counts, as in :class:`~whitecrow.Count`.

    References
    ----------
    Okada et al., Section 5, with the calibration of ``proof.md``: Algorithm 3 as printed costs
    twice what it says.

    Examples
    --------
    >>> model = DistanceAnomaly(beta=3, radius=0.13)
    >>> question = Subspaces(size=1, top=2, model=model, epsilon=1)
    >>> question.epsilon, question.normalised
    (Fraction(1, 1), True)
    """

    size: int | None
    top: int
    subspaces: tuple[Subspace, ...] | None
    columns: Subspace | None
    model: DistanceAnomaly
    epsilon: Fraction
    relation: Unit
    normalised: bool
    count_share: Fraction
    crowding: int
    kind: ClassVar[str] = "subspaces"

    def __init__(
        self,
        size: int | None = None,
        top: int = 1,
        *,
        subspaces: Sequence[Sequence[str]] | None = None,
        columns: Sequence[str] | None = None,
        model: DistanceAnomaly,
        epsilon: object,
        relation: str = "add_remove",
        normalised: bool = True,
        count_share: object = 0,
        crowding: int = CROWDING,
    ) -> None:
        owner = "Subspaces"
        if (size is None) == (subspaces is None):
            raise InvalidInput("Subspaces takes either a 'size' or a list of 'subspaces'.")
        if subspaces is not None and columns is not None:
            raise InvalidInput("Subspaces takes 'columns' with a 'size' only.")
        share = exact(count_share, owner=owner, parameter="count_share", positive=False)
        if share >= 1:
            raise invalid(owner, "count_share", "at least 0 and below 1", count_share)
        listed = None if subspaces is None else _listed(owner, subspaces)
        for name, value in (
            ("size", None if size is None else whole(owner, "size", size)),
            ("top", whole(owner, "top", top)),
            ("subspaces", listed),
            ("columns", None if columns is None else canonical_columns(owner, columns)),
            ("model", check_model(owner, model)),
            ("epsilon", exact(epsilon, owner=owner)),
            ("relation", check_relation(owner, relation)),
            ("normalised", bool(normalised)),
            ("count_share", share),
            ("crowding", whole(owner, "crowding", crowding, least=0)),
        ):
            object.__setattr__(self, name, value)
        if listed is not None:
            self._check_top(len(listed))

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {
            "size": self.size,
            "top": self.top,
            "subspaces": None if self.subspaces is None else [list(s) for s in self.subspaces],
            "columns": None if self.columns is None else list(self.columns),
            "model": self.model.to_json(),
            "epsilon": text(self.epsilon),
            "relation": self.relation,
            "normalised": self.normalised,
            "count_share": text(self.count_share),
            "crowding": self.crowding,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build the question that :meth:`to_json` wrote."""
        given = {**data, "model": DistanceAnomaly.from_json(data["model"])}
        return cls(given.pop("size", None), given.pop("top", 1), **given)

    def candidates(self, card: Card) -> tuple[Subspace, ...]:
        """Return the subspaces to choose from, in a fixed public order."""
        if self.subspaces is not None:
            return self.subspaces
        assert self.size is not None
        return tuple(itertools.combinations(self._pool(card), self.size))

    def _pool(self, card: Card) -> Subspace:
        return numeric_columns("Subspaces", card) if self.columns is None else self.columns

    def model_in(self, subspace: Subspace) -> DistanceAnomaly:
        """Return the model as it applies in a subspace."""
        return normalised_model(self.model, len(subspace)) if self.normalised else self.model

    def closeness(self, subspace: Subspace, card: Card) -> Closeness:
        """Return the relation "within the radius" in a subspace."""
        return self.model_in(subspace).closeness(subspace, card)

    def caps(self, card: Card) -> tuple[int, ...]:
        """Return the global sensitivity of each candidate's count."""
        return tuple(
            cap_of(self.model_in(subspace), subspace, card, self.relation)
            for subspace in self.candidates(card)
        )

    def eta(self, card: Card) -> Fraction:
        """Return the weight of the utility ``count / cap`` in the exponential mechanism.

        Adding a record moves the utility by -1 at the least and by 1/cap at the most (the new
        record alone can become an outlier), removing one the other way round, so under
        ``add_remove`` two utilities move apart by ``1 + 1/cap`` and not by 2; a draw loses
        ``eta`` times that (``proof.md``). ``top`` draws lose ``top`` times as much.
        """
        apart = 2 if self.relation == "replace_one" else 1 + Fraction(1, min(self.caps(card)))
        finding = self.epsilon * (1 - self.count_share) / card.contribution
        return finding / (self.top * apart)

    def count_noise(self, subspace: Subspace, card: Card) -> Calibration:
        """Return the noise of the count in a subspace that was found."""
        return noise_for(
            self.model_in(subspace),
            subspace,
            card,
            epsilon=self.epsilon * self.count_share / self.top,
            relation=self.relation,
            crowding=self.crowding,
        )

    def check(self, card: Card) -> None:
        """Raise :class:`~whitecrow.InvalidInput` if the card cannot serve this question."""
        if self.subspaces is None:
            pool = self._pool(card)
            check_columns("Subspaces", pool, card)
            assert self.size is not None
            if self.size > len(pool):
                must = f"at most {len(pool)}, the number of columns"
                raise invalid("Subspaces", "size", must, self.size)
            number = math.comb(len(pool), self.size)
            if number > _MOST:
                hint = "Name the 'columns' to combine, or the 'subspaces' themselves."
                must = f"so small that there are at most {_MOST} subspaces"
                raise invalid("Subspaces", "size", must, self.size, hint)
            self._check_top(number)
            return
        for subspace in self.subspaces:
            check_columns("Subspaces", subspace, card)

    def _check_top(self, number: int) -> None:
        if self.top > number:
            must = f"at most {number}, the number of subspaces"
            raise invalid("Subspaces", "top", must, self.top)

    def price(self, card: Card) -> Guarantee:
        """Return what the release will promise."""
        self.check(card)
        return DifferentialPrivacy(self.epsilon, unit=self.relation)

    def describe(self, card: Card, **public: object) -> Description:
        """Say what will be released, and how far apart counts must be to be told apart."""
        from whitecrow.subspaces.words import subspace_words

        price = self.price(card)
        words, figures = subspace_words(self, card)
        return Description(f"{words} {price.statement()}", price, figures)


def _listed(owner: str, subspaces: object) -> tuple[Subspace, ...]:
    if isinstance(subspaces, str) or not isinstance(subspaces, Sequence) or not subspaces:
        raise invalid(owner, "subspaces", "a list of lists of column names", subspaces)
    found = sorted({canonical_columns(owner, subspace) for subspace in subspaces})
    if len(found) < len(subspaces):
        raise InvalidInput(f"{owner} lists the same subspace twice; list it once.")
    return tuple(found)
