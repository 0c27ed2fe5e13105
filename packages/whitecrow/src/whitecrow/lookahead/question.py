"""The question ``lookahead``: a sanitised histogram for the radius-0 model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from whitecrow.anomaly import AnomalyModel, CountingModel, DistanceAnomaly
from whitecrow.card import Card, Column
from whitecrow.data.dataset import Cut, Key, Plain
from whitecrow.declaration import Declared, Epsilon, Maybe, Names, Whole
from whitecrow.errors import InvalidInput, invalid
from whitecrow.limits import Limits, sorting, worst_case
from whitecrow.neighbours.relation import SCALED
from whitecrow.noise.laws import discrete_laplace_quantile
from whitecrow.place.question import DistanceChoice, chance, several_records
from whitecrow.privacy import (
    DifferentialPrivacy,
    Guarantee,
    SensitivePrivacy,
    ZoneColumn,
    unrounded,
)
from whitecrow.question import Question, Said

MOST_CELLS = 1_000_000  # the largest domain of which every cell, the empty ones too, is perturbed

MOST_BINS = 1000

_AT_A_RADIUS = (
    "For a radius above 0 no look-ahead is sensitively private (Theorem 1 of the paper); ask "
    "Identify or Screen instead."
)


@dataclass(frozen=True)
class Axis:
    """One column of the histogram."""

    key: Key  # what records are grouped by
    values: Sequence[int | str]  # in their order: categories, whole numbers, intervals in words
    first: int  # the key of the first value
    label: ZoneColumn  # what "the same value" means in the promise: the column, or with its cuts


def axis_of(column: Column, bins: int | None) -> Axis:
    """Divide a column, from the card and the question alone."""
    name, lower, upper = column.name, column.lower, column.upper
    if column.type == "category" and column.categories is not None:
        return Axis(Plain(name), column.categories, 0, name)
    if column.type == "integer" and lower is not None and upper is not None:
        whole = range(math.ceil(lower), math.floor(upper) + 1)
        return Axis(Plain(name), whole, whole.start, name)
    if column.type == "number" and bins is not None and lower is not None and upper is not None:
        step = (upper - lower) / bins
        edges = tuple(lower + step * number for number in range(1, bins))
        return Axis(
            Cut(name, edges), _intervals(column, edges), 0, (name, f"in {bins} equal parts")
        )
    if column.type == "number" and bins is None and column.edges:
        label = name, "cut at " + ", ".join(unrounded(edge) for edge in column.edges)
        return Axis(Cut(name, column.edges), _intervals(column, column.edges), 0, label)
    raise InvalidInput(
        f"The column {name!r} has no finite list of values on the card. Lookahead needs "
        'categories, type = "integer" with bounds, or a number with edges on the card, or with '
        "bounds and 'bins' in the question."
    )


def _intervals(column: Column, edges: Sequence[float]) -> tuple[str, ...]:
    """Say which interval each place among the edges is; the lower end belongs to it."""
    first = "below {}" if column.lower is None else f"{column.lower:.12g} to {{}}"
    last = "{} or more" if column.upper is None else f"{{}} to {column.upper:.12g}"
    ends = [f"{edge:.12g}" for edge in edges]
    if len(set(ends)) < len(ends):
        raise InvalidInput(f"The bins of {column.name!r} are too narrow to be told apart.")
    middle = (f"{low} to {high}" for low, high in pairwise(ends))
    return (first.format(ends[0]), *middle, last.format(ends[-1]))


def of_copies(model: AnomalyModel) -> DistanceAnomaly:
    """Return the distance model that says the same as a model for which only copies count."""
    if isinstance(model, DistanceAnomaly):
        return model
    if isinstance(model, CountingModel) and model.alone:
        copies = model.threshold // model.own
        return DistanceAnomaly(copies, 0.0, getattr(model, "metric", "euclidean"))
    raise InvalidInput(
        "Lookahead lists how many records share each combination of values, and what the model "
        f"{model.kind!r} says depends on more than that. {_AT_A_RADIUS}"
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
            )
        )

    def settle(self) -> None:
        """Refuse a radius above 0."""
        if self.model.radius != 0:
            raise invalid("Lookahead", "model", "have radius 0", self.model.radius, _AT_A_RADIUS)
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
        return tuple(axis_of(card.column(name), self.bins) for name in self.columns)

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
        typical = self.guesses.from_json(guesses).typical_count
        cells, beta, threshold = self.cells(card), self.model.beta, self.threshold
        rate = max(1e-300, float(self.epsilon / card.contribution))
        a = math.exp(-rate)
        off = math.sqrt(2 * a) / -math.expm1(-rate)
        within = discrete_laplace_quantile(0.95, 1 / rate)
        figures: dict[str, Any] = {
            "cells": cells,
            "perturbed_from": threshold,
            "noise_standard_deviation": off,
            "noise_within_95": within,
        }
        words = (
            f"How many records have each of the {cells:,} combinations of {', '.join(self.columns)}"
        )
        if threshold > 0:
            words += (
                f". Counts of at least {threshold} get noise (standard deviation {off:.3g}, within "
                f"{within} in 95 of 100 cells). COUNTS BELOW {threshold} ARE RELEASED AS THEY ARE: "
                "records with so few like them are not covered by the promise."
            )
        else:
            # An empty cell is released with 1 to beta records when its noise lies there.
            listed = figures["expected_false_anomalies"] = cells * a * (1 - a**beta) / (1 + a)
            words += (
                f", every count with noise (standard deviation {off:.3g}, within {within} in 95 of "
                f"100 cells). If all cells were empty, about {listed:,.3g} of them would still be "
                "listed as anomalies."
            )
        if typical is not None:
            figures["typical_count"] = typical
            wrong = figures["expected_error"] = _label_error(typical, beta, threshold, a)
            words += (
                f" A cell of {typical} records (your public guess) is listed on the wrong side of "
                f"{beta} with probability {chance(wrong)}."
            )
        return words, figures

    def says(self, answer: Any) -> Said:
        """List the combinations that were released with a count above 0, the rarest first."""
        names, cells = answer["columns"], sorted(answer["cells"], key=lambda cell: cell[-1])
        rare = sum(cell[-1] <= self.model.beta for cell in cells)
        rows = [
            [*map(str, values), f"{count:,}", "yes" if count <= self.model.beta else "no"]
            for *values, count in cells
        ]
        headline = f"{len(cells):,} combinations of {', '.join(names)}, {rare:,} of them rare"
        detail = f"Those with a released count above 0; rare is 1 to {self.model.beta} records."
        if not self.covers_everyone:
            detail += f" Counts below {self.threshold} are exact, others have noise."
        return Said(headline, detail, [[*names, "Records, about", "Rare"], *rows])


def _label_error(count: int, beta: int, threshold: int, a: float) -> float:
    """Return the chance that a cell of this count is listed with the wrong label."""
    if count < threshold:
        return 0.0

    def at_most(value: int) -> float:
        """P(count + noise <= value) for the two-sided geometric law."""
        steps = value - count
        tail = a ** (abs(steps) + (steps >= 0)) / (1 + a)
        return 1 - tail if steps >= 0 else tail

    anomalous = at_most(beta) - at_most(0)
    return 1 - anomalous if 1 <= count <= beta else anomalous


def cost(question: Lookahead, card: Card, records: int) -> Limits:
    """Records are sorted into cells; every cell that may be released is drawn."""
    cells = min(question.cells(card), records) if question.threshold else question.cells(card)
    width = len(question.columns)
    return worst_case(
        sorting(records, width), draws=cells, values=records * width, kept=records + cells
    )
