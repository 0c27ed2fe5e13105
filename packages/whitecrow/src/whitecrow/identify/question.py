"""The question ``identify``: is this member of the data an anomaly?"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar

from whitecrow.anomaly import law
from whitecrow.anomaly.law import error_cap, flip_probability
from whitecrow.data import Card
from whitecrow.declaration import Choice, Declared, Maybe, Whole
from whitecrow.place.question import TIME, AtPlace, chance, several_records
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
    def effective_k(self) -> int:
        """The k the mechanism uses: beta, which covers everyone, under differential privacy."""
        return min(self.k, self.model.beta) if self.notion == "sensitive" else self.model.beta

    @property
    def tau(self) -> int:
        """A record with this many records within the radius, itself included, is covered."""
        return self.model.beta + 1 - self.effective_k

    @property
    def covers_everyone(self) -> bool:
        """Whether the promise is differential privacy: asked for, or because ``k >= beta``."""
        return self.tau <= 1

    def check(self, card: Card) -> None:
        """Raise :class:`~whitecrow.InvalidInput` if the card cannot serve this question."""
        self.neighbour_relation(card)
        self.place(card)
        if card.contribution > 1 and not self.covers_everyone:
            raise several_records(card, "Identify", 'notion="differential"')

    def price(self, card: Card) -> Guarantee:
        """Return what the release will promise."""
        self.check(card)
        if self.covers_everyone:
            return DifferentialPrivacy(self.epsilon)
        return SensitivePrivacy.of(
            self.epsilon,
            beta=self.model.beta,
            k=self.k,
            radius=self.model.radius,
            metric=self.neighbour_relation(card).metric_name,
            columns=self.columns,
            card=card.fingerprint(),
        )

    def _told(self, card: Card, guesses: Mapping[str, object]) -> tuple[str, dict[str, Any]]:
        guess = self.guesses.from_json(guesses).typical_neighbours
        return identify_words(self, card.contribution, guess)

    def says(self, answer: Any) -> Said:
        """Say yes or no."""
        near = f"{self.model.beta} records within {self.model.radius:g}"
        if answer:
            detail = f"The mechanism says it is in the data and has at most {near}."
            return Said("Yes, an anomaly", detail)
        return Said("No", f"The mechanism says it is not in the data, or has more than {near}.")

    def bound(self, copies: int, neighbours: int, step: Fraction) -> int | None:
        """Return the λ that the mechanism uses for given counts; None for an exact answer."""
        found = law.discrepancy(
            copies,
            neighbours,
            beta=self.model.beta,
            k=self.effective_k,
            radius_is_zero=self.model.radius == 0,
            tight=True,
        )
        return law.capped(found, law.error_cap(step, self.error_floor))

    def wrong(self, copies: int, neighbours: int, contribution: int = 1) -> float:
        """Return the error probability for guessed counts: a public function of the guess."""
        step = self.epsilon / contribution
        return law.flip_probability(self.bound(copies, neighbours, step), step)


def identify_words(
    question: Identify, contribution: int, typical: int | None
) -> tuple[str, dict[str, Any]]:
    """Say what ``identify`` will release and how often it will be wrong."""
    model, step = question.model, question.epsilon / contribution
    figures: dict[str, Any] = {
        "worst_error": flip_probability(1, step),
        "error_if_alone": question.wrong(1, 1, contribution),
        "error_if_absent": question.wrong(0, 0, contribution),
        "error_floor": flip_probability(error_cap(step, question.error_floor), step),
    }
    words = (
        f"Is this record in the data with at most {model.beta} records, itself included, within "
        f"{model.radius:g} of it ({model.metric})? The answer is yes or no. It is wrong with "
        f"probability at most {chance(figures['worst_error'])}, the worst case at the boundary; "
        f"for a record alone within the radius {chance(figures['error_if_alone'])}, for a record "
        f"that is absent with nothing near it {chance(figures['error_if_absent'])}."
    )
    if typical is not None:
        figures["typical_neighbours"] = typical
        figures["expected_error"] = question.wrong(1, typical, contribution)
        words += (
            f" With {typical} records near it (your public guess) it is wrong with probability "
            f"{chance(figures['expected_error'])}."
        )
    if question.covers_everyone and question.notion == "sensitive":
        words += " Since k is at least beta, sensitive privacy covers everyone here."
    return f"{words} {TIME}", figures
