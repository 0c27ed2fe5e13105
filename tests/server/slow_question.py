"""A question whose computation takes longer for an outlier, as a careless one would."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from whitecrow.data import Card
from whitecrow.declaration import Flag, Whole
from whitecrow.privacy import DifferentialPrivacy, Facts, Guarantee
from whitecrow.question import Description, Question, QuestionType

EXTRA_SECONDS = 0.1


class Slowly(Question):
    """Says nothing of the record, but takes its time over an outlier."""

    kind = "slowly"
    outlier: Flag = Flag(help="Whether it takes its time.", kw_only=False)
    number: Whole = Whole(least=0, help="Makes questions differ.", kw_only=False)

    def check(self, card: Card) -> None:
        pass

    def price(self, card: Card) -> Guarantee:
        return DifferentialPrivacy("1/1000")

    def describe(self, card: Card, **public: object) -> Description:
        return Description("Nothing.", self.price(card))


@dataclass(frozen=True, repr=False, eq=False)
class SlowFacts(Facts):
    outlier: bool


def gather(question: Slowly, dataset: Any, engine: Any, progress: Any) -> SlowFacts:
    """Take longer for an outlier."""
    if question.outlier:
        time.sleep(EXTRA_SECONDS)
    return SlowFacts(question.outlier)


def release(question: Slowly, facts: SlowFacts, source: Any = None) -> int:
    """Say nothing."""
    return 0


TYPE = QuestionType(Slowly, gather, release)
