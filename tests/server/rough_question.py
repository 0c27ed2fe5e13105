"""A question whose computation does what no computation should."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from whitecrow.data import Card
from whitecrow.declaration import Name, Whole
from whitecrow.privacy import DifferentialPrivacy, Facts, Guarantee
from whitecrow.question import Description, Question, QuestionType


class Roughly(Question):
    """Takes memory or time without end, or its process with it."""

    kind = "roughly"
    manner: Name = Name(help="How.", kw_only=False)
    number: Whole = Whole(least=0, default=0, help="Makes questions differ.")

    def check(self, card: Card) -> None:
        pass

    def price(self, card: Card) -> Guarantee:
        return DifferentialPrivacy("1/1000")

    def describe(self, card: Card, **public: object) -> Description:
        return Description("Nothing.", self.price(card))


@dataclass(frozen=True, repr=False, eq=False)
class RoughFacts(Facts):
    where: int


def gather(question: Roughly, dataset: Any, engine: Any, progress: Any) -> RoughFacts:
    """Misbehave as asked."""
    if question.manner == "memory":
        return RoughFacts(len(np.zeros(1 << 34, np.uint8)))
    if question.manner == "busy":
        while True:
            pass
    if question.manner == "wait":
        time.sleep(600)
    if question.manner == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return RoughFacts(os.getpid())


def release(question: Roughly, facts: RoughFacts, source: Any = None) -> int:
    """Say in which process it was: no fact."""
    return facts.where


TYPE = QuestionType(Roughly, gather, release)
