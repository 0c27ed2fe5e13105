"""Accounts, spends and the store: what has been spent, by whom, for which answer."""

from whitecrow.ledger.account import Account
from whitecrow.ledger.budget import LINES, Budget
from whitecrow.ledger.chain import Entry
from whitecrow.ledger.charging import Order, Quote
from whitecrow.ledger.page import Closed, Reservation, Share, Standing
from whitecrow.ledger.store import Ledger

__all__ = [
    "LINES",
    "Account",
    "Budget",
    "Closed",
    "Entry",
    "Ledger",
    "Order",
    "Quote",
    "Reservation",
    "Share",
    "Standing",
]
