"""One dataset's account, open inside one transaction.

All SQL that touches entries and accounts is here. A page that may write is opened by locking the
dataset's row, so whatever it reads is the newest there is and stays so until the transaction ends.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import bindparam, delete, insert, select, text, update

from whitecrow.errors import InvalidInput, LedgerCorrupt
from whitecrow.ledger.account import Account
from whitecrow.ledger.budget import Budget
from whitecrow.ledger.chain import GENESIS, Entry, canonical
from whitecrow.ledger.claims import Claim
from whitecrow.ledger.schema import accounts, datasets, entries, publishers, terms, unsettled
from whitecrow.ledger.session import Session
from whitecrow.privacy import (
    ConditionalPrivacy,
    Guarantee,
    SensitivePrivacy,
    Unit,
    Zone,
    intersect,
)

__all__ = [
    "Closed",
    "Page",
    "Records",
    "Reservation",
    "Share",
    "Standing",
    "has_hash",
    "joint_terms",
    "names",
    "terms_of",
]


@dataclass(frozen=True)
class Share:
    """An analyst's own account: what was spent, and the cap if there is one."""

    spent: Account
    budget: Budget | None


@dataclass(frozen=True)
class Standing:
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
    """

    budget: Budget
    policy: str
    spent: Account
    shares: Mapping[str, Share]
    seq: int
    head: str
    failures: int = 0


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
    """

    seq: int
    digest: str
    analyst: str
    fresh: bool = False
    epoch: int = 0
    claim: Claim | None = field(default=None, compare=False, repr=False)

    def release(self) -> None:
        """Give up the right to compute."""
        if self.claim is not None:
            self.claim.release()


@dataclass(frozen=True)
class Closed:
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


class Page:
    """A dataset's account inside a transaction.

    Parameters
    ----------
    session : Session
        The transaction.
    dataset : str
        Whose account.
    lock : bool
        Whether the page may be written.
    """

    def __init__(self, session: Session, dataset: str, *, lock: bool = True) -> None:
        self.session = session
        row = session.one(_LOCK if lock else _READ, dataset_name=dataset)
        if row is None:
            raise InvalidInput(f"The ledger knows no dataset {dataset!r}.")
        self.name = dataset
        self.id: int = row.id
        self.seq: int = row.seq
        self.head: str = row.head
        self.policy: str = row.policy
        self._budget: Budget | str = row.budget
        self._spent: Account | str = row.spent
        self.failures: int = row.failures

    @classmethod
    def register(
        cls,
        session: Session,
        dataset: str,
        budget: Budget,
        policy: str,
        unit: Unit,
        act: Mapping[str, Any],
        records: Records | None = None,
    ) -> None:
        """Open a new account, unless another process was first; ``act`` says who did and why."""
        if session.one(_READ, dataset_name=dataset) is not None:
            return
        session.run(
            _REGISTER,
            name=dataset,
            seq=0,
            head=GENESIS,
            budget=canonical(budget.to_json()),
            policy=policy,
            spent=canonical(Account(unit=unit).to_json()),
        )
        body = {**act, "budget": budget.to_json(), "policy": json.loads(policy), "unit": unit}
        page = cls(session, dataset)
        if records is not None:
            body["data"] = {"revision": 1, "fingerprint": records.fingerprint}
            values = {"dataset": page.id, "name": records.state, "version": 0}
            session.run(_KEEP, **values, state=records.key)
        page.append("open", body=body)

    @property
    def budget(self) -> Budget:
        """The dataset's cap; read when it is needed, written when it is set."""
        return _budget(self._budget) if isinstance(self._budget, str) else self._budget

    @budget.setter
    def budget(self, new: Budget) -> None:
        self._budget = new

    @property
    def spent(self) -> Account:
        """What all analysts together have spent."""
        return _account(self._spent) if isinstance(self._spent, str) else self._spent

    @spent.setter
    def spent(self, new: Account) -> None:
        self._spent = new

    # Writing

    def append(
        self,
        kind: str,
        *,
        body: Mapping[str, Any],
        analyst: str = "",
        digest: str = "",
        closes: int | None = None,
    ) -> Entry:
        """Write one entry, move the end of the chain, and write the page's sums and promise."""
        entry = Entry.sealed(
            dataset=self.name,
            seq=self.seq + 1,
            kind=kind,
            at=datetime.now(UTC).isoformat(timespec="microseconds"),
            analyst=analyst,
            digest=digest,
            closes=closes,
            body=canonical(body),
            previous=self.head,
        )
        self.session.run(_APPEND, **{**vars(entry), "dataset": self.id})
        self.seq, self.head = entry.seq, entry.hash
        self.session.run(
            _MOVE,
            page=self.id,
            new_seq=self.seq,
            new_head=self.head,
            new_budget=_text(self._budget),
            new_policy=self.policy,
            new_spent=_text(self._spent),
            new_failures=self.failures,
        )
        return entry

    def write_share(self, analyst: str, share: Share, *, new: bool) -> None:
        """Write an analyst's account."""
        self.session.run(
            _INSERT_SHARE if new else _UPDATE_SHARE,
            page=self.id,
            whose=analyst,
            new_spent=_text(share.spent),
            new_budget=None if share.budget is None else _text(share.budget),
        )

    # What is open, and on which terms: derived from the entries, kept up to date with them

    def open_reservation(self, seq: int) -> None:
        """Note that a reservation has no answer yet."""
        self.session.run(_OPENED, page=self.id, at_seq=seq)

    def close_reservation(self, seq: int) -> None:
        """Note that a reservation was answered or given back."""
        self.session.run(_SETTLED, page=self.id, at_seq=seq)

    def epoch(self, seq: int) -> int | None:
        """How often a reservation was taken up; None if it is not open."""
        row = self.session.one(_EPOCH, page=self.id, at_seq=seq)
        return None if row is None else int(row.epoch)

    def take_up(self, seq: int) -> int:
        """Count that somebody begins to compute an answer; whoever did before has lost the right.

        Raises
        ------
        LedgerCorrupt
            If the reservation is not among those that are open.
        """
        before = self.epoch(seq)
        if before is None:
            raise LedgerCorrupt(
                "A reservation is missing from those that wait; run 'whitecrow ledger verify'."
            )
        self.session.run(_TAKE_UP, page=self.id, at_seq=seq, new_epoch=before + 1)
        return before + 1

    def add_terms(self, analyst: str, price: Guarantee) -> None:
        """Count the zones and conditions of a release."""
        for digest, term in terms_of(price):
            self.session.run(_ADD_TERM, page=self.id, whose=analyst, digest=digest, term=term)

    def remove_terms(self, analyst: str, price: Guarantee) -> None:
        """Count the zones and conditions of a release that was given back."""
        for digest, _ in terms_of(price):
            self.session.run(_LESS_TERM, page=self.id, whose=analyst, digest=digest)
        self.session.run(_NO_TERM, page=self.id, whose=analyst)

    def all_terms(self) -> dict[str, dict[str, int]]:
        """How many standing releases of each analyst have a term."""
        found: dict[str, dict[str, int]] = {}
        for row in self.session.rows(_ALL_TERMS, page=self.id):
            found.setdefault(row.analyst, {})[row.term] = row.number
        return found

    def open_reservations(self) -> set[int]:
        """The reservations that have no answer."""
        return {row.seq for row in self.session.rows(_ALL_OPEN, page=self.id)}

    def terms(self, analyst: str | None = None) -> tuple[tuple[Zone, ...], tuple[str, ...]]:
        """The zones and conditions of all standing releases, or of one analyst's."""
        query = _TERMS if analyst is None else _OWN_TERMS
        given = {} if analyst is None else {"whose": analyst}
        return joint_terms(row.term for row in self.session.rows(query, page=self.id, **given))

    # Reading

    def share(self, analyst: str) -> Share | None:
        """One analyst's account."""
        row = self.session.one(_SHARE, page=self.id, whose=analyst)
        return None if row is None else _share(row)

    def shares(self) -> dict[str, Share]:
        """Every analyst's account."""
        rows = self.session.rows(_SHARES, page=self.id)
        return {row.analyst: _share(row) for row in rows}

    def standing(self, shares: Mapping[str, Share]) -> Standing:
        """Where the dataset stands, with these analysts' accounts."""
        return Standing(
            self.budget, self.policy, self.spent, shares, self.seq, self.head, self.failures
        )

    def outcome(self, digest: str, *, before: int | None = None) -> Reservation | Closed | None:
        """What became of a question: open, closed, or never asked (or void).

        With ``before``, as it was before that entry.
        """
        found: Reservation | Closed | None = None
        for row in self.session.rows(_BY_QUESTION, page=self.id, asked=digest):
            if before is not None and row.seq >= before:
                break
            if row.kind == "reserve":
                found = Reservation(row.seq, digest, row.analyst)
            elif row.kind == "void":
                found = None
            elif row.kind == "review" and isinstance(found, Closed):
                # The failure is closed; what gives the spend back closes the review.
                found = replace(found, by=row.seq, reviewed=True)
            else:
                answered = row.kind == "settle"
                answer = _parsed(row.body)["answer"] if answered else None
                found = Closed(row.closes, row.seq, answered, answer)
        return found

    def entries(self, after: int = 0) -> Iterator[Entry]:
        """Entries in order, read in portions."""
        while True:
            found = self.some_entries(after=after, limit=_AT_ONCE)
            yield from found
            if len(found) < _AT_ONCE:
                return
            after = found[-1].seq

    def some_entries(
        self,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int | None = None,
        skip: int | None = None,
        newest_first: bool = False,
        analyst: str | None = None,
        kind: str | None = None,
    ) -> list[Entry]:
        """Entries between two others, some of them, one analyst's or one kind."""
        limits = {
            "before": before,
            "most": limit,
            "skipped": skip,
            "whose": analyst,
            "of_kind": kind,
        }
        given = {name: value for name, value in limits.items() if value is not None}
        query = _some_entries(frozenset(given), newest_first)
        rows = self.session.rows(query, page=self.id, after=after, **given)
        return [_entry(row, self.name) for row in rows]

    def closing(self, seqs: Sequence[int]) -> dict[int, Entry]:
        """What closed these entries, by the entry that was closed."""
        if not seqs:
            return {}
        rows = self.session.rows(_closing_of(len(seqs)), page=self.id, **_numbered(seqs))
        return {row.closes: _entry(row, self.name) for row in rows}

    def unsettled(self) -> list[Entry]:
        """Reservations that nothing has closed, or only a failure that nobody has reviewed."""
        rows = self.session.rows(_UNSETTLED, page=self.id)
        return [_entry(row, self.name) for row in rows]

    def entry(self, seq: int) -> Entry | None:
        """One entry."""
        row = self.session.one(_ONE, page=self.id, at_seq=seq)
        return None if row is None else _entry(row, self.name)


def names(session: Session) -> tuple[str, ...]:
    """The names of all datasets."""
    return tuple(row.name for row in session.rows(_NAMES))


def _parsed(written: str) -> Any:
    try:
        return json.loads(written)
    except ValueError:
        raise LedgerCorrupt(
            "The ledger holds a text that is not JSON; run 'whitecrow ledger verify'."
        ) from None


@lru_cache(maxsize=64)
def _budget(written: str) -> Budget:
    return Budget.of(_parsed(written))


def _account(written: str) -> Account:
    known = _ACCOUNTS.get(written)
    if known is None:
        try:
            known = Account.from_json(_parsed(written))
        except (KeyError, ValueError, TypeError):
            raise LedgerCorrupt(
                "The ledger holds sums that cannot be read; run 'whitecrow ledger verify'."
            ) from None
        _remember(written, known)
    return known


def _text(value: Budget | Account | str) -> str:
    """Write sums or a cap; what was read and did not change is still the text it was."""
    if isinstance(value, str):
        return value
    if isinstance(value, Budget):
        return _budget_text(value)
    written = canonical(value.to_json())
    _remember(written, value)
    return written


@lru_cache(maxsize=64)
def _budget_text(budget: Budget) -> str:
    return canonical(budget.to_json())


_ACCOUNTS: dict[str, Account] = {}
"""Sums by their text, which says all of them: what was just written is read next."""


def _remember(written: str, account: Account) -> None:
    if len(_ACCOUNTS) >= _MOST_ACCOUNTS:
        _ACCOUNTS.clear()
    _ACCOUNTS[written] = account


_MOST_ACCOUNTS = 256


def _share(row: Any) -> Share:
    return Share(_account(row.spent), None if row.budget is None else _budget(row.budget))


def _entry(row: Any, dataset: str) -> Entry:
    return Entry(**{**row._asdict(), "dataset": dataset})


def has_hash(session: Session, hash_: str) -> bool:
    """Whether any entry of any dataset has this hash."""
    return session.one(_HASH, noted=hash_) is not None


def joint_terms(written: Iterable[str]) -> tuple[tuple[Zone, ...], tuple[str, ...]]:
    """The zones and conditions that several releases have together."""
    found = [_parsed(term) for term in written]
    zones = intersect(Zone.from_json(one["zone"]) for one in found if "zone" in one)
    return zones, tuple(sorted({one["condition"] for one in found if "condition" in one}))


def terms_of(price: Guarantee) -> list[tuple[str, str]]:
    """The zones and conditions of a promise, each with a short name."""
    listed: list[dict[str, Any]] = []
    if isinstance(price, SensitivePrivacy | ConditionalPrivacy):
        listed += [{"zone": zone.to_json()} for zone in price.zones if not zone.everyone]
    if isinstance(price, ConditionalPrivacy):
        listed += [{"condition": one} for one in price.conditions]
    written = dict.fromkeys(canonical(one) for one in listed)
    return [(hashlib.sha256(one.encode("ascii")).hexdigest(), one) for one in written]


@lru_cache
def _some_entries(limits: frozenset[str], newest_first: bool) -> Any:
    query = select(entries).where(
        entries.c.dataset == bindparam("page"), entries.c.seq > bindparam("after")
    )
    conditions = {
        "before": entries.c.seq < bindparam("before"),
        "whose": entries.c.analyst == bindparam("whose"),
        "of_kind": entries.c.kind == bindparam("of_kind"),
    }
    query = query.where(*(conditions[name] for name in sorted(limits - {"most", "skipped"})))
    query = query.order_by(entries.c.seq.desc() if newest_first else entries.c.seq)
    if "most" in limits:
        query = query.limit(bindparam("most"))
    return query.offset(bindparam("skipped")) if "skipped" in limits else query


@lru_cache(maxsize=32)
def _closing_of(count: int) -> Any:
    return select(entries).where(
        entries.c.dataset == bindparam("page"),
        entries.c.closes.in_([bindparam(f"closed{i}") for i in range(count)]),
    )


def _numbered(seqs: Sequence[int]) -> dict[str, int]:
    return {f"closed{i}": seq for i, seq in enumerate(seqs)}


_AT_ONCE = 2000
"""How many entries are read at once."""

_FIELDS = tuple(column.name for column in entries.columns)

# Built once, compiled once. Parameters must not be called like columns that a statement sets.
_READ = select(datasets).where(datasets.c.name == bindparam("dataset_name"))
_NAMES = select(datasets.c.name).order_by(datasets.c.name)
_LOCK = _READ.with_for_update()
_REGISTER = insert(datasets).values(
    {name: bindparam(name) for name in ("name", "seq", "head", "budget", "policy", "spent")}
)
_KEEP = insert(publishers).values(
    {name: bindparam(name) for name in ("dataset", "name", "version", "state")}
)
_APPEND = insert(entries).values({name: bindparam(name) for name in _FIELDS})
_MOVE = (
    update(datasets)
    .where(datasets.c.id == bindparam("page"))
    .values(
        {n: bindparam(f"new_{n}") for n in ("seq", "head", "budget", "policy", "spent", "failures")}
    )
)
_INSERT_SHARE = insert(accounts).values(
    dataset=bindparam("page"),
    analyst=bindparam("whose"),
    spent=bindparam("new_spent"),
    budget=bindparam("new_budget"),
)
_UPDATE_SHARE = (
    update(accounts)
    .where(accounts.c.dataset == bindparam("page"), accounts.c.analyst == bindparam("whose"))
    .values(spent=bindparam("new_spent"), budget=bindparam("new_budget"))
)
_SHARES = select(accounts).where(accounts.c.dataset == bindparam("page"))
_SHARE = _SHARES.where(accounts.c.analyst == bindparam("whose"))
_BY_QUESTION = (
    select(entries.c.seq, entries.c.kind, entries.c.analyst, entries.c.closes, entries.c.body)
    .where(entries.c.dataset == bindparam("page"), entries.c.digest == bindparam("asked"))
    .order_by(entries.c.seq)
)
_UNSETTLED = (
    select(entries)
    .where(
        entries.c.dataset == bindparam("page"),
        entries.c.seq.in_(select(unsettled.c.seq).where(unsettled.c.dataset == bindparam("page"))),
    )
    .order_by(entries.c.seq)
)
_ONE = select(entries).where(
    entries.c.dataset == bindparam("page"), entries.c.seq == bindparam("at_seq")
)
_AT = (unsettled.c.dataset == bindparam("page"), unsettled.c.seq == bindparam("at_seq"))
_OPENED = insert(unsettled).values(dataset=bindparam("page"), seq=bindparam("at_seq"), epoch=1)
_SETTLED = delete(unsettled).where(*_AT)
_EPOCH = select(unsettled.c.epoch).where(*_AT)
_TAKE_UP = update(unsettled).where(*_AT).values(epoch=bindparam("new_epoch"))
_ADD_TERM = text(
    "INSERT INTO terms (dataset, analyst, digest, term, number) "
    "VALUES (:page, :whose, :digest, :term, 1) "
    "ON CONFLICT (dataset, analyst, digest) DO UPDATE SET number = terms.number + 1"
)
_OF_TERM = (terms.c.dataset == bindparam("page"), terms.c.analyst == bindparam("whose"))
_LESS_TERM = (
    update(terms)
    .where(*_OF_TERM, terms.c.digest == bindparam("digest"))
    .values(number=terms.c.number - 1)
)
_NO_TERM = delete(terms).where(*_OF_TERM, terms.c.number <= 0)
_TERMS = select(terms.c.term).where(terms.c.dataset == bindparam("page")).distinct()
_OWN_TERMS = select(terms.c.term).where(*_OF_TERM)
_ALL_TERMS = select(terms).where(terms.c.dataset == bindparam("page"))
_ALL_OPEN = select(unsettled.c.seq).where(unsettled.c.dataset == bindparam("page"))
_HASH = select(entries.c.seq).where(entries.c.hash == bindparam("noted")).limit(1)
