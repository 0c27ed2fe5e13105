"""Which records an account is bound to.

An account belongs to its data. The opening entry carries a fingerprint of the records (or, where
they are read later, the first entry of kind ``data``), and whoever opens the account again must
show the same, or that of a revision that the custodian has recorded since. So no other table
receives this one's stored answers, and no file that changed meanwhile is charged as if it had not.

The fingerprint is keyed (HMAC-SHA256), and the key is kept beside the chain, not in it: whoever
reads the chain cannot try out which records would have this fingerprint.

A custodian may declare that records are only ever added (*insert-only*). The account then keeps a
keyed hash of every chunk of the records: of runs of rows in their order, or of whole files of a
folder. The next revision must hold all of these chunks, rows at the front and in the same order.
Otherwise the act is refused, and nobody is told which chunk it was. These hashes are kept beside
the chain, too; the chain binds them by one hash over all.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from whitecrow.errors import (
    AccountConflict,
    DataChanged,
    InvalidInput,
    LedgerBusy,
    LedgerUnusable,
    invalid,
)
from whitecrow.ledger.account import Entry, Records
from whitecrow.ledger.acts import acts_of, custodian_act
from whitecrow.ledger.states import States
from whitecrow.ledger.store import Ledger
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.terms import canonical

ANY, INSERT_ONLY = "any", "insert-only"
GROWTH = (INSERT_ONLY, ANY)
"""What a custodian may declare of the next revision; without a word the last declaration holds."""

Chunks = Callable[[Iterable[str]], Mapping[str, str]]
"""Reads the records and returns a digest by chunk, cut as the given earlier chunks were."""

FIRST = "opened"
"""The reason of the first revision, which needs no other."""

DECLARED = "declared insert-only"
"""The reason of a declaration that was given with no other."""

KEY, CHUNKS = "data key", "data chunks"
"""Under which names the key and the chunks are kept among the account's private states."""


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
    def of(cls, entry: Entry, before: Sequence[Revision]) -> Revision | None:
        """Read an entry of kind ``data`` or ``open``; None if it names no records.

        An entry without a fingerprint declares the growth of the newest revision.
        """
        content = entry.content
        data = content.get("data")
        if data is None:
            return None
        declared: dict[str, Any] = {
            "growth": str(data.get("growth", ANY)),
            "since": int(data.get("since", data["revision"])),
            "chunks": str(data.get("chunks", "")),
        }
        if "fingerprint" not in data:
            return replace(before[-1], **declared)
        reason = str(content.get("reason", FIRST))
        fingerprint = str(data["fingerprint"])
        return cls(int(data["revision"]), fingerprint, reason, entry.at, **declared)


def first_records(digest: str) -> Records:
    """Return what binds an account that is being opened to the records with this digest."""
    key = secrets.token_hex(32)
    return Records(_fingerprint(bytes.fromhex(key), digest), KEY, canonical({"key": key}))


def revisions(ledger: Ledger, dataset: str) -> tuple[Revision, ...]:
    """Return the revisions of an account, oldest first; none if it was never bound to records."""
    return ledger.read(dataset, _recorded)


def bind(
    ledger: Ledger,
    dataset: str,
    digest: str,
    *,
    reason: str | None = None,
    actor: str = "",
    growth: str | None = None,
    chunks: Chunks | None = None,
) -> Revision:
    """Recognise records, or record them as a new revision; return the revision they are.

    The digest tells the records apart from others. It is a fact: keyed here, stored nowhere.
    Records that are not known are a new revision only for a reason, unless the account has none
    yet. The last declaration of growth goes on unless another is given; ``chunks`` reads the chunks
    of the records, where insert-only growth is declared.
    """
    checked_growth(growth)
    key = _key(ledger, dataset)
    fingerprint = _fingerprint(key, digest)
    recorded = revisions(ledger, dataset)
    same = _with_fingerprint(recorded, fingerprint)
    if same is not None and (growth != INSERT_ONLY or same.growth == growth):
        return same
    last = recorded[-1] if recorded else None
    if same is not None and same != last:
        raise AccountConflict(
            "These records are an earlier revision of the account; growth is declared of the "
            "newest."
        )
    if same is None and recorded and reason is None:
        raise changed(dataset)
    # The run of revisions that this one goes on with.
    run = last if same is None and last is not None and last.growth == INSERT_ONLY else None
    grown: Mapping[str, str] | None = None
    if growth == INSERT_ONLY or (growth is None and run is not None):
        # Outside the transaction: the records are read.
        grown = _grown(ledger, dataset, key, chunks, None if run is None else run.chunks)
    if reason is None:
        reason = FIRST if same is None or grown is None else DECLARED

    def act(account: AccountTransaction) -> Revision:
        now = _recorded(account)
        again = _with_fingerprint(now, fingerprint)
        if again is not None and again != same:
            return again  # another process was first
        if now != recorded:
            raise LedgerBusy("Another revision was recorded meanwhile; open the data again.")
        number = len(recorded) + (same is None)
        body = custodian_act(actor=actor, reason=reason)
        body["data"] = {"revision": number}
        if same is None:
            body["data"]["fingerprint"] = fingerprint
        if grown is not None:
            since = number if run is None else run.since
            body["data"] |= {"growth": INSERT_ONLY, "since": since, "chunks": _over(key, grown)}
            account.keep(CHUNKS, canonical(grown))
        account.append("data", body=body)
        return _recorded(account)[-1]

    return ledger.write(dataset, act)


def checked_growth(growth: str | None) -> str | None:
    """Return a declaration, or say what can be declared."""
    if growth is not None and growth not in GROWTH:
        raise invalid("a revision", "growth", f"one of {', '.join(GROWTH)}", growth)
    return growth


def _grown(
    ledger: Ledger, dataset: str, key: bytes, chunks: Chunks | None, before: str | None
) -> Mapping[str, str]:
    """Return keyed hashes of the chunks of records, among them those of the revision before.

    They are private: the labels count rows.

    ``chunks`` is None where the records cannot be read in chunks, ``before`` (the chain's hash over
    the chunks of the revision before) where a run begins. Refused are records that were there and
    are changed, gone, or stand elsewhere.
    """
    if chunks is None:
        raise InvalidInput(
            "That records are only added can be checked of files, frames and queries, not of a "
            "table that another program counts. Leave growth out (--growth any): questions there "
            "get no discount that it could keep.",
            parameter="growth",
        )
    earlier: dict[str, str] = {}
    if before is not None:
        state = States(ledger, dataset, released=False).load(CHUNKS)
        if state is None or _over(key, state[1]) != before:
            raise LedgerUnusable(
                "The ledger does not keep the chunks of the last revision as they were recorded; "
                "nothing was changed. Record these records with growth='any' (--growth any)."
            )
        earlier = dict(state[1])
    keyed = {
        label: _fingerprint(key, f"{label}\0{digest}") for label, digest in chunks(earlier).items()
    }
    if not earlier.items() <= keyed.items():
        # Not which: that would tell of records.
        raise DataChanged(
            f"The account {dataset!r} declares that records are only added at the end, and these "
            "are not the earlier records, unchanged and in their order, with others after them; "
            "nothing was recorded. If rows were put in another order, restore it (a query needs "
            "ORDER BY). If records were corrected or removed, say so with growth='any' (--growth "
            "any): what is asked from then on adds up with what was asked before."
        )
    return keyed


def _over(key: bytes, chunks: Mapping[str, str]) -> str:
    return _fingerprint(key, canonical(dict(chunks)))


def changed(dataset: str) -> DataChanged:
    """Say that the records are not the account's, and what the custodian can do."""
    return DataChanged(
        f"The account {dataset!r} is bound to other records than these; nothing was asked or "
        "spent. If they are the same data, grown or corrected, record a new revision and say why: "
        "'whitecrow data advance DATA --reason ...', or Curator.open(..., advance='...'); what was "
        "spent goes on adding up. If they are other data, give them an account of their own with "
        "name='...' (--name)."
    )


def _recorded(account: AccountTransaction) -> tuple[Revision, ...]:
    recorded: list[Revision] = []
    for entry in acts_of(account, "open", "data"):
        revision = Revision.of(entry, recorded)
        if revision is not None:
            recorded[revision.number - 1 :] = [revision]
    return tuple(recorded)


def _with_fingerprint(recorded: Sequence[Revision], fingerprint: str) -> Revision | None:
    return next((each for each in recorded if each.fingerprint == fingerprint), None)


def _fingerprint(key: bytes, digest: str) -> str:
    return hmac.new(key, digest.encode(), hashlib.sha256).hexdigest()


def _key(ledger: Ledger, dataset: str) -> bytes:
    """Return the account's key, made when it is first needed."""
    states = States(ledger, dataset, released=False)
    if states.load(KEY) is None:
        states.save(KEY, 0, {"key": secrets.token_hex(32)})  # whoever is first
    state = states.load(KEY)
    if state is None:
        raise LedgerUnusable("The ledger does not keep the key of this account; nothing was spent.")
    return bytes.fromhex(state[1]["key"])
