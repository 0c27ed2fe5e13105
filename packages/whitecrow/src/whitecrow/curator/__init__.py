"""Policy, price and the one place where data, ledger and mechanisms meet."""

from whitecrow.curator.advice import REFERENCES, Advice, Reference
from whitecrow.curator.curator import Curator
from whitecrow.plan import Plan
from whitecrow.questions import read_question, register
from whitecrow.terms import Policy, Remaining

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
