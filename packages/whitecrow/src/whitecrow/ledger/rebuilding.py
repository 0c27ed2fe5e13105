"""What a store lacks that an older version wrote: what entries imply, and closures."""

from __future__ import annotations

from whitecrow.errors import LedgerUnusable
from whitecrow.ledger.acts import close
from whitecrow.ledger.database import Session
from whitecrow.ledger.replay import Replay, Wrong
from whitecrow.ledger.spatial import AddUp, Ball, Geometry, SpatialIndex
from whitecrow.ledger.transaction import AccountTransaction, names
from whitecrow.privacy import guarantee
from whitecrow.terms import Budget

_DERIVED = "0003"
"""The version from which on a store has what is derived from its entries."""

_CLOSED = "0005"
"""The version from which on an account that lost entries is closed by an entry of its own."""


def rebuild_all(session: Session, geometry: Geometry, older: str) -> None:
    """Rebuild every account of a store of an older version, in the transaction that migrates it."""
    for dataset in names(session):
        account = AccountTransaction(session, dataset)
        if older < _DERIVED:
            _rebuild(account, geometry)
        if older < _CLOSED:
            _close_lost(account)


def _close_lost(account: AccountTransaction) -> None:
    """Close what an older version gave a budget of 0 when its entries were lost in a restore."""
    for entry in account.some_entries(kind="amend"):
        content = entry.content
        lost = str(content.get("reason", "")).startswith("entries were lost: ")
        if lost and "budget" in content and Budget.of(content["budget"]) == Budget.of("0"):
            close(account, {"reason": content["reason"]})


def _rebuild(account: AccountTransaction, geometry: Geometry) -> None:
    """Fill the tables of open reservations, terms and balls from an account's entries.

    The sums too are made anew: version 0.1 rounded odd fractions up in another place than today's
    check, which would not find them. They become no larger by it.
    """
    index = SpatialIndex(account.session, account.id, geometry)
    standing = {}
    waiting: dict[int, int] = {}
    failed: dict[int, int] = {}
    for entry in account.entries():
        if entry.kind == "reserve":
            standing[entry.seq] = entry
            waiting[entry.seq] = entry.seq
        elif entry.kind == "settle":
            del waiting[int(entry.closes or 0)]
        elif entry.kind == "review":
            waiting.pop(failed.get(int(entry.closes or 0), 0), None)
        elif entry.kind == "fail":
            failed[entry.seq] = int(entry.closes or 0)
        elif entry.kind == "void":
            seq = entry.content["reserve"]
            del standing[seq]
            waiting.pop(seq, None)
    for seq in waiting:
        account.open_reservation(seq)
    for seq, entry in standing.items():
        content = entry.content
        price = guarantee(content["price"])
        account.add_terms(entry.analyst, price)
        if content["location"] is not None:
            if isinstance(geometry, AddUp):
                raise LedgerUnusable(
                    "The ledger was written by an older version of whitecrow and keeps places; "
                    "open it once with a curator or with 'whitecrow ledger show'."
                )
            ball = Ball.of(content["location"], price, entry.analyst, seq)
            index.add(ball, index.weigh(ball))
    replay = Replay(account)
    try:
        for entry in account.entries():
            replay.take(entry)
    except Wrong:  # as it was found: a check says which entry
        return
    account.spent = replay.spent
    account.write_sums()
    for analyst, share in replay.shares.items():
        account.write_share(analyst, share, new=False)
