"""What the service refuses, and which status says so.

Every refusal is one of whitecrow's own errors, so that a client raises what the library would have
raised; the classes here only add the status that HTTP has for it.
"""

from __future__ import annotations

from typing import Any

from whitecrow.custodian import FAILED
from whitecrow.errors import (
    BudgetExhausted,
    InvalidInput,
    LedgerCorrupt,
    PolicyViolation,
    Unavailable,
    WhitecrowError,
)
from whitecrow.ledger.store import CLOSED

__all__ = [
    "BROKEN",
    "Forbidden",
    "NotKnown",
    "NotReady",
    "NotSignedIn",
    "Taken",
    "TooMany",
    "body_of",
    "public_name",
    "retry_after",
    "status_of",
]

BROKEN = "The service failed. The custodian's log has the cause."
"""All that anybody outside learns of a fault of ours."""


class NotSignedIn(PolicyViolation):
    """No token, or one that is unknown, expired or revoked."""


class Forbidden(PolicyViolation):
    """The role does not allow it."""


class NotKnown(InvalidInput):
    """There is no such thing, or none that this person may know of: the words are the same."""


class Taken(InvalidInput):
    """The name belongs to something else already."""


class TooMany(Unavailable):
    """Too many requests; ``after`` says how many seconds to wait."""

    def __init__(self, after: int) -> None:
        super().__init__(f"Too many requests; try again in {after} seconds.")
        self.after = after


class NotReady(Unavailable):
    """It will be there soon; ``after`` says how many seconds to wait."""

    def __init__(self, message: str, after: int = 2) -> None:
        super().__init__(message)
        self.after = after


_STATUS: tuple[tuple[type[WhitecrowError], int], ...] = (
    (NotSignedIn, 401),
    (BudgetExhausted, 402),
    (PolicyViolation, 403),
    (NotKnown, 404),
    (Taken, 409),
    (InvalidInput, 422),
    (TooMany, 429),
    (Unavailable, 503),
    (LedgerCorrupt, 503),
)

_PUBLIC = (BudgetExhausted, PolicyViolation, InvalidInput, Unavailable, LedgerCorrupt)


def status_of(error: WhitecrowError) -> int:
    """The HTTP status of an error."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 503)


_SOON, _LATER = 5, 60


def retry_after(error: WhitecrowError) -> int | None:
    """After how many seconds asking again is worth while; None if it never is by itself.

    A failure waits for the custodian: a client that goes on trying for half a minute gives up at
    once.
    """
    if status_of(error) not in (429, 503):
        return None
    after = getattr(error, "after", None)
    if isinstance(after, int):
        return after
    waits = isinstance(error, LedgerCorrupt) or str(error) in (FAILED, CLOSED)
    return _LATER if waits else _SOON


def public_name(error: WhitecrowError) -> str:
    """The name under which the library exports the error."""
    return next((kind.__name__ for kind in _PUBLIC if isinstance(error, kind)), "WhitecrowError")


def body_of(error: WhitecrowError) -> dict[str, Any]:
    """The JSON of a refusal, as the terminal prints it, with the error's public name."""
    refused = isinstance(error, BudgetExhausted | PolicyViolation)
    said: dict[str, Any] = {"type": public_name(error), "reason": str(error)}
    if isinstance(error, BudgetExhausted):
        said |= {"requested": error.requested, "remaining": error.remaining}
    return {"refused" if refused else "error": said}
