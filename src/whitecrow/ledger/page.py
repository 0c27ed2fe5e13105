"""One dataset's account, open inside one transaction.

All SQL that touches entries and accounts is here. A page that may write is opened by locking the
dataset's row, so whatever it reads is the newest there is and stays so until the transaction ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import and_, bindparam, insert, or_, select, update

from whitecrow.errors import InvalidInput, LedgerCorrupt
from whitecrow.ledger.account import Account
from whitecrow.ledger.budget import Budget
from whitecrow.ledger.chain import GENESIS, Entry, canonical
from whitecrow.ledger.claims import Claim
from whitecrow.ledger.schema import accounts, datasets, entries, publishers
from whitecrow.ledger.session import Session
from whitecrow.privacy import Unit

__all__ = ["Closed", "Page", "Records", "Reservation", "Share", "Standing"]


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
    claim : Claim, optional
        The right to compute the answer.
    """

    seq: int
    digest: str
    analyst: str
    fresh: bool = False
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

    def outcome(self, digest: str) -> Reservation | Closed | None:
        """What became of a question: open, closed, or never asked (or void)."""
        found: Reservation | Closed | None = None
        for row in self.session.rows(_BY_QUESTION, page=self.id, asked=digest):
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

    def entries(self, after: int = 0, *, kinds: Iterable[str] = ()) -> Iterator[Entry]:
        """Entries in order."""
        query = _entries_after(tuple(kinds))
        for row in self.session.rows(query, page=self.id, after=after):
            yield _entry(row, self.name)

    def unsettled(self) -> list[Entry]:
        """Reservations that nothing has closed, or only a failure that was not given back."""
        rows = self.session.rows(_UNSETTLED, page=self.id)
        return [_entry(row, self.name) for row in rows]

    def entry(self, seq: int) -> Entry | None:
        """One entry."""
        row = self.session.one(_ONE, page=self.id, at_seq=seq)
        return None if row is None else _entry(row, self.name)


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


@lru_cache
def _entries_after(kinds: tuple[str, ...]) -> Any:
    query = select(entries).where(
        entries.c.dataset == bindparam("page"), entries.c.seq > bindparam("after")
    )
    if kinds:
        query = query.where(or_(*(entries.c.kind == kind for kind in kinds)))
    return query.order_by(entries.c.seq)


_FIELDS = tuple(column.name for column in entries.columns)

# Built once, compiled once. Parameters must not be called like columns that a statement sets.
_READ = select(datasets).where(datasets.c.name == bindparam("dataset_name"))
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
_closing, _voiding = entries.alias(), entries.alias()
_UNSETTLED = (
    select(entries)
    .outerjoin(
        _closing,
        and_(_closing.c.dataset == entries.c.dataset, _closing.c.closes == entries.c.seq),
    )
    .outerjoin(
        _voiding,
        and_(_voiding.c.dataset == entries.c.dataset, _voiding.c.closes == _closing.c.seq),
    )
    .where(
        entries.c.dataset == bindparam("page"),
        entries.c.kind == "reserve",
        or_(_closing.c.kind.is_(None), _closing.c.kind == "fail"),
        _voiding.c.seq.is_(None),
    )
    .order_by(entries.c.seq)
)
_ONE = select(entries).where(
    entries.c.dataset == bindparam("page"), entries.c.seq == bindparam("at_seq")
)
