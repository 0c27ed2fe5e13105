"""A question small enough to reason about: is the number of records even? By a biased coin."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import whitecrow as wc
from whitecrow.curator import register
from whitecrow.noise import bernoulli_logistic
from whitecrow.privacy import Facts, Guarantee, exact, text
from whitecrow.question import Description

ON_GATHER: list[Callable[[], None]] = []
"""What tests want to happen while private values are at hand."""


@dataclass(frozen=True)
class Toy:
    """``number`` makes questions differ; ``notion`` chooses the promise."""

    number: int
    epsilon: Any = "1/100"
    notion: str = "differential"
    delta: Any = 0
    place: float | None = None
    kind: ClassVar[str] = "toy"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact(self.epsilon, owner="Toy"))
        object.__setattr__(self, "delta", exact(self.delta, owner="Toy", positive=False))

    def to_json(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "epsilon": text(self.epsilon),
            "notion": self.notion,
            "delta": text(self.delta),
            "place": self.place,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(**data)

    def check(self, card: wc.Card) -> None:
        if self.number < 0:
            raise wc.InvalidInput("The toy's number is negative.")

    def price(self, card: wc.Card) -> Guarantee:
        if self.notion == "sensitive":
            return wc.SensitivePrivacy(self.epsilon, 5, 1.0)
        if self.notion == "conditional":
            return wc.ConditionalPrivacy(self.epsilon, f"toy {self.number} stays the same")
        if self.notion == "concentrated":
            return wc.ZeroConcentrated(self.epsilon)
        unit: Any = "replace_one" if self.notion == "replace_one" else "add_remove"
        return wc.DifferentialPrivacy(self.epsilon, self.delta, unit)

    def location(self, card: wc.Card) -> dict[str, Any] | None:
        if self.place is None:
            return None
        return {"columns": ["x"], "metric": "euclidean", "center": [self.place], "radius": 1.0}

    def describe(self, card: wc.Card, **public: object) -> Description:
        error = max(1e-3, 1 / (1 + math.exp(min(99.0, float(self.epsilon)))))
        return Description("A toy.", self.price(card), {"expected_error": error})


@dataclass(frozen=True, repr=False, eq=False)
class ToyFacts(Facts):
    even: bool


def gather(question: Toy, dataset: Any, engine: Any, progress: Any) -> ToyFacts:
    for step in range(dataset.size):
        if progress is not None:
            progress(step + 1, dataset.size, "counting")
    for act in ON_GATHER:
        act()
    return ToyFacts(dataset.size % 2 == 0)


def release(question: Toy, facts: ToyFacts, source: Any = None) -> bool:
    return facts.even != bernoulli_logistic(Fraction(question.epsilon), source)


register("toy", "toy_question", "Toy")
