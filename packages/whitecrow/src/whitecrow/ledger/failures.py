"""A failure closes a dataset to new questions until its custodian has looked at it.

That a computation fails may depend on the records, and then the failure is an answer without noise.
So a failure can be asked about once: it is charged, the chain records it, and while one of them has
not been reviewed no transaction reserves another spend or releases another answer. What was
released before is still served. A failure whose reply is held back closes the dataset when that
reply is due: nobody else may learn earlier when a computation ended.
"""

from __future__ import annotations

from datetime import UTC, datetime

from whitecrow.errors import AccountConflict, DatasetClosed
from whitecrow.ledger.account import Entry, ToldAt
from whitecrow.ledger.acts import custodian_act
from whitecrow.ledger.store import CLOSED, Ledger
from whitecrow.ledger.transaction import AccountTransaction


def failures(ledger: Ledger, dataset: str) -> list[Entry]:
    """Return the failures that nobody has reviewed: while there are any, the dataset is closed."""
    return ledger.read(dataset, AccountTransaction.unreviewed)


def review(ledger: Ledger, dataset: str, seq: int, *, reason: str, actor: str = "") -> None:
    """Record that the custodian has looked at a failure; after the last one the dataset is open.

    ``seq`` is the failure's own entry, or the reservation that failed. Its spend is kept; a void
    gives the spend back and counts as a review. The chain keeps who has looked, and what was found.
    """
    body = custodian_act(reason=reason, actor=actor)

    def act(account: AccountTransaction) -> None:
        waiting = (entry for entry in account.unreviewed() if seq in (entry.seq, entry.closes))
        failed = next(waiting, None)
        if failed is None:
            raise AccountConflict(f"Entry {seq} is not a failure that waits for a review.")
        account.failures -= 1
        if failed.closes is not None:
            account.close_reservation(failed.closes)
        account.append(
            "review", analyst=failed.analyst, digest=failed.digest, closes=failed.seq, body=body
        )

    ledger.write(dataset, act)


def halt(ledger: Ledger, dataset: str, *, told_at: ToldAt | None = None) -> None:
    """Record a failure beside a reservation: the update of a publication that was paid before."""

    def act(account: AccountTransaction) -> None:
        account.failures += 1
        account.append("halt", analyst="", body={}, told_at=told_at)

    ledger.write(dataset, act)


def refuse_if_closed(account: AccountTransaction) -> None:
    """Refuse what would compute or release anything new while a failure waits for its review."""
    if account.closed_by(datetime.now(UTC)):
        raise DatasetClosed(CLOSED)
