"""What the ledger keeps and hands out: entries bound in a chain, accounts, reservations, outcomes.

An account is a list of entries that only grows. Each entry carries the hash of the one before it,
so that no past entry can be altered, dropped or slipped in without breaking every later link.
(Whoever can write to the store can still replace the whole chain or cut its end: note the newest
hash, the *head*, outside the store, and compare.)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

from whitecrow.ledger.account import Account
from whitecrow.ledger.locks import Claim
from whitecrow.terms import LINES, Budget, Policy, Remaining, policy_of

ToldAt = Callable[[datetime], datetime]
"""Given when something is written, from when on it may be told; by default from then on."""

LONGEST_WAIT = timedelta(hours=2)
"""No reply is due later. What is stamped beyond was written by a clock that was wrong, and must not
be hidden until that day."""

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
        failure), ``void`` (the custodian gives a spend back), ``alarm`` (a series gave one),
        ``closure`` (entries were lost in a restore: nothing is answered any more).
    at : str
        When, in UTC. What a service replies to at a published moment has that moment: when a
        computation ended is written nowhere.
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
    def told(self) -> bool:
        """Whether it may be told: earlier, that it is there would tell how long it took."""
        now = datetime.now(UTC)
        return not now < datetime.fromisoformat(self.at) < now + LONGEST_WAIT

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


@dataclass(frozen=True)
class AnalystAccount:
    """An analyst's own account: what was spent, and the cap if there is one."""

    spent: Account
    budget: Budget | None


@dataclass(frozen=True)
class AccountSnapshot:
    """Where a dataset stands: the promise in force and the accounts under it.

    Parameters
    ----------
    budget : Budget
        The dataset's cap.
    policy : str
        The custodian's policy, canonical JSON.
    spent : Account
        What all analysts together have spent.
    shares : mapping
        The analysts' own accounts, by name.
    seq, head : int, str
        The end of the chain.
    failures : int
        How many wait for their review; the dataset is closed to new questions while any does.
    closure : int
        The entry that closed the account for good; 0 while none has.
    """

    budget: Budget
    policy: str
    spent: Account
    shares: Mapping[str, AnalystAccount]
    seq: int
    head: str
    failures: int = 0
    closure: int = 0

    @property
    def rules(self) -> Policy:
        """The policy, read."""
        return policy_of(self.policy)

    def remaining(self, analyst: str | None = None) -> Remaining:
        """What may still be spent: of the dataset's cap, or of the analyst's if it is tighter."""
        caps = [(self.spent, self.budget)]
        mine = None if analyst is None else self.shares.get(analyst)
        if mine is not None and mine.budget is not None:
            caps.append((mine.spent, mine.budget))
        left: dict[str, Fraction] = {}
        least: Fraction | None = None
        for line in reversed(LINES):  # what counts on a line counts on all that follow
            more = min(account.to_spend(budget, line) for account, budget in caps)
            least = more if least is None else min(least, more)
            if line in self.rules.notions:
                left[line] = least
        delta = min(account.delta_left(budget) for account, budget in caps)
        unbounded = tuple(line for line in LINES if self.spent.unbounded(line))
        return Remaining(dict(reversed(left.items())), delta, unbounded)


@dataclass(frozen=True)
class Reservation:
    """A spend that is committed and waits for its answer.

    Parameters
    ----------
    seq : int
        The reserving entry.
    digest, analyst : str
        The question, and who asked it first.
    fresh : bool
        False if an earlier, interrupted ask had already paid.
    epoch : int
        How often the reservation had been taken up when the claim was taken; only the last one to
        take it up may close it.
    claim : Claim, optional
        The right to compute the answer.
    told_at : ToldAt, optional
        From when on what comes of it may be told.
    """

    seq: int
    digest: str
    analyst: str
    fresh: bool = False
    epoch: int = 0
    claim: Claim | None = field(default=None, compare=False, repr=False)
    told_at: ToldAt | None = field(default=None, compare=False, repr=False)

    def release(self) -> None:
        """Give up the right to compute."""
        if self.claim is not None:
            self.claim.release()


@dataclass(frozen=True)
class RecordedOutcome:
    """A question that was asked before: its stored answer, or that it failed.

    Parameters
    ----------
    seq, by : int
        The reserving entry, and the one that closed it.
    answered : bool
        False if the computation failed.
    reviewed : bool
        Whether the custodian has looked at the failure.
    answer : JSON value
        What was released.
    """

    seq: int
    by: int
    answered: bool
    answer: Any = None
    reviewed: bool = False


@dataclass(frozen=True)
class Records:
    """What binds a new account to its records, see :mod:`whitecrow.ledger.revisions`.

    Parameters
    ----------
    fingerprint : str
        Keyed; for the chain.
    state, key : str
        The name of a private state, and what it keeps: the key.
    """

    fingerprint: str
    state: str = field(repr=False)
    key: str = field(repr=False)
