"""Entries and the chain that binds them.

An account is a list of entries that only grows. Each entry carries the hash of the one before it,
so that no past entry can be altered, dropped or slipped in without breaking every later link.
(Whoever can write to the store can still replace the whole chain or cut its end: note the newest
hash, the *head*, outside the store, and compare.)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["GENESIS", "Entry", "canonical"]

GENESIS = "0" * 64
"""What the first entry names as its predecessor."""


def canonical(value: object) -> str:
    """Write plain JSON in its one canonical spelling.

    Examples
    --------
    >>> canonical({"b": 1, "a": [True, None]})
    '{"a":[true,null],"b":1}'
    """
    return _ENCODER.encode(value)


_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
)
_SEALED = ("previous", "dataset", "seq", "kind", "at", "analyst", "digest", "closes", "body")
"""What a hash covers, in its order."""


@dataclass(frozen=True)
class Entry:
    """One line of an account; it is never changed.

    Parameters
    ----------
    dataset : str
        Whose account.
    seq : int
        Place in the account, from 1 without gaps.
    kind : str
        ``open``, ``amend``, ``allow``, ``data`` (the custodian's acts; the last binds the account
        to a revision of the records), ``reserve``, ``settle``, ``fail`` (a question's way),
        ``halt`` (an update of a publication failed), ``review`` (the custodian has looked at a
        failure), ``void`` (the custodian gives a spend back).
    at : str
        When, in UTC.
    analyst : str
        Who asked, or whom it concerns.
    digest : str
        The identity of the question, where there is one.
    closes : int or None
        The reserving entry that this one closes.
    body : str
        The rest, canonical JSON.
    previous, hash : str
        The chain.
    """

    dataset: str
    seq: int
    kind: str
    at: str
    analyst: str
    digest: str
    closes: int | None
    body: str
    previous: str
    hash: str = ""

    @classmethod
    def sealed(cls, **fields: Any) -> Entry:
        """Make an entry that carries its hash."""
        return cls(**fields, hash=_hash(fields))

    def seal(self) -> str:
        """Return the hash that this entry must carry."""
        return _hash(vars(self))

    @property
    def content(self) -> Mapping[str, Any]:
        """The body, parsed."""
        found: Mapping[str, Any] = json.loads(self.body)
        return found

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return {
            "dataset": self.dataset,
            "seq": self.seq,
            "kind": self.kind,
            "at": self.at,
            "analyst": self.analyst,
            "digest": self.digest,
            "closes": self.closes,
            "body": self.content,
            "previous": self.previous,
            "hash": self.hash,
        }


def _hash(fields: Mapping[str, Any]) -> str:
    content = canonical([fields[name] for name in _SEALED])
    return hashlib.sha256(content.encode("ascii")).hexdigest()
