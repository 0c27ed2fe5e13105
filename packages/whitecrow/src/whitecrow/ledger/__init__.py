"""Accounts, spends and the store: what has been spent, by whom, for which answer."""

from whitecrow.ledger.account import Account
from whitecrow.ledger.charging import ChargeRequest, Quote
from whitecrow.ledger.store import Ledger
from whitecrow.ledger.values import (
    AccountSnapshot,
    AnalystAccount,
    Entry,
    RecordedOutcome,
    Reservation,
)
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
