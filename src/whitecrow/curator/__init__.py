"""Policy, price and the one place where data, ledger and mechanisms meet."""

from whitecrow.curator.advice import REFERENCES, Advice, Reference
from whitecrow.curator.balance import Remaining
from whitecrow.curator.curator import Curator
from whitecrow.curator.plan import Plan
from whitecrow.curator.policy import Policy
from whitecrow.questions import read_question, register

__all__ = [
    "REFERENCES",
    "Advice",
    "Curator",
    "Plan",
    "Policy",
    "Reference",
    "Remaining",
    "read_question",
    "register",
]
