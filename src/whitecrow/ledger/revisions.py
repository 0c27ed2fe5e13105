"""Which records an account is bound to.

An account belongs to its data. The opening entry carries a fingerprint of the records (or, where
they are read later, the first entry of kind ``data``), and whoever opens the account again must
show the same, or that of a revision that the custodian has recorded since. So no other table
receives this one's stored answers, and no file that changed meanwhile is charged as if it had not.

The fingerprint is keyed (HMAC-SHA256), and the key is kept beside the chain, not in it: whoever
reads the chain cannot try out which records would have this fingerprint.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, or_, select

from whitecrow.errors import DataChanged, LedgerUnusable
from whitecrow.ledger.acts import custodian_act
from whitecrow.ledger.schema import entries
from whitecrow.ledger.states import States
from whitecrow.ledger.store import Ledger
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.ledger.values import Entry, Records, canonical

__all__ = ["Revision", "bind", "first_records", "revisions"]

FIRST = "opened"
"""The reason of the first revision, which needs no other."""

KEY = "data key"
"""Under which name the key is kept among the account's private states."""


@dataclass(frozen=True)
class Revision:
    """One state of the records that an account is charged for.

    Parameters
    ----------
    number : int
        From 1, without gaps.
    fingerprint : str
        By which the records are recognised; keyed.
    reason, at : str
        Why and when it was recorded.
    """

    number: int
    fingerprint: str
    reason: str
    at: str

    @classmethod
    def of(cls, entry: Entry) -> Revision | None:
        """Read an entry of kind ``data`` or ``open``; None if it names no records."""
        said = entry.content.get("data")
        if said is None:
            return None
        reason = entry.content.get("reason", FIRST)
        return cls(int(said["revision"]), str(said["fingerprint"]), reason, entry.at)


def first_records(mark: str) -> Records:
    """Return what binds an account that is being opened to the records with this mark."""
    key = secrets.token_hex(32)
    return Records(_fingerprint(bytes.fromhex(key), mark), KEY, canonical({"key": key}))


def revisions(ledger: Ledger, dataset: str) -> tuple[Revision, ...]:
    """Return the revisions of an account, oldest first; none if it was never bound to records."""
    return ledger.read(dataset, _written)


def bind(
    ledger: Ledger,
    dataset: str,
    mark: str,
    *,
    reason: str | None = None,
    actor: str = "",
    connection: Connection | None = None,
) -> int:
    """Recognise records, or record them as a new revision; return the revision they are.

    Parameters
    ----------
    ledger, dataset : Ledger, str
        Which account.
    mark : str
        What tells the records apart from others. A fact: it is keyed here and stored nowhere.
    reason : str, optional
        Why records that are not known are to be a new revision. Without one they are refused,
        unless the account has no revision yet.
    actor : str, default=""
        Who acts.
    connection : Connection, optional
        An open transaction that this joins.

    Raises
    ------
    DataChanged
        The records are of no revision of the account, and no reason was given.
    """
    fingerprint = _fingerprint(_key(ledger, dataset), mark)
    found = _number(revisions(ledger, dataset), fingerprint)
    if found is not None:
        return found

    def act(account: AccountTransaction) -> int:
        written = _written(account)
        known = _number(written, fingerprint)
        if known is not None:
            return known
        if written and reason is None:
            raise changed(dataset)
        body = custodian_act(actor=actor, reason=FIRST if reason is None else reason)
        number = len(written) + 1
        body["data"] = {"revision": number, "fingerprint": fingerprint}
        account.append("data", body=body)
        return number

    return ledger.write(dataset, act, connection=connection)


def changed(dataset: str) -> DataChanged:
    """Say that the records are not the account's, and what the custodian can do."""
    return DataChanged(
        f"The account {dataset!r} is bound to other records than these; nothing was asked or "
        "spent. If they are the same data, grown or corrected, record a new revision and say why: "
        "'whitecrow data advance DATA --reason ...', or Curator.open(..., advance='...'); what was "
        "spent goes on adding up. If they are other data, give them an account of their own with "
        "name='...' (--name)."
    )


def _written(account: AccountTransaction) -> tuple[Revision, ...]:
    rows = account.session.rows(_DATA, account=account.id)
    found = (Revision.of(Entry(**{**row._asdict(), "dataset": account.name})) for row in rows)
    return tuple(one for one in found if one is not None)


def _number(known: tuple[Revision, ...], fingerprint: str) -> int | None:
    return next((one.number for one in known if one.fingerprint == fingerprint), None)


def _fingerprint(key: bytes, mark: str) -> str:
    return hmac.new(key, mark.encode(), hashlib.sha256).hexdigest()


def _key(ledger: Ledger, dataset: str) -> bytes:
    """Return the account's key, made when it is first needed."""
    states = States(ledger, dataset, released=False)
    if states.load(KEY) is None:
        states.save(KEY, 0, {"key": secrets.token_hex(32)})  # whoever is first
    found = states.load(KEY)
    if found is None:
        raise LedgerUnusable("The ledger does not keep the key of this account; nothing was spent.")
    return bytes.fromhex(found[1]["key"])


# The acts of custodians have no digest, so the index on questions finds them among a million.
_DATA = (
    select(entries)
    .where(
        entries.c.dataset == bindparam("account"),
        entries.c.digest == "",
        or_(entries.c.kind == "open", entries.c.kind == "data"),
    )
    .order_by(entries.c.seq)
)
