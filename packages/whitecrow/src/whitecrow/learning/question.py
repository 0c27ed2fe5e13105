"""The question ``learn``: a public detector that scores records for ever."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from whitecrow.data import Card
from whitecrow.declaration import (
    Declared,
    Delta,
    Epsilon,
    Exact,
    Maybe,
    Names,
    Numbers,
    Relation,
    Whole,
)
from whitecrow.detector import Detector
from whitecrow.detector.grid import Grid, grid_of
from whitecrow.errors import InvalidInput, invalid
from whitecrow.histogram.noise_budget import Money, concentrated
from whitecrow.learning.recipe import MOST_TABLES, marginal_share, rounds
from whitecrow.learning.text import described
from whitecrow.privacy import DifferentialPrivacy, exact
from whitecrow.question import Question, Said

MOST_COLUMNS = 2048
_MOST_CATEGORIES = 1024


class Learn(Question):
    """Learn a detector once; it scores any number of records, for ever, at no further price.

    References
    ----------
    ``proof.md`` beside this file.

    Examples
    --------
    >>> Learn(epsilon="1", delta="1e-6").to_json()["delta"]
    '1/1000000'
    """

    kind = "learn"
    takes_missing = True
    needs_card = False
    reply_seconds = 2.5
    asks = "A detector that tells how strange a record is beside the data"
    example = "patients.parquet --card patients.toml --epsilon 1 --out clinic.detector"
    figures: ClassVar[Mapping[str, tuple[str, str]]] = {
        "expected_auc": ("ROC-AUC on public data of this size (0.5 is chance)", "number"),
        "expected_lead": ("lead over an Isolation Forest without privacy", "number"),
        "enough_records": ("worth its price from about so many records on", "number"),
    }

    columns: Maybe[tuple[str, ...], Sequence[str]] = Maybe(
        Names(
            help="What the detector looks at. All columns but texts and names of persons, "
            "unless given.",
            types=("number", "integer", "category", "date"),
        ),
        default=None,
        kw_only=False,
    )
    epsilon: Epsilon = Epsilon()
    delta: Delta = Delta(
        help="Above 0 allows Gaussian noise, which is far smaller here: 1e-6, say.",
        default="0",
    )
    relation: Relation = Relation(default="add_remove")
    false_alarms: Maybe[tuple[float, ...], Sequence[float]] = Maybe(
        Numbers(
            help="Rates of false alarms that get a threshold, bought with the detector; "
            "none if left out.",
            label="False alarms",
        ),
        default=None,
    )
    threshold_share: Exact = Exact(
        below=1,
        help="The part of the price that all thresholds share.",
        default="1/10",
        group="details",
    )
    seed: Whole = Whole(
        least=0,
        most=2**32 - 1,
        help="Of the tables' layout, which is public.",
        default=0,
        group="details",
    )

    class guesses(Declared):
        """A guess for the expected quality."""

        expected_records: Maybe[int, int] = Maybe(
            Whole(least=1, help="About how many records there are.", label="Records, about"),
            default=None,
        )

    def settle(self) -> None:
        """Refuse rates that are no rates."""
        for rate in self.false_alarms or ():
            if not 0 < rate < 0.5:
                raise invalid("Learn", "false_alarms", "rates above 0 and below 1/2", rate)
        if self.delta and concentrated(self.epsilon, self.delta) <= 0:
            hint = "Leave delta out: pure privacy serves you better here."
            raise invalid("Learn", "delta", "large enough to help", str(self.delta), hint)

    @cached_property
    def rates(self) -> tuple[Fraction, ...]:
        """The false-alarm rates, exactly as they print."""
        given = self.false_alarms or ()
        return tuple(exact(rate, owner="Learn", parameter="false_alarms") for rate in given)

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """The parts of the price for the model and for the thresholds."""
        part = self.threshold_share if self.rates else Fraction(0)
        return 1 - part, part

    def names(self, card: Card) -> tuple[str, ...]:
        """Return the columns that the detector looks at, in the card's order."""
        if self.columns is not None:
            for name in self.columns:
                card.column(name)
        return tuple(
            column.name
            for column in card.columns
            if (
                column.name in self.columns
                if self.columns is not None
                else column.type != "text" and column.name != card.user_column
            )
        )

    def grids(self, card: Card) -> tuple[Grid, ...]:
        """Return the public grids of these columns."""
        return tuple(grid_of(card.column(name)) for name in self.names(card))

    def money(self, card: Card) -> Money:
        """Return what the question pays with."""
        return Money.of(self.epsilon, self.delta, self.relation, card.contribution)

    def check(self, card: Card) -> None:
        """Raise :class:`~whitecrow.InvalidInput` if the card cannot serve this question."""
        names = self.names(card)
        if not names:
            raise InvalidInput("The card has no column that a detector can look at.")
        if len(names) > MOST_COLUMNS:
            raise InvalidInput(f"A detector looks at no more than {MOST_COLUMNS:,} columns.")
        for name in names:
            column = card.column(name)
            if column.type == "text":
                raise invalid("Learn", "columns", "columns of numbers, dates or categories", name)
            if name == card.user_column:
                raise invalid("Learn", "columns", "without the column that names persons", name)
            if len(column.categories or ()) > _MOST_CATEGORIES:
                raise InvalidInput(
                    f"The column {name!r} has more than {_MOST_CATEGORIES:,} categories; "
                    "a detector cannot tell so many apart."
                )

        money, share = self.money(card), self.shares[0]
        first = marginal_share(money.law, money.total)
        worst = ((share * first * min(rounds()), len(names)), (share * (1 - first), MOST_TABLES))
        if not all(money.affords(part, tables) for part, tables in worst):
            hint = "The noise would be beyond the numbers a computer holds."
            raise invalid("Learn", "epsilon", "a larger price", str(self.epsilon), hint)

    def price(self, card: Card) -> DifferentialPrivacy:
        """Return what the release will promise."""
        self.check(card)
        return DifferentialPrivacy(self.epsilon, self.delta, self.relation)

    def _told(self, card: Card, guesses: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
        return described(self, card, self.guesses.from_json(guesses).expected_records)

    def reads(self, answer: Any) -> Any:
        """Return the detector that a stored answer holds.

        What the ledger has of an attempt with other sites is its label: that is no detector.
        """
        if isinstance(answer, Detector) or "label" in answer:
            return answer
        return Detector.from_json(answer)

    def entered(self, answer: Any, entry: str) -> Any:
        """Return the answer with the ledger's digest in it: of the question, card and revision."""
        found = self.reads(answer)
        return answer if found.entry == entry else replace(found, entry=entry).to_json()

    def keep(self, answer: Any, path: str) -> None:
        """Write the detector's file."""
        self.reads(answer).save(path)

    def draw(self, answer: Any, path: str) -> None:
        """Draw the released distributions."""
        self.reads(answer).plot(path)

    def says(self, answer: Any) -> Said:
        """Say what was learned."""
        detector = self.reads(answer)
        if not isinstance(detector, Detector):
            return Said("An attempt to learn with other sites, which is paid")
        return Said(
            f"A detector learned from about {detector.records:,} records",
            detector.report(),
        )
