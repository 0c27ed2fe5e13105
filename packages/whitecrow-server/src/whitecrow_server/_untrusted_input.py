"""What strangers write, read as questions, policies and cards: data, refused when malformed.

Nothing here is within reach of a record, so an error may say what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from whitecrow.curator import Curator, Policy, read_question
from whitecrow.data import Card
from whitecrow.errors import InvalidInput, WhitecrowError
from whitecrow.question import Question

T = TypeVar("T")


def question_from(written: Mapping[str, Any] | Question) -> Question:
    """Read a question that a stranger wrote; one that would keep a worker for long is refused."""
    if isinstance(written, Question):
        return written
    question = well_formed(lambda: read_question(written))
    for parameter, most in question.served_up_to.items():
        given = getattr(question, parameter)
        if (given if isinstance(given, int) else len(given)) > most:
            raise InvalidInput(
                f"A service answers a {question.kind} question with {parameter!r} up to {most}; "
                "ask a curator on your own machine for more."
            )
    return question


def priced_question(curator: Curator, written: Mapping[str, Any] | Question) -> Question:
    """Read a question and try its price, so that what is malformed shows before the ledger."""
    question = question_from(written)
    well_formed(lambda: curator.price(question))
    return question


def well_formed(act: Callable[[], T]) -> T:
    """Run code that sees public things only; whatever a malformed question breaks is its fault."""
    try:
        return act()
    except WhitecrowError:
        raise
    except Exception:  # noqa: BLE001 - no record is within reach here: nothing is hidden
        pass
    raise InvalidInput("The question is not well formed: a value is of the wrong type or size.")


def policy_from(written: Mapping[str, Any] | None) -> Policy:
    def read() -> Policy:
        return Policy() if written is None else Policy.from_json(written)

    return well_formed(read)


def card_from(written: Mapping[str, Any] | str) -> Card:
    def read() -> Card:
        return Card.parse(written) if isinstance(written, str) else Card.from_json(written)

    return well_formed(read)
