"""The question ``tune``: which radius makes about a given share of the records outliers?

Chosen by looking at the data, a radius is a release like any other (docs/mechanisms.md 10.4,
erratum E16); here it is priced.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.counting import parameters as counting
from whitecrow.counting.calibration import CLUSTER_SIZE, Calibration
from whitecrow.data import Card
from whitecrow.declaration import Choice, Epsilon, Exact, Maybe, Number, Numbers, Relation, Whole
from whitecrow.errors import InvalidInput
from whitecrow.limits import Limits, in_turn
from whitecrow.neighbours import METRICS
from whitecrow.privacy import DifferentialPrivacy, Exactly, Guarantee
from whitecrow.question import Question, Said, Shortcuts


class Tune(Question):
    """Which radius makes about this share of the records outliers?

    Examples
    --------
    >>> question = Tune(["age"], share="0.01", radii=[1, 2, 4, 8], beta=5, epsilon=1)
    >>> question.steps
    3
    """

    kind = "tune"
    asks = "Which radius makes about a given share of the records outliers?"
    example = (
        "patients.parquet --card patients.toml --columns age,bmi --share 0.01 "
        "--from 0.5 --to 20 --beta 5 --epsilon 1"
    )
    reply_seconds = 0.5
    served_up_to: ClassVar[Mapping[str, int]] = {"radii": 1_000}
    figures: ClassVar[Mapping[str, tuple[str, str]]] = {
        "error_95": ("off by at most, 95 % of the time", "number")
    }

    columns: Maybe[tuple[str, ...], Sequence[str]] = Maybe(
        counting.Subspace(help="The subspace: columns of numbers; unless given, all of them."),
        default=None,
        kw_only=False,
    )
    share: Exact = Exact(
        below=1, help="The share of outliers wanted, such as 0.01.", label="Share of outliers"
    )
    radii: Numbers = Numbers(
        help="The radii to choose from: a public grid, numbers with commas.", label="Radii"
    )
    beta: Whole = Whole(
        help="An anomaly has at most this many records near it, itself included.",
        label="Most neighbours β",
        hint="With beta 0 no record could ever be an anomaly.",
        group="model",
    )
    metric: Choice[str] = Choice(
        METRICS,
        help="How far apart two records are.",
        label="Distance",
        default="euclidean",
        group="model",
    )
    epsilon: Epsilon = Epsilon()
    relation: Relation = Relation(default="add_remove")
    method: Choice[str] = Choice(
        ("auto", "search", "exponential"),
        help="A binary search with noisy counts, or the exponential mechanism over all radii.",
        more="auto takes whichever promises the smaller error from public facts.",
        default="auto",
        group="details",
    )
    expected_cluster_size: Whole = counting.ClusterSize(default=CLUSTER_SIZE)

    class shortcuts(Shortcuts):
        """A grid of radii in equal ratios."""

        instead: ClassVar[Mapping[str, str]] = {
            "radii": "--from and --to",
            "share": "--contamination",
        }

        smallest: Maybe[float, float] = Maybe(
            Number(least=0, help="The smallest radius of a grid in equal ratios."), option="from"
        )
        largest: Maybe[float, float] = Maybe(
            Number(least=0, help="The largest radius of that grid."), option="to"
        )
        contamination: Maybe[Fraction, Exactly] = Maybe(
            Exact(below=1, help="The share by the name that PyOD gives it; instead of --share.")
        )
        steps: Whole = Whole(least=2, most=1000, help="How many radii it has.", default=31)

        def expand(self, given: dict[str, Any]) -> dict[str, Any]:
            """Work out the radii, where a grid was described, and the share."""
            if self.contamination is not None:
                if "share" in given:
                    raise InvalidInput("Give --share or --contamination: they are one number.")
                given = {**given, "share": str(self.contamination)}
            low, high = self.smallest, self.largest
            if low is None and high is None:
                return given
            if low is None or high is None or not 0 < low < high or "radii" in given:
                raise InvalidInput(
                    "A grid of radii goes from a number above 0 to a larger one; give both ends, "
                    "or the radii themselves."
                )
            ratio, last = high / low, self.steps - 1
            return {**given, "radii": [low * ratio ** (step / last) for step in range(last + 1)]}

    def settle(self) -> None:
        """Refuse what cannot be counted privately at each of the radii."""
        for index in range(len(self.radii)):
            counting.check_model(self.model(index))

    @property
    def steps(self) -> int:
        """How many counts a search over the grid takes, whatever it finds."""
        return max(1, len(self.radii).bit_length())

    def subspace(self, card: Card) -> tuple[str, ...]:
        """Return the columns that are compared."""
        return self.columns or counting.whole_space("Tune", card, self.metric)

    def model(self, index: int) -> DistanceAnomaly:
        """Return the model with one of the radii."""
        return DistanceAnomaly(self.beta, self.radii[index], self.metric)

    def anomaly(self, answer: float) -> DistanceAnomaly:
        """Return the model that an answer makes, for further questions."""
        return DistanceAnomaly(self.beta, answer, self.metric)

    def cap(self, card: Card) -> int:
        """Return the global sensitivity of the count at any of the radii."""
        return counting.cap_of(self.model(0), self.subspace(card), card, self.relation)

    def drift(self) -> Fraction:
        """Return how far the wanted number of outliers moves with one record."""
        return self.share if self.relation == "add_remove" else Fraction(0)

    def noise(self, card: Card) -> Calibration:
        """Return the noise of each count of a search."""
        return counting.noise_for(
            self.model(0),
            self.subspace(card),
            card,
            epsilon=self.epsilon / self.steps,
            relation=self.relation,
            crowding=self.expected_cluster_size,
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
        expected = noise.expected_sensitivity(self.expected_cluster_size) + float(self.drift())
        return {
            "search": noise.error(each, expected),
            "exponential": math.log(len(self.radii) / 0.05) / float(self.eta(card)),
        }

    def chosen_method(self, card: Card) -> str:
        """Return the method that is used, from public facts alone."""
        errors = self.errors(card)
        return min(errors, key=errors.__getitem__) if self.method == "auto" else self.method

    def check(self, card: Card) -> None:
        counting.check_columns("Tune", self.subspace(card), card, self.metric)

    def price(self, card: Card) -> Guarantee:
        self.check(card)
        return DifferentialPrivacy(self.epsilon, unit=self.relation)

    def _told(self, card: Card, guesses: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
        method, size = self.chosen_method(card), self.expected_cluster_size
        error = self.errors(card)[method]
        guess = f", if about {size} records near the threshold share a ball"
        words = (
            f"The radius, one of {len(self.radii)} between {self.radii[0]:g} and "
            f"{self.radii[-1]:g}, at which about {float(self.share):.3g} of the records have at "
            f"most {self.beta} records within it ({self.metric} over "
            f"{', '.join(self.subspace(card))}), by {method}. The number of outliers at the answer "
            f"is off by at most {error:.3g} with probability 95 %, beside the steps of the "
            f"grid{guess if method == 'search' else ''}."
        )
        figures = {"method": method, "radii": len(self.radii), "error_95": error}
        return words, {**figures, "expected_cluster_size": size}

    def says(self, answer: Any) -> Said:
        share = f"about {float(self.share):.3g} of the records are outliers"
        return Said(f"Radius {answer:g}", f"With beta {self.beta} and {self.metric} {share}.")


def cost(question: Tune, card: Card, records: int) -> Limits:
    """A count for every radius, or a noisy count for every step of the bisection."""
    width, noise = len(question.subspace(card)), question.noise(card)
    if question.chosen_method(card) == "exponential":
        return in_turn([counting.pairs_cost(width, records)], times=len(question.radii))
    return in_turn(
        [counting.noisy_count_cost(width, records, noise, question.beta)], times=question.steps
    )
