"""Answers that are out already: read, not asked for again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from whitecrow.ledger.store import Ledger
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.ledger.values import AccountSnapshot, RecordedOutcome
from whitecrow.ledger.witness.watching import watched

__all__ = ["ReplyTime", "Stored", "is_out", "stored"]


ReplyTime = Callable[[datetime], float]
"""The reply time of a question that was asked at a moment; it may have been another then."""


@dataclass(frozen=True)
class Stored:
    """An answer in the ledger.

    Parameters
    ----------
    outcome : RecordedOutcome
        The answer.
    snapshot : AccountSnapshot
        The account now, with the asking analyst's own.
    asked, settled : datetime
        When its spend and when the answer itself were committed. The second tells how long the
        computation took.
    """

    outcome: RecordedOutcome
    snapshot: AccountSnapshot
    asked: datetime
    settled: datetime

    def out(self, now: datetime, deadline: ReplyTime) -> bool:
        """Whether its reply was due by now, at a multiple of its deadline after it was asked.

        Before that moment it must not be told: when an answer is there is when its computation
        ended. Afterwards it is history.
        """
        return is_out(self.asked, self.settled, now, deadline(self.asked))


def is_out(asked: datetime, settled: datetime, now: datetime, deadline: float) -> bool:
    """Whether a reply was due by now, at a multiple of its deadline after it was asked."""
    took = max(0.0, (settled - asked).total_seconds())
    due = deadline * max(1, math.ceil(took / deadline))
    return (now - asked).total_seconds() > due + _SKEW_SECONDS


_SKEW_SECONDS = 1.0
"""How much the clocks of several machines may differ."""


def stored(
    ledger: Ledger, dataset: str, digest: str, analyst: str, rule: Callable[[str], None]
) -> Stored | None:
    """Look a question's answer up; None if it was not asked, failed, or waits for its answer.

    ``rule`` is called with the policy in force and raises to refuse.
    """

    def look(account: AccountTransaction) -> Stored | None:
        account.must_be_open()
        rule(account.policy)
        found = account.outcome(digest)
        if not isinstance(found, RecordedOutcome) or not found.answered:
            return None
        asked, settled = account.entry(found.seq), account.entry(found.by)
        assert asked is not None
        assert settled is not None
        share = account.share(analyst)
        snapshot = account.snapshot({} if share is None else {analyst: share})
        times = (datetime.fromisoformat(one.at) for one in (asked, settled))
        return Stored(found, snapshot, *times)

    known = watched(ledger, dataset, look, within=ledger.read)
    if known is not None and ledger.witness is not None:
        ledger.witness.cover(dataset, known.outcome.by)
    return known
