"""A question whose computation takes longer for an outlier, as a careless one would."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from whitecrow.data import Card
from whitecrow.privacy import DifferentialPrivacy, Guarantee
from whitecrow.question import Description

EXTRA_SECONDS = 0.1


@dataclass(frozen=True)
class Slowly:
    """Says nothing of the record, but takes its time over an outlier."""

    kind: ClassVar[str] = "slowly"
    outlier: bool
    number: int

    def to_json(self) -> dict[str, Any]:
        return {"outlier": self.outlier, "number": self.number}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(data["outlier"], data["number"])

    def check(self, card: Card) -> None:
        pass

    def price(self, card: Card) -> Guarantee:
        return DifferentialPrivacy("1/1000")

    def describe(self, card: Card, **public: object) -> Description:
        return Description("Nothing.", self.price(card))


def gather(question: Slowly, dataset: Any, engine: Any, progress: Any) -> bool:
    """Take longer for an outlier."""
    if question.outlier:
        time.sleep(EXTRA_SECONDS)
    return question.outlier


def release(question: Slowly, facts: bool, source: Any = None) -> int:
    """Say nothing."""
    return 0
