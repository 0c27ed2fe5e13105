"""The question ``identify``: is this member of the data an anomaly?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from whitecrow.anomaly.model import Judgement
from whitecrow.anomaly.weights import CountingModel
from whitecrow.data import Card
from whitecrow.declaration import Choice, Declared, Maybe, Whole
from whitecrow.place.question import AtPlace, foretold, several_records
from whitecrow.privacy import DifferentialPrivacy, Guarantee, SensitivePrivacy
from whitecrow.question import Question, Said


class Identify(AtPlace, Question):
    """Is this record in the data, and an anomaly there?

    The answer is yes or no, wrong with a probability that falls exponentially with the distance
    from the boundary. Under ``notion="sensitive"`` the promise covers every record that is normal
    or would be after ``k`` insertions; isolated records are not covered, and in exchange the
    answers about them are accurate. Under ``notion="differential"`` everyone is covered, and the
    answer about an isolated record is little better than a coin.

    References
    ----------
    Asif et al., Construction 1 with the bound λ* of ``proof.md``; at radius 0 the exact distance.

    Examples
    --------
    >>> from whitecrow import DistanceAnomaly
    >>> model = DistanceAnomaly(beta=18, radius=0.148)
    >>> question = Identify({"age": 61, "bmi": 24.1}, model=model, k=2, epsilon="0.1")
    >>> question.columns, question.tau
    (('age', 'bmi'), 17)
    """

    kind = "identify"
    stops_early = True
    asks = "Is this member of the data an anomaly?"
    about = ("record",)
    example = (
        'patients.parquet --card patients.toml --record \'{"age": 61, "bmi": 24.1}\' --beta 18 '
        "--radius 0.148 --k 2 --epsilon 0.1"
    )
    reply_seconds = 0.25
    light = True
    coin = ("expected_error", "error_if_alone")
    figures: ClassVar[Mapping[str, tuple[str, str]]] = {
        "expected_error": ("wrong with probability, for your guess", "chance"),
        "error_if_alone": ("wrong with probability, for a record with nothing near", "chance"),
        "error_if_absent": ("wrong with probability, for an absent record far from all", "chance"),
        "worst_error": ("wrong with probability, in the worst case at the boundary", "chance"),
    }

    k: Whole = Whole(
        help="Also covers records that are this many neighbours short of normal.",
        more="With ``k >= beta`` everyone is covered.",
        label="Margin k",
        default=1,
        group="price",
    )
    notion: Choice[str] = Choice(
        {
            "sensitive": "Records with enough similar records; answers about others are accurate",
            "differential": "Everyone; answers about isolated records are near a coin toss",
        },
        help="Whom the promise covers: records with enough similar records, or everyone.",
        label="Who is covered",
        option="guarantee",
        default="sensitive",
        group="price",
    )

    class guesses(Declared):
        """A guess for the expected error."""

        typical_neighbours: Maybe[int, int] = Maybe(
            Whole(
                help="How many records such an anomaly has within the radius, itself included.",
                label="Neighbours of a typical anomaly",
            ),
            default=None,
        )

    @property
    def covers_everyone(self) -> bool:
        """Whether the promise is differential privacy: asked for, or because ``k >= beta``."""
        return self.notion == "differential" or self.model.everyone(self.k)

    @property
    def level(self) -> int | None:
        """The k of the promise; None where it covers everyone."""
        return None if self.covers_everyone else self.k

    @property
    def tau(self) -> int:
        """A record around which so much weighs, itself included, is covered."""
        if not isinstance(self.model, CountingModel) or self.covers_everyone:
            return 1
        return self.model.tau(self.k)

    def check(self, card: Card) -> None:
        self.location(card)
        if card.contribution > 1 and not self.covers_everyone:
            raise several_records(card, "Identify", 'notion="differential"')

    def price(self, card: Card) -> Guarantee:
        self.check(card)
        if self.covers_everyone:
            return DifferentialPrivacy(self.epsilon)
        zone = self.model.zone(self.columns, card, self.k)
        return SensitivePrivacy(self.epsilon, *zone, self.columns, card=card.fingerprint())

    def _told(self, card: Card, guesses: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
        guess = self.guesses.from_json(guesses).typical_neighbours
        counting = isinstance(self.model, CountingModel)
        near = "within the radius" if counting else "in the data"
        absent = f"for a record that is absent with nothing {'near it' if counting else near}"
        cases = {
            "error_if_alone": (self.imagined(1), f"for a record alone {near}"),
            "error_if_absent": (self.imagined(0), absent),
        }
        words, figures = foretold(self, card.contribution, cases, guess)
        words = f"Is this record in the data {self.model.says('with', fully=True)}? {words}"
        if counting and self.covers_everyone and self.notion == "sensitive":
            words += " Since k is at least beta, sensitive privacy covers everyone here."
        return words, figures

    def says(self, answer: Any) -> Said:
        if answer:
            detail = f"The mechanism says it is in the data and {self.model.says('has')}."
            return Said("Yes, an anomaly", detail)
        normal = self.model.says("has", anomalous=False)
        return Said("No", f"The mechanism says it is not in the data, or {normal}.")

    def of_counts(self, copies: int, weight: int) -> Judgement:
        """Return the answer about a record and λ*, or the exact distance at radius 0."""
        assert isinstance(self.model, CountingModel)
        return self.model.of_counts(copies, weight, self.level)

    def of_records(self, records: Sequence[Any], i: Any) -> Judgement:
        """Return the answer about a record of a database, and the model's λ."""
        return self.model.judged(records, i, self.level)

    def wrong(self, copies: int, neighbours: int, contribution: int = 1) -> float:
        """Return the error probability for guessed counts: a public function of the guess."""
        return self.chance_of_error(self.of_counts(copies, neighbours), contribution)
