"""What the chain keeps of a custodian's act: who, why, and the card and readers it put in force."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from whitecrow.errors import InvalidInput
from whitecrow.ledger.chain import canonical

__all__ = ["card_digest", "custodian_act"]


def custodian_act(
    *,
    actor: str,
    reason: str | None = None,
    card: Mapping[str, Any] | None = None,
    readers: Iterable[str] | None = None,
) -> dict[str, Any]:
    """Return the body of an act's entry; what was not given is left out.

    Parameters
    ----------
    actor : str
        Who acts; empty where nobody signed in, as in the library.
    reason : str, optional
        Why, in words. Only opening an account needs none.
    card : mapping, optional
        The card that is now in force, as JSON; its digest is kept beside it.
    readers : iterable of str, optional
        Who may ask from now on.

    Examples
    --------
    >>> custodian_act(actor="cleo", reason="vote", readers=["bo", "ana"])
    {'actor': 'cleo', 'reason': 'vote', 'readers': ['ana', 'bo']}
    """
    body: dict[str, Any] = {"actor": actor} if actor else {}
    if reason is not None:
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidInput("The custodian's acts need a reason, in words; the chain keeps it.")
        body["reason"] = reason
    if card is not None:
        body |= {"card": card, "card_digest": card_digest(card)}
    if readers is not None:
        body["readers"] = sorted(set(readers))
    return body


def card_digest(card: Mapping[str, Any]) -> str:
    """Return the hash by which the chain names a card."""
    return hashlib.sha256(canonical(card).encode("ascii")).hexdigest()
