"""What became of questions that were asked before: read, not asked for again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from whitecrow.ledger.store import Ledger
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.ledger.values import AccountSnapshot, RecordedOutcome


@dataclass(frozen=True)
class Stored:
    """What the ledger has of a question.

    Parameters
    ----------
    outcome : RecordedOutcome or None
        The answer, or that it failed; None while nothing may be told of it.
    snapshot : AccountSnapshot
        The account now, with the asking analyst's own.
    """

    outcome: RecordedOutcome | None
    snapshot: AccountSnapshot


def stored(
    ledger: Ledger, dataset: str, digest: str, analyst: str, rule: Callable[[str], None]
) -> Stored | None:
    """Look a question up; None if nobody has asked it, or its spend was given back.

    ``rule`` is called with the policy in force and raises to refuse.
    """

    def look(account: AccountTransaction) -> Stored | None:
        account.must_be_open()
        rule(account.policy)
        outcome = account.outcome(digest)
        if outcome is None:
            return None
        share = account.share(analyst)
        snapshot = account.snapshot({} if share is None else {analyst: share})
        if not isinstance(outcome, RecordedOutcome):
            return Stored(None, snapshot)
        closed = account.entry(outcome.by)
        assert closed is not None
        return Stored(outcome if closed.told else None, snapshot)

    known = ledger.watched(dataset, look, reads=True)
    if known is not None and known.outcome is not None and ledger.witness is not None:
        ledger.witness.cover(dataset, known.outcome.by)
    return known
