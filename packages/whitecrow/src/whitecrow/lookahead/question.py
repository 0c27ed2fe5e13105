"""The question ``lookahead``: a sanitised histogram for the radius-0 model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from whitecrow.anomaly import AnomalyModel, CountingModel, DistanceAnomaly
from whitecrow.data import Card
from whitecrow.declaration import Declared, Epsilon, Maybe, Names, Whole
from whitecrow.errors import InvalidInput, invalid
from whitecrow.limits import Limits, sorting, worst_case
from whitecrow.lookahead.axes import Axis, axis_of
from whitecrow.lookahead.text import lookahead_words
from whitecrow.neighbours.relation import SCALED
from whitecrow.place.question import DistanceChoice, several_records
from whitecrow.privacy import DifferentialPrivacy, Guarantee, SensitivePrivacy
from whitecrow.question import Question, Said

MOST_CELLS = 1_000_000
"""The largest domain of which every cell, the empty ones too, is perturbed."""


MOST_BINS = 1000


def of_copies(model: AnomalyModel) -> DistanceAnomaly:
    """Return the distance model that says the same as a model for which only copies count."""
    if isinstance(model, DistanceAnomaly):
        return model
    if isinstance(model, CountingModel) and model.alone:
        copies = model.threshold // model.own
        return DistanceAnomaly(copies, 0.0, getattr(model, "metric", "euclidean"))
    raise InvalidInput(
        f"Lookahead lists how many records share each combination of values, and what the model "
        f"{model.kind!r} says depends on more than that. For a radius above 0 no look-ahead is "
        "sensitively private (Theorem 1 of the paper); ask Identify or Screen instead."
    )


class Lookahead(Question):
    """Release how many records have each combination of values, near-normal cells perturbed.

    Any question about anomalies at radius 0 can be answered from the released histogram at no
    further price. Every cell that holds at least ``beta - k`` records gets discrete Laplace noise.
    **Cells with fewer records are released as they are**: sensitive privacy promises nothing to
    records that far from normal. So a custodian can list rare combinations of any number of
    columns, numbers among them by their bins. With ``k >= beta`` every cell of the domain is
    perturbed, the empty ones too, and the promise is differential privacy.

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

    kind = "lookahead"
    asks = "How many records have each combination of values?"
    figures: ClassVar[Mapping[str, tuple[str, str]]] = {
        "noise_standard_deviation": ("standard deviation of a count", "number"),
        "noise_within_95": ("counts off by at most, 95 % of the time", "number"),
        "expected_false_anomalies": ("empty combinations listed as rare, about", "number"),
        "expected_error": ("wrong side of beta with probability, for your guess", "chance"),
    }
    example = "stays.csv --card stays.toml --columns ward,insurance --beta 20 --k 20 --epsilon 1"
    reply_seconds = 0.5

    columns: Names = Names(
        types=("category", "integer", "number"),
        help="Categories, integers with bounds on the card, or numbers in bins: ward,insurance",
        label="Columns to combine",
        kw_only=False,
    )
    model: DistanceChoice = DistanceChoice(
        of_copies,
        fixed={"radius": 0.0, "metric": "euclidean"},
        help="With radius 0: a value is rare if 1 to beta records have it.",
    )
    k: Whole = Whole(
        help="Also covers records that are this many records short of normal.",
        label="Margin k",
        group="price",
    )
    epsilon: Epsilon = Epsilon()
    bins: Maybe[int, int] = Maybe(
        Whole(
            least=2,
            most=MOST_BINS,
            help="Cut numbers into so many equal parts between the card's bounds; at the card's "
            "edges if left out.",
            label="Bins of a number",
        ),
        default=None,
    )

    class guesses(Declared):
        """A guess for the expected error."""

        typical_count: Maybe[int, int] = Maybe(
            Whole(
                least=0,
                help="How many records a cell of interest holds.",
                label="Records in a typical cell",
            ),
            default=None,
        )

    def settle(self) -> None:
        """Refuse a radius above 0."""
        if self.model.radius != 0:
            hint = (
                "For a radius above 0 no look-ahead is sensitively private (Theorem 1 of the "
                "paper); ask Identify or Screen instead."
            )
            raise invalid("Lookahead", "model", "have radius 0", self.model.radius, hint)
        if self.model.metric == "haversine" or self.model.metric in SCALED:
            hint = (
                "Cells hold equal values; on the globe two longitudes can be one place, and two "
                "numbers can have one quotient."
            )
            must = "have another metric than haversine and those with scales"
            raise invalid("Lookahead", "model", must, self.model.metric, hint)

    @property
    def threshold(self) -> int:
        """Cells with at least this many records are perturbed: ``beta - k``, at least 0."""
        return max(0, self.model.beta - self.k)

    @property
    def covers_everyone(self) -> bool:
        """Whether the promise is differential privacy (``k >= beta``)."""
        return self.threshold == 0

    def axes(self, card: Card) -> tuple[Axis, ...]:
        """Return the values each column may take, from the card alone."""
        return tuple(axis_of(name, card, self.bins) for name in self.columns)

    def cells(self, card: Card) -> int:
        """Return how many cells the domain has."""
        return math.prod(len(axis.values) for axis in self.axes(card))

    def check(self, card: Card) -> None:
        cells = self.cells(card)
        if card.contribution > 1 and not self.covers_everyone:
            raise several_records(card, "Lookahead", "k of at least beta")
        if self.covers_everyone and cells > MOST_CELLS:
            raise InvalidInput(
                f"With k {self.k} of at least beta {self.model.beta} every cell of the domain is "
                f"perturbed, and there are {cells:,} of them; the most is {MOST_CELLS:,}. "
                "Take fewer columns, coarser categories, or a k below beta."
            )

    def price(self, card: Card) -> Guarantee:
        self.check(card)
        if self.covers_everyone:
            return DifferentialPrivacy(self.epsilon)
        return SensitivePrivacy.of(
            self.epsilon,
            beta=self.model.beta,
            k=self.k,
            radius=0.0,
            metric=self.model.metric,
            columns=tuple(axis.label for axis in self.axes(card)),
            card=card.fingerprint(),
        )

    def _told(self, card: Card, guesses: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
        guess = self.guesses.from_json(guesses).typical_count
        return lookahead_words(self, self.cells(card), card.contribution, guess)

    def says(self, answer: Any) -> Said:
        """List the combinations that were released with a count above 0, the rarest first."""
        names, cells = answer["columns"], sorted(answer["cells"], key=lambda cell: cell[-1])
        rare = sum(cell[-1] <= self.model.beta for cell in cells)
        rows = [
            [*map(str, cell[:-1]), f"{cell[-1]:,}", "yes" if place < rare else "no"]
            for place, cell in enumerate(cells)
        ]
        headline = f"{len(cells):,} combinations of {', '.join(names)}, {rare:,} of them rare"
        detail = f"Those with a released count above 0; rare is 1 to {self.model.beta} records."
        if not self.covers_everyone:
            detail += f" Counts below {self.threshold} are exact, others have noise."
        return Said(headline, detail, [[*names, "Records, about", "Rare"], *rows])


def cost(question: Lookahead, card: Card, records: int) -> Limits:
    """Records are sorted into cells; every cell that may be released is drawn."""
    cells = min(question.cells(card), records) if question.threshold else question.cells(card)
    width = len(question.columns)
    return worst_case(
        sorting(records, width), draws=cells, values=records * width, kept=records + cells
    )
