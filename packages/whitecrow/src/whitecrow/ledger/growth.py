"""Data that only grow: how an account sees that what was there is still there, unchanged.

A custodian may declare that records are only ever added (*insert-only*). The account then keeps a
keyed hash (HMAC-SHA256) of every chunk of the records: of runs of rows in their order, or of whole
files of a folder. The next revision must hold all of these chunks, rows at the front and in the
same order. Otherwise the act is refused, and nobody is told which chunk it was.

The hashes are kept beside the chain, like the key; the chain binds them by one hash over all.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from whitecrow.errors import AccountConflict, DataChanged, InvalidInput, LedgerUnusable, invalid
from whitecrow.ledger.account import canonical
from whitecrow.ledger.states import States, keep
from whitecrow.ledger.store import Ledger
from whitecrow.ledger.transaction import AccountTransaction

ANY, INSERT_ONLY = "any", "insert-only"
GROWTH = (INSERT_ONLY, ANY)
"""What a custodian may declare of the next revision; without a word the last declaration holds."""

CHUNKS = "data chunks"
"""Under which name the chunks are kept among the account's private states."""

Chunks = Callable[[Iterable[str]], Mapping[str, str]]
"""Reads the records and returns a digest by chunk, cut as the given earlier chunks were."""


@dataclass(frozen=True)
class Grown:
    """The keyed chunks of a revision, to be written with it."""

    chunks: Mapping[str, str]  # A keyed hash by chunk. Private: the labels count rows.
    fingerprint: str  # one keyed hash over all; for the chain

    def __repr__(self) -> str:
        return "<chunks withheld>"

    def keep(self, account: AccountTransaction) -> None:
        """Write the chunks, in the transaction that records their revision."""
        keep(account, CHUNKS, dict(self.chunks))


def checked(growth: str | None) -> str | None:
    """Return a declaration, or say what can be declared."""
    if growth is not None and growth not in GROWTH:
        raise invalid("a revision", "growth", f"one of {', '.join(GROWTH)}", growth)
    return growth


def grown(
    ledger: Ledger, dataset: str, key: bytes, chunks: Chunks | None, before: str | None
) -> Grown:
    """Read the chunks of records, and see that those of the revision before are among them.

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
    earlier = {} if before is None else _kept(ledger, dataset, key, before)
    found = {label: _keyed(key, label, digest) for label, digest in chunks(earlier).items()}
    if not earlier.items() <= found.items():
        raise not_grown(dataset)
    return Grown(found, _over(key, found))


def not_grown(dataset: str) -> DataChanged:
    """Say that records were not only added, and what the custodian can do; not which."""
    return DataChanged(
        f"The account {dataset!r} declares that records are only added at the end, and these are "
        "not the earlier records, unchanged and in their order, with others after them; nothing "
        "was recorded. If rows were put in another order, restore it (a query needs ORDER BY). If "
        "records were corrected or removed, say so with growth='any' (--growth any): what is asked "
        "from then on adds up with what was asked before."
    )


def late() -> AccountConflict:
    """Say that an earlier revision cannot be declared."""
    return AccountConflict(
        "These records are an earlier revision of the account; growth is declared of the newest."
    )


def _kept(ledger: Ledger, dataset: str, key: bytes, before: str) -> dict[str, str]:
    found = States(ledger, dataset, released=False).load(CHUNKS)
    if found is None or _over(key, found[1]) != before:
        raise LedgerUnusable(
            "The ledger does not keep the chunks of the last revision as they were recorded; "
            "nothing was changed. Record these records with growth='any' (--growth any)."
        )
    return dict(found[1])


def _keyed(key: bytes, label: str, digest: str) -> str:
    return hmac.new(key, f"{label}\0{digest}".encode(), hashlib.sha256).hexdigest()


def _over(key: bytes, chunks: Mapping[str, str]) -> str:
    return hmac.new(key, canonical(dict(chunks)).encode(), hashlib.sha256).hexdigest()
