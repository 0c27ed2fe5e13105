"""A question whose computation does what no computation should."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from whitecrow.data import Card
from whitecrow.privacy import DifferentialPrivacy, Guarantee
from whitecrow.question import Description


@dataclass(frozen=True)
class Roughly:
    """Takes memory or time without end, or its process with it."""

    kind: ClassVar[str] = "roughly"
    manner: str
    number: int = 0

    def to_json(self) -> dict[str, Any]:
        return {"manner": self.manner, "number": self.number}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(data["manner"], data["number"])

    def check(self, card: Card) -> None:
        pass

    def price(self, card: Card) -> Guarantee:
        return DifferentialPrivacy("1/1000")

    def describe(self, card: Card, **public: object) -> Description:
        return Description("Nothing.", self.price(card))


def gather(question: Roughly, dataset: Any, engine: Any, progress: Any) -> int:
    """Misbehave as asked."""
    if question.manner == "memory":
        return len(np.zeros(1 << 34, np.uint8))
    if question.manner == "busy":
        while True:
            pass
    if question.manner == "wait":
        time.sleep(600)
    if question.manner == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def release(question: Roughly, facts: int, source: Any = None) -> int:
    """Say in which process it was: no fact."""
    return facts
