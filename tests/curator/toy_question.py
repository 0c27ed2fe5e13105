"""A question small enough to reason about: is the number of records even? By a biased coin."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import whitecrow as wc
from whitecrow.declaration import Choice, Epsilon, Exact, Maybe, Number, Whole
from whitecrow.noise import bernoulli_logistic
from whitecrow.privacy import Facts, Guarantee
from whitecrow.question import Description, Question, QuestionType
from whitecrow.questions import kinds, register

NOTIONS = ("differential", "sensitive", "conditional", "concentrated", "replace_one")

ON_GATHER: list[Callable[[], None]] = []
"""What tests want to happen while private values are at hand."""


class Toy(Question):
    """``number`` makes questions differ; ``notion`` chooses the promise."""

    kind = "toy"
    asks = "Is the number of records even?"

    number: Whole = Whole(least=-(10**9), help="Makes questions differ.", kw_only=False)
    epsilon: Epsilon = Epsilon(default="1/100", kw_only=False)
    notion: Choice[str] = Choice(NOTIONS, help="The promise.", default=NOTIONS[0], kw_only=False)
    delta: Exact = Exact(positive=False, help="A delta.", default=0, kw_only=False)
    place: Maybe[float, float] = Maybe(Number(help="Where."), default=None, kw_only=False)

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


TYPE = QuestionType(Toy, gather, release)
if Toy.kind not in kinds():  # the test runner may load this file once more, under another name
    register(TYPE)
