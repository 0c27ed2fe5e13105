"""Where publishers keep their state between two updates: private, versioned, in the same store.

A state holds exact sums and drawn noise. It is not part of the chain, and no export contains it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from whitecrow.errors import AccountConflict
from whitecrow.ledger.account import ToldAt
from whitecrow.ledger.failures import halt, refuse_if_closed
from whitecrow.ledger.schema import LOST
from whitecrow.ledger.store import Ledger
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.ledger.witness.guard import state_name
from whitecrow.terms import canonical


class States:
    """The states of one dataset's publishers: a compare-and-swap on (key, version).

    A closed dataset saves no state with which something is ``released``. What is kept for the
    account itself (a key, the digests of files) is saved then too: the custodian has to open a
    dataset in order to look.

    Examples
    --------
    >>> from whitecrow.ledger import Budget
    >>> ledger = Ledger("sqlite://")
    >>> _ = ledger.open("clinic", budget=Budget.of("1"))
    >>> states = States(ledger, "clinic")
    >>> states.save("mean", 0, {"done": 0}), states.save("mean", 0, {"done": 0})
    (True, False)
    >>> states.load("mean")
    (0, {'done': 0})
    """

    def __init__(self, ledger: Ledger, dataset: str, *, released: bool = True) -> None:
        self._ledger, self._dataset, self._released = ledger, dataset, released

    def __repr__(self) -> str:
        return f"<States of {self._dataset!r}, withheld>"

    def load(self, key: str) -> tuple[int, Mapping[str, Any]] | None:
        """Return the latest version and its state, or None if there is none."""
        ledger, peek = self._ledger, lambda account: self._row(account, key)
        if not self._released:
            row = ledger.read(self._dataset, peek)
        else:  # whoever loads it may show it
            row = ledger.watched(self._dataset, peek, reads=True)
            self._cover(key, row)
        return None if row is None else (row.version, json.loads(row.state))

    def _cover(self, key: str, row: Any | None) -> None:
        """Return when the witness knows a version."""
        if row is not None and self._ledger.witness is not None:
            self._ledger.witness.cover(state_name(self._dataset, key), row.version + 1)

    def _row(self, account: AccountTransaction, key: str) -> Any | None:
        """What is kept, unless the account is closed for good or this publication is over."""
        if self._released:
            account.must_be_open()
        row = account.state(key)
        if row is not None and row.state == LOST:
            raise AccountConflict(
                "This publication lost its state in a restore, and is over: its noise would be "
                "drawn a second time. What it has published stays published."
            )
        return row

    def fail(self, *, told_at: ToldAt | None = None) -> None:
        """Record that an update failed, which closes the dataset until the custodian has looked."""
        halt(self._ledger, self._dataset, told_at=told_at)

    def save(self, key: str, version: int, state: Mapping[str, Any]) -> bool:
        """Write ``version`` durably if the latest is ``version - 1`` (none for version 0)."""

        def swap(account: AccountTransaction) -> bool:
            if self._released:
                refuse_if_closed(account)
            # The account's lock makes looking and writing one step.
            row = self._row(account, key)
            if version != (0 if row is None else row.version + 1):
                return False
            account.keep(key, canonical(state))
            return True

        if not self._released:
            return self._ledger.write(self._dataset, swap)
        # Afresh: each version is told before the next one is written.
        saved = self._ledger.watched(self._dataset, swap, afresh=True)
        witness = self._ledger.witness
        if saved and witness is not None:
            witness.cover(state_name(self._dataset, key), version + 1, fresh=True)
        return saved
