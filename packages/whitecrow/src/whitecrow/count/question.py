"""The question ``count``: how many outliers are there?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from whitecrow.anomaly import DistanceAnomaly
from whitecrow.counting import parameters as counting
from whitecrow.counting.calibration import CLUSTER_SIZE, MECHANISMS, Calibration
from whitecrow.data import Card
from whitecrow.declaration import Choice, Declared, Delta, Epsilon, Flag, Maybe, Relation, Whole
from whitecrow.errors import invalid
from whitecrow.limits import Limits
from whitecrow.neighbours import NeighbourRelation
from whitecrow.place.question import DistanceChoice
from whitecrow.privacy import DifferentialPrivacy, Guarantee
from whitecrow.question import Question, Said

_GAUSSIANS = ("analytic_gaussian", "paper_gaussian")


class Count(Question):
    """How many records are outliers in a subspace?

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

    kind = "count"
    asks = "How many outliers are there?"
    example = (
        "patients.parquet --card patients.toml --columns age,bmi --beta 3 --radius 2.5 "
        "--epsilon 1/2"
    )
    reply_seconds = 0.5
    figures: ClassVar[Mapping[str, tuple[str, str]]] = {
        "median_error": ("off by (median)", "number"),
        "error_95": ("off by at most, 95 % of the time", "number"),
        "worst_median_error": ("off by (median), whatever the data", "number"),
    }

    columns: Maybe[tuple[str, ...], Sequence[str]] = Maybe(
        counting.Subspace(help="The subspace: columns of numbers; unless given, all of them."),
        default=None,
        kw_only=False,
    )
    model: DistanceChoice = DistanceChoice(
        counting.counted_model,
        help="What an outlier is: few records near it.",
        more='The paper\'s "fewer than k neighbours" is ``beta = k``.',
    )
    epsilon: Epsilon = Epsilon()
    delta: Delta = Delta(
        help="For the Gaussian mechanisms; the others leave it unspent.",
        default="0",
        group="details",
    )
    relation: Relation = Relation(default="add_remove")
    mechanism: Choice[str] = Choice(
        ("auto", *MECHANISMS),
        help="Which noise; auto takes the least expected error, the Gaussian ones need a delta.",
        more="See :mod:`whitecrow.counting.calibration`.",
        label="Noise",
        default="auto",
        group="details",
    )
    normalised: Flag = Flag(
        help="Average distances over the columns, as the paper does (root mean square).",
        default=False,
        group="details",
    )
    expected_cluster_size: Whole = counting.ClusterSize(default=CLUSTER_SIZE)
    raw: Flag = Flag(
        help="Return the noisy count as it is, also below 0.", default=False, group="details"
    )

    class guesses(Declared):
        """A guess for the expected error; the tuning stays the question's."""

        expected_cluster_size: Maybe[int, int] = Maybe(
            counting.ClusterSize(default=CLUSTER_SIZE), former="crowding"
        )

    def settle(self) -> None:
        """Refuse what cannot be counted privately, and a Gaussian without a delta."""
        counting.check_model(self.model)
        if self.mechanism in _GAUSSIANS and self.delta == 0:
            hint = "Gaussian noise is never purely private; the default mechanism is."
            raise invalid("Count", "delta", f"above 0 for {self.mechanism}", 0, hint)

    def subspace(self, card: Card) -> tuple[str, ...]:
        """Return the columns that are compared."""
        return self.columns or counting.whole_space("Count", card, self.model.metric)

    def neighbour_relation(self, card: Card) -> NeighbourRelation:
        """Return the relation "within the radius" on this card."""
        return self._model(card).neighbour_relation(self.subspace(card), card)

    def calibration(self, card: Card) -> Calibration:
        """Return the noise: mechanism, scale and tuning, from public facts alone."""
        return counting.noise_for(
            self._model(card),
            self.subspace(card),
            card,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            mechanism=self.mechanism,
            crowding=self.expected_cluster_size,
        )

    def _model(self, card: Card) -> DistanceAnomaly:
        size = len(self.subspace(card))
        return counting.normalised_model(self.model, size) if self.normalised else self.model

    def check(self, card: Card) -> None:
        counting.check_columns("Count", self.subspace(card), card, self.model.metric)
        self.calibration(card)

    def price(self, card: Card) -> Guarantee:
        self.check(card)
        return DifferentialPrivacy(self.epsilon, self.calibration(card).delta, self.relation)

    def _told(self, card: Card, guesses: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
        guess = self.guesses.from_json(guesses).expected_cluster_size
        cluster_size = self.expected_cluster_size if guess is None else guess
        columns, calibration = self.subspace(card), self.calibration(card)
        expected = calibration.expected_sensitivity(cluster_size)
        worst = float(calibration.cap)
        figures = {
            "mechanism": calibration.mechanism,
            "columns": list(columns),
            "expected_cluster_size": cluster_size,
            "median_error": calibration.error(0.5, expected),
            "error_95": calibration.error(0.95, expected),
            "worst_median_error": calibration.error(0.5, worst),
            "worst_error_95": calibration.error(0.95, worst),
            "global_sensitivity": calibration.cap,
        }
        error = f"{figures['median_error']:.3g} (median) and {figures['error_95']:.3g} (95 %)"
        if calibration.decay is None:
            off = f"Error, whatever the data: {error}."
        else:
            off = (
                f"Expected error: {error}, if about {cluster_size} records near the threshold "
                "share a ball (a public guess); whatever the data, "
                f"{figures['worst_median_error']:.3g} and {figures['worst_error_95']:.3g}. The "
                "error itself is not released, for it depends on the data."
            )
        mean = ", distances averaged over the columns" if self.normalised else ""
        words = (
            f"The number of records that have at most {self.model.beta} records, themselves "
            f"included, within {self.model.radius:g} of them ({self.model.metric} over "
            f"{', '.join(columns)}{mean}), by {calibration.mechanism}"
            f"{' (chosen from public facts)' if self.mechanism == 'auto' else ''}: "
            f"{_NOISES[calibration.mechanism]}. {off}"
        )
        return words, figures

    def says(self, answer: Any) -> Said:
        where = ", ".join(self.columns or ()) or "all columns of numbers"
        return Said(f"About {answer:,} outliers", f"Counted over {where}, with noise.")


def cost(question: Count, card: Card, records: int) -> Limits:
    """One noisy count."""
    width = len(question.subspace(card))
    return counting.noisy_count_cost(
        width, records, question.calibration(card), question.model.beta
    )


_NOISES = {
    "smooth": "noise of Laplace core and power tail, scaled by the smooth sensitivity",
    "global": "discrete Laplace noise, scaled by the global sensitivity",
    "analytic_gaussian": "discrete Gaussian noise, scaled by the global sensitivity",
    "paper_gaussian": "the paper's Gaussian noise, scaled by the smooth sensitivity",
}
