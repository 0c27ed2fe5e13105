"""Accounts, spends and the store: what has been spent, by whom, for which answer."""

import warnings

from whitecrow.ledger.account import Account
from whitecrow.ledger.budget import LINES, Budget
from whitecrow.ledger.chain import Entry
from whitecrow.ledger.charging import ChargeRequest, Quote
from whitecrow.ledger.store import Ledger
from whitecrow.ledger.transaction import (
    AccountSnapshot,
    AnalystAccount,
    RecordedOutcome,
    Reservation,
)

__all__ = [
    "LINES",
    "Account",
    "AccountSnapshot",
    "AnalystAccount",
    "Budget",
    "ChargeRequest",
    "Entry",
    "Ledger",
    "Quote",
    "RecordedOutcome",
    "Reservation",
]

_FORMER = {
    "Closed": RecordedOutcome,
    "Order": ChargeRequest,
    "Share": AnalystAccount,
    "Standing": AccountSnapshot,
}
"""Names of 0.1, which work for one more release."""


def __getattr__(name: str) -> type:
    if name not in _FORMER:
        raise AttributeError(f"whitecrow.ledger has no {name!r}")
    now = _FORMER[name]
    text = f"whitecrow.ledger.{name} is called {now.__name__} now."
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return now
