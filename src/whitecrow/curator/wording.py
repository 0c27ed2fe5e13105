"""A release: an answer with what is said of it, from public facts and the account."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from whitecrow.card import Card
from whitecrow.ledger import AccountSnapshot
from whitecrow.privacy import Guarantee
from whitecrow.question import (
    Question,
    Release,
    coin_warning,
    error_words,
    known_figures,
    statement,
)

__all__ = ["Wording", "Words", "release"]

_MOST_WORDS = 256
"""How many kinds of alike questions keep what is said of their answers."""


@dataclass(frozen=True)
class Words:
    """What is said of an answer: its promise, its expected error, and a warning."""

    statement: str
    error: str
    warning: str


class Wording:
    """What is said of answers, worked out once for questions that are alike."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], Words] = {}

    def said(self, question: Question, price: Guarantee, card: Card, revision: int) -> Words:
        """Say it of a question about one revision of the data."""
        key = question.alike, revision
        found = self._known.get(key)
        if found is None:
            figures = known_figures(question, card)
            warning = coin_warning(question, figures)
            promise = statement(question, price, card)
            found = Words(promise, error_words(question, figures), warning)
            if len(self._known) >= _MOST_WORDS:
                self._known.clear()
            self._known[key] = found
        return found


def release(
    question: Question,
    price: Guarantee,
    analyst: str,
    answer: Any,
    snapshot: AccountSnapshot,
    words: Words,
    *,
    charged: bool,
) -> Release:
    """Make the release of a stored answer, as an analyst sees it."""
    return Release(
        question={"kind": question.kind, **json.loads(question.canonical)["question"]},
        answer=question.reads(answer),
        guarantee=price,
        statement=words.statement,
        charged=charged,
        ledger={
            "spent": snapshot.spent.shown(snapshot.budget),
            "remaining": snapshot.remaining(analyst).to_json(),
        },
        error=words.error,
        warning=words.warning,
        said=question.says(answer),
    )
