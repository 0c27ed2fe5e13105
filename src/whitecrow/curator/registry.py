"""Which question is answered by which code; looked up by name and loaded when first asked."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from whitecrow.errors import InvalidInput
from whitecrow.question import Question

__all__ = ["KINDS", "Answering", "answering", "code_for", "read_question", "register"]


@dataclass(frozen=True)
class Kind:
    """Where a kind of question lives: a module with the class, ``gather`` and ``release``."""

    module: str
    question: str


KINDS = {
    "identify": Kind("whitecrow.identify", "Identify"),
    "screen": Kind("whitecrow.identify.screen", "Screen"),
    "lookahead": Kind("whitecrow.identify.lookahead", "Lookahead"),
    "count": Kind("whitecrow.count", "Count"),
    "subspaces": Kind("whitecrow.subspaces", "Subspaces"),
    "tune": Kind("whitecrow.subspaces.tune", "Tune"),
    "explain": Kind("whitecrow.explain", "Explain"),
    "publish": Kind("whitecrow.publish", "Publish"),
}
"""The questions a curator answers."""


def register(kind: str, module: str, question: str) -> None:
    """Let curators answer one more kind of question.

    The module is trusted like whitecrow's own: its ``price`` is what the ledger charges and its
    ``release`` is what analysts see. Where it has a ``cost(question, card, records)``, that says
    what the question may use (:class:`whitecrow.limits.Limits`); without one nothing limits it.
    """
    KINDS[kind] = Kind(module, question)
    answering.cache_clear()


@dataclass(frozen=True)
class Answering:
    """The code of one kind of question."""

    question: type[Question]
    gather: Callable[..., Any]
    release: Callable[..., Any]
    cost: Callable[..., Any] | None = None


@lru_cache
def answering(kind: str) -> Answering:
    """Load the code of a kind of question."""
    if kind not in KINDS:
        raise InvalidInput(f"There is no question {kind!r}; there are {', '.join(sorted(KINDS))}.")
    where = KINDS[kind]
    module = importlib.import_module(where.module)
    return Answering(
        getattr(module, where.question),
        module.gather,
        module.release,
        getattr(module, "cost", None),
    )


def code_for(question: Question) -> Answering:
    """Load the code that answers a question; a stranger's class is refused, whatever it prices."""
    kind = getattr(question, "kind", None)
    found = answering(kind) if isinstance(kind, str) else None
    if found is None or type(question) is not found.question:
        raise InvalidInput(
            f"A {type(question).__name__} is not a question this curator knows; "
            f"there are {', '.join(sorted(KINDS))}."
        )
    return found


def read_question(data: Mapping[str, Any]) -> Question:
    """Build a question from ``{"kind": ..., ...}`` or ``{"kind": ..., "question": {...}}``."""
    if not isinstance(data, Mapping) or not isinstance(data.get("kind"), str):
        raise InvalidInput('A question is a JSON object with a "kind", such as "identify".')
    found = answering(data["kind"])
    inner = data.get("question", {key: value for key, value in data.items() if key != "kind"})
    try:
        return found.question.from_json(inner)
    except KeyError as missing:
        raise InvalidInput(f"The question {data['kind']!r} lacks {missing.args[0]!r}.") from None
