"""Policy, price and the one place where data, ledger and mechanisms meet."""

from whitecrow.curator.curator import Curator
from whitecrow.questions import read_question, register
from whitecrow.terms import Plan, Policy, Remaining

__all__ = ["Curator", "Plan", "Policy", "Remaining", "read_question", "register"]
