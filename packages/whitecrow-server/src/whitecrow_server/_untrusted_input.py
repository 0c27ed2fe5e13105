"""Untrusted input, parsed as questions, policies and cards; refused when malformed.

Nothing here is within reach of a record, so an error may say what is wrong.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request

from whitecrow.curator import Curator, Policy, read_question
from whitecrow.data import Card
from whitecrow.errors import InvalidInput, WhitecrowError
from whitecrow.question import Question

T = TypeVar("T")

_DEEPEST = 32
_LARGEST = 2**63

MALFORMED = "The question is not well formed: a value is of the wrong type or size."

MOST_QUESTIONS = 2000
"""How long a plan may be."""


def strict_json(raw: bytes) -> Any:
    """Parse JSON that every part of the service and both databases can hold.

    Refused: NaN and infinities, integers beyond 64 bits, lone surrogates, NUL characters, keys that
    come twice, nesting deeper than 32.

    Examples
    --------
    >>> strict_json(b'{"a": [1, 2.5, "x"]}')
    {'a': [1, 2.5, 'x']}
    """
    try:
        parsed = _DECODER.decode(str(raw, json.detect_encoding(raw)))
        waiting: list[tuple[Any, int]] = [(parsed, 0)]
        while waiting:
            value, depth = waiting.pop()
            if depth > _DEEPEST:
                raise ValueError("too deep")
            if isinstance(value, dict):
                waiting.extend((part, depth + 1) for pair in value.items() for part in pair)
            elif isinstance(value, list):
                waiting.extend((part, depth + 1) for part in value)
            else:
                _check(value)
    except (ValueError, RecursionError):
        raise InvalidInput(
            "The body must be JSON: finite numbers of at most 64 bits, valid Unicode without NUL, "
            "no key twice, nested at most 32 deep."
        ) from None
    return parsed


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a key comes twice")
    return members


def _check(value: Any) -> None:
    if isinstance(value, str):
        value.encode("utf-8")
        if "\0" in value:
            raise ValueError("NUL")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("not finite")
    elif isinstance(value, int) and not -_LARGEST <= value < _LARGEST:
        raise ValueError("too large")


_DECODER = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_object)


def must_be_json(headers: Mapping[str, str]) -> None:
    """Refuse a body that is not said to be JSON."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        raise InvalidInput("The body must be JSON, and its Content-Type application/json.")


def batch_in(raw: bytes) -> list[dict[str, Any]]:
    batch = strict_json(raw)
    if not isinstance(batch, dict) or set(batch) != {"questions"}:
        raise InvalidInput('the body: it should be an object with the one key "questions".')
    questions = batch["questions"]
    if not isinstance(questions, list) or not all(isinstance(entry, dict) for entry in questions):
        raise InvalidInput("questions: Input should be a list of objects, each a question.")
    if len(questions) > MOST_QUESTIONS:
        raise InvalidInput(f"A plan has at most {MOST_QUESTIONS} questions.")
    return questions


def question_in(headers: Mapping[str, str], raw: bytes) -> dict[str, Any]:
    """Read the body of an ask: an object, said to be JSON."""
    must_be_json(headers)
    question = strict_json(raw)
    if not isinstance(question, dict):
        raise InvalidInput("the body: Input should be a valid dictionary.")
    return question


async def read_body(request: Request, most: int) -> bytes:
    """Read a body of at most so many bytes."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            raise HTTPException(413, f"The body is larger than {most} bytes.")
    return bytes(body)


def question_from(raw: Mapping[str, Any] | Question) -> Question:
    """Parse an untrusted question; one that would keep a worker for long is refused."""
    if isinstance(raw, Question):
        return raw
    question = well_formed(lambda: read_question(raw))
    for parameter, most in question.served_up_to.items():
        given = getattr(question, parameter)
        if (given if isinstance(given, int) else len(given)) > most:
            raise InvalidInput(
                f"A service answers a {question.kind} question with {parameter!r} up to {most}; "
                "ask a curator on your own machine for more."
            )
    return question


def priced_question(curator: Curator, raw: Mapping[str, Any] | Question) -> Question:
    """Read a question and try its price, so that what is malformed shows before the ledger."""
    question = question_from(raw)
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
    raise InvalidInput(MALFORMED)


def policy_from(raw: Mapping[str, Any] | None) -> Policy:
    return Policy() if raw is None else well_formed(lambda: Policy.from_json(raw))


def card_from(raw: Mapping[str, Any] | str) -> Card:
    if isinstance(raw, str):
        return well_formed(lambda: Card.parse(raw))
    return well_formed(lambda: Card.from_json(raw))
