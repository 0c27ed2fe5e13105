"""What a person is shown, and says yes to, before anything is spent."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from whitecrow.errors import InvalidInput
from whitecrow.privacy import Guarantee, ZeroConcentrated, guarantee

_CODE_LENGTH, _DAY_SECONDS = 12, 86_400

AMOUNTS = ("epsilon", "delta", "rho")
"""What a session's spending can be capped in, each by itself."""


def amounts(price: Guarantee) -> dict[str, Fraction]:
    """What a price takes of each cap."""
    if isinstance(price, ZeroConcentrated):
        return {"rho": price.rho}
    return {"epsilon": price.epsilon, **({"delta": price.delta} if price.delta else {})}


@dataclass(frozen=True)
class Spend:
    """A question and its price: what a person says yes to."""

    dataset: str  # which dataset is asked
    # question, price: As JSON. Both are part of :attr:`digest`, to which a yes is bound.
    question: Mapping[str, Any]
    price: Mapping[str, Any]
    words: str  # the question in words

    @property
    def digest(self) -> str:
        """A hash over dataset, question and price."""
        bound = json.dumps([self.dataset, self.question, self.price], sort_keys=True)
        return hashlib.sha256(bound.encode()).hexdigest()

    @property
    def code(self) -> str:
        """What a person types: it names the question, and approves only what is shown for it."""
        return self.digest[:_CODE_LENGTH]

    def __str__(self) -> str:
        price = guarantee(self.price)
        costs = ", ".join(f"{name} {amount}" for name, amount in amounts(price).items())
        lines = (
            f"Ask the dataset {self.dataset!r} this, and spend {price.notion} {costs} for good?",
            f"Question: {json.dumps(self.question, ensure_ascii=False)}",
            f"In words: {' '.join(self.words.split())}",
            f"Promise: {price.statement()}",
            f"Price, exactly: {price.notion} {costs}",
        )
        # What the assistant wrote could move the cursor of a terminal and paint over the price.
        return "\n".join("".join(c if c.isprintable() else "?" for c in line) for line in lines)


class Approvals:
    """What a person was asked, and has approved, at a terminal of their own: each is used once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def request(self, spend: Spend) -> None:
        """Keep what a code stands for until a person looks at it."""
        for old in self._folder.glob("*.request"):
            if time.time() - old.stat().st_mtime > _DAY_SECONDS:
                old.unlink(missing_ok=True)
        self._write(f"{spend.code}.request", json.dumps(asdict(spend)))

    def requested(self, code: str) -> Spend:
        if not code.isalnum() or len(code) != _CODE_LENGTH:
            raise InvalidInput(
                f"A code has {_CODE_LENGTH} letters and digits, as the assistant showed it."
            )
        try:
            request = (self._folder / f"{code}.request").read_text(encoding="utf-8")
            return Spend(**json.loads(request))
        except (OSError, ValueError, TypeError):
            raise InvalidInput(
                f"No question waits for the code {code}: the assistant must ask it first, as the "
                "same user of this machine."
            ) from None

    def approve(self, spend: Spend) -> None:
        """Say yes to this question at this price."""
        self._write(f"{spend.code}.yes", spend.digest)

    def taken(self, spend: Spend) -> bool:
        """Whether it was approved; that is used up by this."""
        approval = self._folder / f"{spend.code}.yes"
        try:
            digest = approval.read_text(encoding="utf-8")
            approval.unlink()
        except FileNotFoundError:
            return False
        (self._folder / f"{spend.code}.request").unlink(missing_ok=True)
        # The whole of it: two questions whose short codes are the same can be searched for.
        return digest == spend.digest

    def _write(self, name: str, text: str) -> None:
        flags = os.O_CREAT | os.O_WRONLY | os.O_TRUNC
        with os.fdopen(os.open(self._folder / name, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
