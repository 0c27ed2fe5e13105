"""The question ``screen``: would this new record be an anomaly among the data?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from whitecrow.anomaly.model import Judgement
from whitecrow.anomaly.weights import CountingModel
from whitecrow.data import Card
from whitecrow.declaration import Declared, Maybe, Whole
from whitecrow.place.question import AtPlace, foretold
from whitecrow.privacy import DifferentialPrivacy, Guarantee
from whitecrow.question import Question, Said


class Screen(AtPlace, Question):
    """Would this record, added to the data, have at most ``beta`` records within the radius?

    The record need not be in the data (novelty detection: "score this new transaction"), so the
    answer depends on the data through one count alone. It is differentially private for everyone
    and wrong with a probability that falls exponentially with the distance from the boundary:
    no relaxation of privacy is needed.

    References
    ----------
    Construction 1 of Asif et al. with the exact distance of ``proof.md``; the question is named in
    Section 3 of the paper and not worked out there.

    Examples
    --------
    >>> from whitecrow import DistanceAnomaly
    >>> model = DistanceAnomaly(beta=18, radius=0.148)
    >>> Screen({"age": 61, "bmi": 24.1}, model=model, epsilon="0.1").columns
    ('age', 'bmi')
    """

    kind = "screen"
    stops_early = True
    asks = "Would this new record be an anomaly among the data?"
    about = ("record",)
    example = (
        "transactions.parquet --card transactions.toml "
        '--record \'{"amount": 912.5, "hour": 3}\' --beta 30 --radius 0.5 --epsilon 0.1'
    )
    reply_seconds = 0.25
    light = True
    counts_copies = False
    coin = ("expected_error", "error_if_alone")
    figures: ClassVar[Mapping[str, tuple[str, str]]] = {
        "expected_error": ("wrong with probability, for your guess", "chance"),
        "error_if_alone": ("wrong with probability, for a record with nothing near", "chance"),
        "worst_error": ("wrong with probability, in the worst case at the boundary", "chance"),
    }

    class guesses(Declared):
        """A guess for the expected error."""

        typical_neighbours: Maybe[int, int] = Maybe(
            Whole(
                least=0,
                help="How many records the data have near such a record.",
                label="Neighbours of a typical anomaly",
            )
        )

    def check(self, card: Card) -> None:
        self.location(card)

    def price(self, card: Card) -> Guarantee:
        self.check(card)
        return DifferentialPrivacy(self.epsilon)

    def _told(self, card: Card, guesses: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
        guess = self.guesses.from_json(guesses).typical_neighbours
        cases = {"error_if_alone": (self.imagined(0), "with no record near it")}
        words, figures = foretold(self, card.contribution, cases, guess)
        anomaly = self.model.says("have", fully=True)
        return f"Would this record, added to the data, {anomaly}? {words}", figures

    def says(self, answer: Any) -> Said:
        words = self.model.says("would have", anomalous=answer)
        return Said(
            "Yes, it would be an anomaly" if answer else "No", f"Among the data it {words}."
        )

    def of_counts(self, copies: int, weight: int) -> Judgement:
        """Return what the record would be, at the exact distance; copies do not matter."""
        assert isinstance(self.model, CountingModel)
        return self.model.if_added(weight)

    def of_records(self, records: Sequence[Any], i: Any) -> Judgement:
        """Return what the record would be in a database, and the model's λ."""
        return self.model.foreseen(records, i)

    def wrong(self, neighbours: int, contribution: int = 1) -> float:
        """Return the error probability for a guessed count: a public function of the guess."""
        return self.chance_of_error(self.of_counts(0, neighbours), contribution)
