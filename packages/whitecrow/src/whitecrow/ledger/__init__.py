"""Accounts, spends and the store: what has been spent, by whom, for which answer."""

from whitecrow.ledger.account import (
    Account,
    AccountSnapshot,
    AnalystAccount,
    Entry,
    RecordedOutcome,
    Reservation,
)
from whitecrow.ledger.store import ChargeRequest, Ledger, Quote
from whitecrow.terms import LINES, Budget

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
