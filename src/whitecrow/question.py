"""What a question is, what is said before it is asked, and what comes back.

A question's way through the house goes in one direction only::

    question -> curator (policy, price) -> ledger: reserve -> engine: facts
             -> mechanism: release -> ledger: settle -> answer
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from whitecrow.data import Card
from whitecrow.privacy import Guarantee, reading

__all__ = ["JSON", "Description", "Progress", "Question", "Release", "digest", "statement"]

JSON = Any
"""A plain JSON value: None, bool, int, float, str, list or dict of the same."""

Progress = Callable[[int, int, str], None]
"""Called as ``progress(done, total, what)`` during long work; sees sizes of public things only."""


@runtime_checkable
class Question(Protocol):
    """The public side of a question: parameters, validation, price, expected error.

    A question is a frozen dataclass whose constructor validates everything that needs no card.
    Nothing here ever reads a record of the dataset.
    """

    kind: ClassVar[str]

    def to_json(self) -> dict[str, JSON]:
        """Return the canonical form; two spellings of one question give the same object."""

    @classmethod
    def from_json(cls, data: Mapping[str, JSON]) -> Self:
        """Build the question that :meth:`to_json` wrote."""

    def check(self, card: Card) -> None:
        """Raise :class:`~whitecrow.InvalidInput` if the card cannot serve this question."""

    def price(self, card: Card) -> Guarantee:
        """Return what the release will promise, hence cost; uses public facts only."""

    def describe(self, card: Card, **public: object) -> Description:
        """Say in words what will be released, at which price and with which expected error."""


@dataclass(frozen=True)
class Description:
    """What can be said of a question before it is asked, from public facts only.

    Parameters
    ----------
    words : str
        One paragraph for people.
    price : Guarantee
        What the release will promise.
    figures : mapping
        The numbers in the words, for programs (JSON values).
    """

    words: str
    price: Guarantee
    figures: Mapping[str, JSON] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.words

    def to_json(self) -> dict[str, JSON]:
        """Return a plain JSON object."""
        return {
            "words": self.words,
            "price": self.price.to_json(),
            "figures": dict(self.figures),
        }


@dataclass(frozen=True)
class Release:
    """The public result of a question: it contains no fact.

    Parameters
    ----------
    question : mapping
        The canonical JSON of what was asked.
    answer : JSON value
        What the mechanism released.
    guarantee : Guarantee
        What the release promises.
    statement : str
        The same in a sentence a data officer can sign.
    charged : bool
        False when a stored answer was returned again, free of charge.
    ledger : mapping
        What has been spent and what remains, per notion, after this release.
    """

    question: Mapping[str, JSON]
    answer: JSON
    guarantee: Guarantee
    statement: str
    charged: bool = True
    ledger: Mapping[str, JSON] = field(default_factory=dict)

    def to_json(self) -> dict[str, JSON]:
        """Return the JSON object of ``interface.md``."""
        return {
            "question": dict(self.question),
            "answer": self.answer,
            "guarantee": self.guarantee.to_json(),
            "statement": self.statement,
            "charged": self.charged,
            "ledger": dict(self.ledger),
        }


def statement(question: Question, price: Guarantee, card: Card) -> str:
    """Return what a data officer can sign: the promise, its unit, and whom the question leaves out.

    A question that names a person's record and speaks of it openly says so in its ``caveat``.
    """
    parts = [_sentence(price)]
    if card.unit == "user":
        parts.append(
            f'"Record" stands for all records of one person here (at most {card.contribution}).'
        )
    parts.append(getattr(question, "caveat", ""))
    return " ".join(part for part in parts if part)


@lru_cache(maxsize=256)
def _sentence(price: Guarantee) -> str:
    """The promise in words; many questions make the same one."""
    return price.statement()


def digest(question: Question, card: Card | None = None, revision: int = 0) -> str:
    """Return the identity of a question: SHA-256 of its kind and canonical JSON.

    With a card it is the identity of the question *as asked of these records*: after the card was
    changed, or the records, the same words ask something else, and a stored answer does not answer
    it.
    """
    said: dict[str, JSON] = {"kind": question.kind, "question": question.to_json()}
    if card is not None:
        said["card"] = reading(card.fingerprint(), revision)
    canonical = json.dumps(
        said,
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=True,
        allow_nan=False,
    )
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()
