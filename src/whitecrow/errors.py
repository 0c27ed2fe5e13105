"""Everything that can go wrong, as one tree of exceptions.

An analyst may see any of these messages, so none of them ever depends on a private record:
they speak of parameters, cards, policies and budgets only.
"""

from __future__ import annotations

__all__ = [
    "BudgetExhausted",
    "DataChanged",
    "InvalidInput",
    "LedgerCorrupt",
    "PolicyViolation",
    "Unavailable",
    "WhitecrowError",
    "invalid",
]


_LONGEST = 1000


class WhitecrowError(Exception):
    """The root: every error raised on purpose by whitecrow is one of these."""


class InvalidInput(WhitecrowError, ValueError):
    """A parameter, a card, a file or a record is not what the question needs; nothing was spent."""


class PolicyViolation(WhitecrowError):
    """The custodian's policy, or the logic of guarantees, forbids this; nothing was spent."""


class DataChanged(PolicyViolation):
    """The records are not those the account is bound to; the custodian decides what they are."""


class BudgetExhausted(WhitecrowError):
    """The question costs more than what is left of a budget; nothing was spent.

    Parameters
    ----------
    message : str
        What is wrong, in one sentence.
    requested, remaining : str
        The price and what is left, as exact rationals in text.
    """

    def __init__(self, message: str, *, requested: str = "", remaining: str = "") -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining


class Unavailable(WhitecrowError):
    """Something outside is missing: an extra, a server, a file, a feature of this machine."""


class LedgerCorrupt(WhitecrowError):
    """The ledger's stored chain or sums do not add up; no question is answered from it."""


def invalid(owner: str, parameter: str, must: str, got: object, hint: str = "") -> InvalidInput:
    """Build the one form of message for a wrong parameter.

    Examples
    --------
    >>> print(invalid("DistanceAnomaly", "beta", "be a whole number of at least 1", 0))
    The 'beta' parameter of DistanceAnomaly must be a whole number of at least 1. Got 0 instead.
    """
    requirement = must if must.startswith(("be ", "have ", "lie ", "name ")) else f"be {must}"
    text = f"The '{parameter}' parameter of {owner} must {requirement}. Got {_shown(got)} instead."
    return InvalidInput(f"{text} {hint}" if hint else text)


def _shown(got: object) -> str:
    """Write what was given, however large it is; Python refuses to write the longest numbers."""
    try:
        written = repr(got)
    except (ValueError, RecursionError):
        return f"something of type {type(got).__name__} that is too large to show"
    return written if len(written) <= _LONGEST else f"{written[:_LONGEST]}..."
