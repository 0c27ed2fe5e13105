"""Publications that are kept current: paid once, continued from the state the ledger keeps."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from whitecrow.data import Card
from whitecrow.ledger import AccountSnapshot, ChargeRequest, Ledger, RecordedOutcome, Reservation
from whitecrow.ledger.states import States
from whitecrow.question import digest

if TYPE_CHECKING:
    from whitecrow.publish import Publish, Publisher

Reserve = Callable[[ChargeRequest], tuple[Reservation | RecordedOutcome, AccountSnapshot]]


def opened_publication(
    question: Publish,
    card: Card,
    order: ChargeRequest,
    ledger: Ledger,
    account: str,
    reserve: Reserve,
) -> Publisher:
    """Charge a publication, unless it is open already, and go on where it was.

    A stream and a finished series of the same question draw their own noise: two spends. Its values
    are handed to it as they arrive, whichever revision the account's records are in by then, so a
    publication goes on over all revisions.
    """
    from whitecrow.publish import Publisher

    name = f"publication {digest(question, card)}"
    order = replace(order, digest=hashlib.sha256(name.encode()).hexdigest())
    found, _ = reserve(order)
    if isinstance(found, Reservation):
        try:
            ledger.settle(account, found, name)
        finally:
            found.release()
    return Publisher(question, card, store=States(ledger, account), key=order.digest)
