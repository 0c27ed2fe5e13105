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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from whitecrow.errors import DataChanged, LedgerBusy, LedgerUnusable
from whitecrow.ledger.account import Entry, Records, canonical
from whitecrow.ledger.acts import custodian_act
from whitecrow.ledger.growth import ANY, INSERT_ONLY, Chunks, Grown, checked, grown, late
from whitecrow.ledger.schema import entries
from whitecrow.ledger.statements import acts
from whitecrow.ledger.states import States
from whitecrow.ledger.store import Ledger
from whitecrow.ledger.transaction import AccountTransaction

FIRST = "opened"
"""The reason of the first revision, which needs no other."""

DECLARED = "declared insert-only"
"""The reason of a declaration that was given with no other."""

KEY = "data key"
"""Under which name the key is kept among the account's private states."""


@dataclass(frozen=True)
class Revision:
    """One state of the records that an account is charged for."""

    number: int  # from 1, without gaps
    fingerprint: str  # by which the records are recognised; keyed
    # reason, at: Why and when it was recorded.
    reason: str
    at: str
    # {"insert-only", "any"}: What was declared of it: that it holds what the one before held, and
    # what was added.
    growth: str = ANY
    since: int = 0  # the first revision of its run: from there on records were only added
    chunks: str = ""  # the chain's hash over its chunks; empty unless it was declared insert-only

    @classmethod
    def of(cls, entry: Entry, known: Sequence[Revision]) -> Revision | None:
        """Read an entry of kind ``data`` or ``open``; None if it names no records.

        An entry without a fingerprint declares the growth of the newest revision.
        """
        content = entry.content
        said = content.get("data")
        if said is None:
            return None
        declared: dict[str, Any] = {
            "growth": str(said.get("growth", ANY)),
            "since": int(said.get("since", said["revision"])),
            "chunks": str(said.get("chunks", "")),
        }
        if "fingerprint" not in said:
            return replace(known[-1], **declared)
        reason = str(content.get("reason", FIRST))
        fingerprint = str(said["fingerprint"])
        return cls(int(said["revision"]), fingerprint, reason, entry.at, **declared)


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
    growth: str | None = None,
    chunks: Chunks | None = None,
) -> Revision:
    """Recognise records, or record them as a new revision; return the revision they are.

    The mark tells the records apart from others. It is a fact: it is keyed here and stored nowhere.
    Records that are not known are a new revision only for a reason, unless the account has none
    yet. The last declaration of growth goes on unless another is given; ``chunks`` reads the chunks
    of the records, where insert-only growth is declared.
    """
    checked(growth)
    key = _key(ledger, dataset)
    fingerprint = _fingerprint(key, mark)
    written = revisions(ledger, dataset)
    known = _found(written, fingerprint)
    if known is not None and (growth != INSERT_ONLY or known.growth == growth):
        return known
    if known is not None and known != written[-1]:
        raise late()
    if known is None and written and reason is None:
        raise changed(dataset)
    last = written[-1] if written else None
    goes_on = known is None and last is not None and last.growth == INSERT_ONLY
    held: Grown | None = None
    if (growth or (INSERT_ONLY if goes_on else ANY)) == INSERT_ONLY:
        # Outside the transaction: the records are read.
        before = last.chunks if goes_on and last is not None else None
        held = grown(ledger, dataset, key, chunks, before)

    def act(account: AccountTransaction) -> Revision:
        now = _written(account)
        again = _found(now, fingerprint)
        if again is not None and again != known:
            return again  # another process was first
        if now != written:
            raise LedgerBusy("Another revision was recorded meanwhile; open the data again.")
        number = len(written) + (known is None)
        body = custodian_act(actor=actor, reason=_why(reason, known, held))
        body["data"] = {"revision": number}
        if known is None:
            body["data"]["fingerprint"] = fingerprint
        if held is not None:
            since = last.since if goes_on and last is not None else number
            body["data"] |= {"growth": INSERT_ONLY, "since": since, "chunks": held.fingerprint}
            held.keep(account)
        account.append("data", body=body)
        return _written(account)[-1]

    return ledger.write(dataset, act)


def _why(reason: str | None, known: Revision | None, held: Grown | None) -> str:
    if reason is not None:
        return reason
    return FIRST if known is None or held is None else DECLARED


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
    found: list[Revision] = []
    for row in rows:
        one = Revision.of(Entry(**{**row._asdict(), "dataset": account.name}), found)
        if one is not None:
            found[one.number - 1 :] = [one]
    return tuple(found)


def _found(known: Sequence[Revision], fingerprint: str) -> Revision | None:
    return next((one for one in known if one.fingerprint == fingerprint), None)


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


_DATA = acts("open", "data").order_by(entries.c.seq)
