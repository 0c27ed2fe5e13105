"""Accounts as far as they may be told: the one way by which the service reads their entries.

What an ask leaves in the chain (its answer, its failure, an alarm) is stamped with the moment at
which its reply is due, and is told nobody before. Whoever saw an entry appear earlier, on whatever
page, would see when its computation ended.

The chain itself is told up to the first entry that has to wait: from the number of a later one it
would follow that an earlier one is there.
"""

from __future__ import annotations

from typing import Any

from whitecrow.curator.drafts import Draft, drafts
from whitecrow.errors import AccountConflict
from whitecrow.ledger import Entry, Ledger, RecordedOutcome
from whitecrow.ledger.failures import failures
from whitecrow.ledger.timeline import Timeline, timeline
from whitecrow.ledger.transaction import AccountTransaction


class Told:
    """What may be told of the accounts by now."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._ends: dict[str, int] = {}

    def end(self, name: str) -> tuple[int, str]:
        """How many entries may be told, and the hash of the last of them."""

        def peek(account: AccountTransaction) -> tuple[int, str]:
            end_before = self._ends.get(name, 0)
            return account.told_end(end_before if end_before <= account.seq else 0)

        end = self._ledger.read(name, peek)
        self._ends[name] = end[0]
        return end

    def entries(self, name: str, *, before: int | None = None, **which: Any) -> list[Entry]:
        """Entries of the chain, as :meth:`Ledger.entries` has them."""
        beyond = self.end(name)[0] + 1
        before = beyond if before is None else min(before, beyond)
        return self._ledger.entries(name, before=before, **which)

    def history(
        self, name: str, analyst: str, *, limit: int, skip: int
    ) -> list[tuple[Entry, Entry | None]]:
        """An analyst's questions, the newest first, each with what became of it."""
        asked = self._ledger.history(name, analyst, limit=limit, skip=skip)
        return [
            (reserved, closed if closed is not None and closed.told else None)
            for reserved, closed in asked
        ]

    def failures(self, name: str) -> list[Entry]:
        return [entry for entry in failures(self._ledger, name) if entry.told]

    def unsettled(self, name: str) -> list[Entry]:
        wait = {entry.closes for entry in failures(self._ledger, name) if not entry.told}
        return [entry for entry in self._ledger.unsettled(name) if entry.seq not in wait]

    def timeline(self, name: str, *, analyst: str | None) -> Timeline:
        return timeline(self._ledger, name, analyst=analyst)

    def drafts(self, name: str, *, analyst: str | None = None, limit: int = 20) -> list[Draft]:
        """The profiles of a dataset, or one analyst's, the newest first."""
        return drafts(self._ledger, name, analyst=analyst, limit=limit)

    def answer(self, name: str, digest: str) -> tuple[str, Any] | None:
        """Who asked a question, and its answer; None if there is none that may be told."""

        def peek(account: AccountTransaction) -> tuple[Entry, str, Any] | None:
            account.must_be_open()
            outcome = account.outcome(digest)
            if not isinstance(outcome, RecordedOutcome) or not outcome.answered:
                return None
            asked, closed = account.entry(outcome.seq), account.entry(outcome.by)
            assert asked is not None
            assert closed is not None
            return (closed, asked.analyst, outcome.answer) if closed.told else None

        told = self._ledger.read(name, peek)
        if told is None:
            return None
        if self._ledger.witness is not None:
            self._ledger.witness.tell(name, [told[0]])
        return told[1:]

    def refuse_early(self, name: str, seq: int) -> None:
        """Refuse to act on an entry of which nothing may be told yet, as while it is computed."""

        def peek(account: AccountTransaction) -> bool:
            entry, closed = account.entry(seq), account.closing([seq]).get(seq)
            return all(part is None or part.told for part in (entry, closed))

        if not self._ledger.read(name, peek):
            raise AccountConflict(f"Entry {seq} is being answered at this moment.")
