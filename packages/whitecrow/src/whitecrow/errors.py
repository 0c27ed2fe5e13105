"""Everything that can go wrong, as one tree of exceptions.

An analyst may see any of these messages, so none of them ever depends on a private record:
they speak of parameters, cards, policies and budgets only. Catch a branch or a leaf of it::

    WhitecrowError              every error that whitecrow raises on purpose
    ├── InvalidInput            what was given is wrong (also a ValueError)
    │   ├── NotKnown            there is no such thing, or none that you may know of
    │   └── Taken               the name belongs to something else
    ├── BudgetExhausted         the price is more than what is left
    ├── PolicyViolation         it is forbidden, whatever is paid
    │   ├── NotAllowed          the policy does not allow this question to this analyst
    │   ├── NoConversion        what was promised does not imply what is asked for
    │   ├── TooCostly           the worst case needs more time or memory than is lent
    │   ├── AccountConflict     the account says otherwise: its promise, its unit, an entry
    │   ├── DataChanged         the records are not those the account is bound to
    │   ├── NoTls               secrets would travel in the open
    │   ├── NotSignedIn         no token or password, or not a valid one
    │   └── Forbidden           the person's role does not allow it
    ├── Unavailable             allowed, but not possible here or now
    │   ├── MissingExtra        a package or program is not installed
    │   ├── NeedsLinux          this part runs on Linux only (also an ImportError)
    │   ├── BrokenPlugin        what an installed package offers cannot be used
    │   ├── NoDevice            no usable GPU on this machine
    │   ├── RecordsElsewhere    the records are not where this would need them
    │   ├── Unreachable         a service, a database or a warehouse does not answer
    │   ├── NotReady            something is being loaded, written or stopped
    │   ├── TooMany             too many requests
    │   ├── LedgerBusy          another process is writing the ledger, or computing this answer
    │   ├── LedgerUnusable      the ledger or another store cannot be opened, read or written
    │   ├── LedgerOutdated      the ledger is older than its witness, or two copies are in use
    │   ├── DatasetClosed       nothing is answered until the custodian has looked
    │   └── ComputationFailed   it failed behind the boundary; the custodian's log has the cause
    └── LedgerCorrupt           what the ledger stores does not add up

How the terminal and the service report each of them is the table at the end of this file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_LONGEST = 1000


class WhitecrowError(Exception):
    """The root: every error raised on purpose by whitecrow is one of these."""


class InvalidInput(WhitecrowError, ValueError):
    """A parameter, a card, a file or a record is not what the question needs; nothing was spent.

    Parameters
    ----------
    message : str
        What is wrong, what was given, what to do.
    parameter : str, default ""
        The parameter or column that is wrong, where it is one: a form shows the message there.
    """

    def __init__(self, *message: object, parameter: str = "") -> None:
        super().__init__(*message)
        self.parameter = parameter


class NotKnown(InvalidInput):
    """There is no such thing, or none that this person may know of: the words are the same."""


class Taken(InvalidInput):
    """The name belongs to something else already."""


class BudgetExhausted(WhitecrowError):
    """The question costs more than what is left of a budget; nothing was spent.

    Parameters
    ----------
    message : str
        What is wrong, in one sentence.
    requested, remaining : str, default ""
        The price and what is left, as exact rationals in text.
    """

    def __init__(self, message: str, *, requested: str = "", remaining: str = "") -> None:
        super().__init__(message)
        self.requested = requested
        self.remaining = remaining


class PolicyViolation(WhitecrowError):
    """The custodian's policy, or the logic of guarantees, forbids this; nothing was spent."""


class NotAllowed(PolicyViolation):
    """The policy does not allow this question, this release or this analyst."""


class NoConversion(PolicyViolation):
    """No theorem derives the guarantee asked for from the one that was given."""


class TooCostly(PolicyViolation):
    """For the worst records that the card allows, it needs more than a question is lent."""


class AccountConflict(PolicyViolation):
    """The account says otherwise: another promise, another unit, or an entry in another state."""


class DataChanged(PolicyViolation):
    """The records are not those the account is bound to; the custodian decides what they are."""


class NoTls(PolicyViolation):
    """Without TLS, tokens and answers would travel in the open."""


class NotSignedIn(PolicyViolation):
    """No token, or one that is unknown, expired or revoked; or a wrong password."""


class Forbidden(PolicyViolation):
    """The person's role does not allow it."""


class Unavailable(WhitecrowError):
    """Something outside is missing: an extra, a server, a file, a feature of this machine.

    ``after`` says in how many seconds asking again is worth while; None leaves it to the kind.
    """

    def __init__(self, *message: object, after: int | None = None) -> None:
        super().__init__(*message)
        self.after = after


class MissingExtra(Unavailable):
    """A package or a program that this needs is not installed; the message says how to get it."""


class NeedsLinux(Unavailable, ImportError):
    """The service needs what only Linux offers; the library works here."""


class BrokenPlugin(Unavailable):
    """An installed package offers something that cannot be used as what it is offered for."""


class NoDevice(Unavailable):
    """No GPU with a working driver was found on this machine."""


class RecordsElsewhere(Unavailable):
    """This needs the records here, and they stay in a warehouse (or the other way round)."""


class Unreachable(Unavailable):
    """A service, a database, a warehouse or a caller does not answer, or not as one of its kind."""


class NotReady(Unavailable):
    """What is asked for is being loaded, written or stopped at this moment."""


class TooMany(Unavailable):
    """Too many requests by one person or from one address; the message says when to ask again."""

    def __init__(self, *message: object, after: int = 5) -> None:
        parts = message or (f"Too many requests; try again in {after} seconds.",)
        super().__init__(*parts, after=after)


class LedgerBusy(Unavailable):
    """Another process or thread is writing the ledger, or computing this very answer."""


class LedgerUnusable(Unavailable):
    """The ledger, or another store of whitecrow's own, cannot be opened, read or written."""


class LedgerOutdated(Unavailable):
    """The ledger is older than its witness, or a fork: it answers nothing until somebody acts."""


class DatasetClosed(Unavailable):
    """The dataset takes no new questions until its custodian has looked."""


class ComputationFailed(Unavailable):
    """A computation on private records failed; its cause is for the custodian alone."""


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
    return InvalidInput(f"{text} {hint}" if hint else text, parameter=parameter)


def _shown(got: object) -> str:
    """Write what was given, however large it is; Python refuses to write the longest numbers."""
    try:
        text = repr(got)
    except (ValueError, RecursionError):
        return f"something of type {type(got).__name__} that is too large to show"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


# HTTP status, seconds until a new try. A kind that is not listed is reported as the nearest base
# that is. Where the custodian has to act first, a client that would go on trying for half a minute
# is told to give up at once: 60 seconds.
_REPORTED: dict[type[WhitecrowError], tuple[int, int | None]] = {
    WhitecrowError: (503, 5),
    InvalidInput: (422, None),
    NotKnown: (404, None),
    Taken: (409, None),
    BudgetExhausted: (402, None),
    PolicyViolation: (403, None),
    NotSignedIn: (401, None),
    Unavailable: (503, 5),
    NotReady: (503, 2),
    TooMany: (429, 5),
    LedgerOutdated: (503, 60),
    DatasetClosed: (503, 60),
    ComputationFailed: (503, 60),
    LedgerCorrupt: (503, 60),
}

# The names that version 0.1 had. They stay the "type" of a report; "cause" is the exact kind.
_TYPES = (BudgetExhausted, PolicyViolation, InvalidInput, Unavailable, LedgerCorrupt)


def _reported(error: WhitecrowError) -> tuple[int, int | None]:
    return next(_REPORTED[kind] for kind in type(error).__mro__ if kind in _REPORTED)


def http_status(error: WhitecrowError) -> int:
    """The HTTP status of an error."""
    return _reported(error)[0]


def exit_status(error: WhitecrowError) -> int:
    """The exit status of the terminal: 2 for wrong usage, 1 for everything else."""
    return 2 if isinstance(error, InvalidInput) else 1


def retry_after(error: WhitecrowError) -> int | None:
    """In how many seconds asking again is worth while; None if it never is by itself."""
    given = error.after if isinstance(error, Unavailable) else None
    return _reported(error)[1] if given is None else given


def public_name(error: WhitecrowError) -> str:
    """The name of the branch, as the library exports it."""
    return next((kind.__name__ for kind in _TYPES if isinstance(error, kind)), "WhitecrowError")


def to_json(error: WhitecrowError) -> dict[str, Any]:
    """The report of an error: ``{"refused": {...}}`` where a rule said no, else ``{"error": ...}``.

    Examples
    --------
    >>> to_json(NoTls("Use https."))
    {'refused': {'type': 'PolicyViolation', 'cause': 'NoTls', 'reason': 'Use https.'}}
    """
    report: dict[str, Any] = {
        "type": public_name(error),
        "cause": type(error).__name__,
        "reason": str(error),
    }
    if isinstance(error, BudgetExhausted):
        report |= {"requested": error.requested, "remaining": error.remaining}
    refused = isinstance(error, BudgetExhausted | PolicyViolation)
    return {"refused" if refused else "error": report}


def from_json(report: Mapping[str, Any]) -> WhitecrowError | None:
    """Build the error that a report tells of; None if it is no report."""
    told = report.get("refused", report.get("error"))
    if not isinstance(told, Mapping):
        return None
    kinds = {kind.__name__: kind for kind in _tree(WhitecrowError)}
    named = (str(told.get(key)) for key in ("cause", "type"))
    kind = next((kinds[name] for name in named if name in kinds), Unavailable)
    reason = str(told.get("reason", ""))
    if issubclass(kind, BudgetExhausted):
        wanted, left = (str(told.get(key, "")) for key in ("requested", "remaining"))
        return kind(reason, requested=wanted, remaining=left)
    return kind(reason)


def _tree(root: type[WhitecrowError]) -> Iterator[type[WhitecrowError]]:
    """The kinds that are declared in this file, from the root on."""
    yield root
    for kind in root.__subclasses__():
        if kind.__module__ == __name__:
            yield from _tree(kind)
