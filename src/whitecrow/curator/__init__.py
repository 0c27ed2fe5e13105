"""Policy, price and the one place where data, ledger and mechanisms meet."""

from whitecrow.curator.balance import Remaining
from whitecrow.curator.curator import Curator
from whitecrow.curator.policy import Policy

__all__ = ["Curator", "Policy", "Remaining"]
