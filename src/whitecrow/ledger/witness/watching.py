"""Decisions about an account, under the witness that its ledger has at that moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.ledger.witness.guard import guard_of

if TYPE_CHECKING:
    from whitecrow.ledger.store import Ledger

__all__ = ["watched"]

T = TypeVar("T")


class _Reappointed(Exception):
    """The ledger has another witness, or none, than when its guard was made."""


class _Within(Protocol):
    """A transaction of an account that reads, or one that writes."""

    def __call__(self, dataset: str, act: Callable[[AccountTransaction], T], /) -> T:
        """Run an act in it."""


def watched(
    ledger: Ledger,
    dataset: str,
    act: Callable[[AccountTransaction], T],
    *,
    within: _Within | None = None,
    afresh: bool = False,
) -> T:
    """Decide something about an account, or look at what was decided, once the witness agrees.

    A ledger may get another witness while it is open, or be replaced by a copy that has another:
    the transaction sees it before anything is decided, and begins again.

    Parameters
    ----------
    ledger, dataset : Ledger, str
        Whose account.
    act : callable
        What to decide, in the account's transaction.
    within : callable, optional
        ``ledger.read`` for a transaction that only reads; by default ``ledger.write``.
    afresh : bool, default=False
        Whether the witness is told first of all that is new.
    """

    def look(account: AccountTransaction) -> T:
        if account.appointed != (None if ledger.witness is None else ledger.witness.ledger):
            raise _Reappointed
        return act(account)

    while True:
        if ledger.witness is not None:
            ledger.witness.check(afresh=afresh)
        try:
            return (within or ledger.write)(dataset, look)
        except _Reappointed:
            former, ledger.witness = ledger.witness, guard_of(ledger.database)
            if former is not None:
                former.retire()
