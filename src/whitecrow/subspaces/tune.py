"""The question ``tune``: which radius makes about a given share of the records outliers?

Chosen by looking at the data, a radius is a release like any other (`mechanisms.md` 10.4, erratum
E16); here it is priced.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.anomaly.calibration import CROWDING, Calibration, draw
from whitecrow.anomaly.outlier_facts import OutlierFacts, outlier_facts
from whitecrow.anomaly.outliers import (
    canonical_columns,
    cap_of,
    check_columns,
    check_model,
    check_relation,
    noise_for,
    numeric_columns,
    whole,
)
from whitecrow.data import Card, Dataset
from whitecrow.errors import invalid
from whitecrow.neighbours import Engine
from whitecrow.noise import Source, exponential_mechanism
from whitecrow.privacy import DifferentialPrivacy, Facts, Guarantee, Unit, exact, text
from whitecrow.question import Description, Progress

__all__ = ["Tune", "TuneFacts", "gather", "release"]

METHODS = ("auto", "search", "exponential")


@dataclass(frozen=True, init=False)
class Tune:
    """Which radius makes about this share of the records outliers?

    Parameters
    ----------
    columns : sequence of str, optional
        The subspace: columns of numbers. All of the card's, unless given.
    share : exact number
        The share of outliers wanted, between 0 and 1.
    radii : sequence of float
        The radii to choose from: a public grid.
    beta, metric
        The rest of the model: see :class:`~whitecrow.DistanceAnomaly`.
    epsilon : exact number
        The price.
    relation : {"add_remove", "replace_one"}
        Whether neighbouring databases differ in the presence of a record or in its values.
    method : {"auto", "search", "exponential"}
        A binary search with noisy counts, the exponential mechanism over all radii, or whichever
        promises the smaller error from public facts.
    crowding : int
        A public guess for the tuning of the counts, as in :class:`~whitecrow.Count`.

    Examples
    --------
    >>> question = Tune(["age"], share="0.01", radii=[1, 2, 4, 8], beta=5, epsilon=1)
    >>> question.steps
    3
    """

    columns: tuple[str, ...] | None
    share: Fraction
    radii: tuple[float, ...]
    beta: int
    metric: str
    epsilon: Fraction
    relation: Unit
    method: str
    crowding: int
    kind: ClassVar[str] = "tune"

    def __init__(
        self,
        columns: Sequence[str] | None = None,
        *,
        share: object,
        radii: object,
        beta: int,
        metric: str = "euclidean",
        epsilon: object,
        relation: str = "add_remove",
        method: str = "auto",
        crowding: int = CROWDING,
    ) -> None:
        owner = "Tune"
        part = exact(share, owner=owner, parameter="share")
        if part >= 1:
            raise invalid(owner, "share", "above 0 and below 1", share)
        if isinstance(radii, str) or not isinstance(radii, Sequence) or not radii:
            raise invalid(owner, "radii", "a list of numbers", radii)
        models = [check_model(owner, DistanceAnomaly(beta, radius, metric)) for radius in radii]
        grid = tuple(sorted({model.radius for model in models}))
        if grid[0] == 0:
            raise invalid(owner, "radii", "numbers above 0", list(radii))
        if method not in METHODS:
            raise invalid(owner, "method", f"one of {', '.join(METHODS)}", method)
        for name, value in (
            ("columns", None if columns is None else canonical_columns(owner, columns)),
            ("share", part),
            ("radii", grid),
            ("beta", beta),
            ("metric", metric),
            ("epsilon", exact(epsilon, owner=owner)),
            ("relation", check_relation(owner, relation)),
            ("method", method),
            ("crowding", whole(owner, "crowding", crowding, least=0)),
        ):
            object.__setattr__(self, name, value)

    @property
    def steps(self) -> int:
        """How many counts a search over the grid takes, whatever it finds."""
        return max(1, len(self.radii).bit_length())

    def to_json(self) -> dict[str, Any]:
        """Return the canonical form."""
        return {
            "columns": None if self.columns is None else list(self.columns),
            "share": text(self.share),
            "radii": list(self.radii),
            "beta": self.beta,
            "metric": self.metric,
            "epsilon": text(self.epsilon),
            "relation": self.relation,
            "method": self.method,
            "crowding": self.crowding,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Build the question that :meth:`to_json` wrote."""
        rest = {key: value for key, value in data.items() if key != "columns"}
        return cls(data.get("columns"), **rest)

    def subspace(self, card: Card) -> tuple[str, ...]:
        """Return the columns that are compared."""
        return numeric_columns("Tune", card) if self.columns is None else self.columns

    def model(self, index: int) -> DistanceAnomaly:
        """Return the model with one of the radii."""
        return DistanceAnomaly(self.beta, self.radii[index], self.metric)

    def cap(self, card: Card) -> int:
        """Return the global sensitivity of the count at any of the radii."""
        return cap_of(self.model(0), self.subspace(card), card, self.relation)

    def drift(self) -> Fraction:
        """Return how far the wanted number of outliers moves with one record."""
        return self.share if self.relation == "add_remove" else Fraction(0)

    def noise(self, card: Card) -> Calibration:
        """Return the noise of each count of a search."""
        return noise_for(
            self.model(0),
            self.subspace(card),
            card,
            epsilon=self.epsilon / self.steps,
            relation=self.relation,
            crowding=self.crowding,
        )

    def eta(self, card: Card) -> Fraction:
        """Return the weight of ``-|count - share n|`` in the exponential mechanism.

        The utility of one radius may rise while that of another falls, each by up to
        ``cap + share``, so a draw loses twice that much times eta.
        """
        return self.epsilon / (2 * card.contribution * (self.cap(card) + self.drift()))

    def errors(self, card: Card) -> dict[str, float]:
        """Return, for each method, how far the count may be off the wanted one, at 95 %."""
        noise = self.noise(card)
        each = 1 - 0.05 / self.steps
        expected = noise.expected_sensitivity(self.crowding) + float(self.drift())
        return {
            "search": noise.error(each, expected),
            "exponential": math.log(len(self.radii) / 0.05) / float(self.eta(card)),
        }

    def chosen_method(self, card: Card) -> str:
        """Return the method that is used, from public facts alone."""
        errors = self.errors(card)
        return min(errors, key=errors.__getitem__) if self.method == "auto" else self.method

    def check(self, card: Card) -> None:
        """Raise :class:`~whitecrow.InvalidInput` if the card cannot serve this question."""
        check_columns("Tune", self.subspace(card), card)

    def price(self, card: Card) -> Guarantee:
        """Return what the release will promise."""
        self.check(card)
        return DifferentialPrivacy(self.epsilon, unit=self.relation)

    def describe(self, card: Card, **public: object) -> Description:
        """Say what will be released, and how far off the share may be."""
        price = self.price(card)
        method, error = self.chosen_method(card), self.errors(card)
        figures = {
            "method": method,
            "radii": len(self.radii),
            "error_95": error[method],
            "crowding": self.crowding,
        }
        guess = f", if about {self.crowding} records near the threshold share a ball"
        words = (
            f"The radius, one of {len(self.radii)} between {self.radii[0]:g} and "
            f"{self.radii[-1]:g}, at which about {float(self.share):.3g} of the records have at "
            f"most {self.beta} records within it ({self.metric} over "
            f"{', '.join(self.subspace(card))}), by {method}. The number of outliers at the answer "
            f"is off by at most {error[method]:.3g} with probability 95 %, beside the steps of the "
            f"grid{guess if method == 'search' else ''}."
        )
        return Description(f"{words} {price.statement()}", price, figures)


@dataclass(frozen=True, repr=False, eq=False)
class TuneFacts(Facts):
    """The number of records, and a way to the counts at the radii that are looked at.

    Parameters
    ----------
    size : int
        The number of records.
    method : str
        How the radius is chosen (public).
    eta : Fraction
        The weight of the exponential mechanism (public).
    count : callable
        Returns the facts of the count at one radius, computed when asked for.
    """

    size: int
    method: str
    eta: Fraction
    count: Callable[[int], OutlierFacts]


def gather(
    question: Tune, dataset: Dataset, engine: Engine, progress: Progress | None = None
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
        closeness = question.model(index).closeness(question.subspace(card), card)
        return outlier_facts(dataset, engine, closeness, question.beta, noise)

    return TuneFacts(dataset.size, method, question.eta(card), count)


def release(question: Tune, facts: TuneFacts, source: Source | None = None) -> float:
    """Return the radius: the first one, by noisy counts, with no more outliers than wanted."""
    part = question.share
    if facts.method == "exponential":
        utilities = [
            -abs(facts.count(index).outliers - part * facts.size)
            for index in range(len(question.radii))
        ]
        return question.radii[exponential_mechanism(utilities, facts.eta, source)]
    low, high = 0, len(question.radii)
    for _ in range(question.steps):
        middle = min((low + high) // 2, len(question.radii) - 1)
        found = facts.count(middle)
        # In units of the share's denominator everything is a whole number, and the rounded noise
        # on it is a rounding of the ideal mechanism.
        unit = part.denominator
        excess = unit * found.outliers - part.numerator * facts.size
        noise = draw(found.calibration, unit * (found.sensitivity + question.drift()), source)
        if excess + noise > 0:
            low = min(middle + 1, high)
        else:
            high = middle
    return question.radii[min(low, len(question.radii) - 1)]
