"""One dataset's account, open for writing inside one transaction.

All SQL that touches entries and accounts is here. The page is opened by locking the dataset's row,
so whatever it reads is the newest there is and stays so until the transaction ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update

from whitecrow.errors import InvalidInput
from whitecrow.ledger.account import Account
from whitecrow.ledger.budget import Budget
from whitecrow.ledger.chain import GENESIS, Entry, canonical
from whitecrow.ledger.schema import accounts, datasets, entries
from whitecrow.privacy import Unit

__all__ = ["DATASET", "Closed", "Page", "Reservation"]

DATASET = ""
"""The name under which the dataset's own account is kept beside the analysts'."""


@dataclass(frozen=True)
class Reservation:
    """A spend that is committed and waits for its answer.

    Parameters
    ----------
    seq : int
        The reserving entry.
    fresh : bool
        False if an earlier, interrupted ask had already paid.
    """

    seq: int
    fresh: bool = False


@dataclass(frozen=True)
class Closed:
    """A question that was asked before: its stored answer, or that it failed.

    Parameters
    ----------
    seq : int
        The reserving entry.
    by : int
        The entry that closed it.
    answered : bool
        False if the computation failed.
    answer : JSON value
        What was released.
    """

    seq: int
    by: int
    answered: bool
    answer: Any = None


class Page:
    """A dataset's account inside a transaction.

    Parameters
    ----------
    connection : Connection
        In a transaction that ends after the page.
    dataset : str
        Whose account.
    lock : bool
        Whether the page may be written.
    """

    def __init__(self, connection: Connection, dataset: str, *, lock: bool = True) -> None:
        self._connection = connection
        row = connection.execute(_LOCK if lock else _READ, {"name": dataset}).one_or_none()
        if row is None:
            raise InvalidInput(f"The ledger knows no dataset {dataset!r}.")
        self.name = dataset
        self.id: int = row.id
        self.seq: int = row.seq
        self.head: str = row.head
        self.budget = Budget.of(json.loads(row.budget))
        self.policy: Mapping[str, Any] = json.loads(row.policy)

    @classmethod
    def create(
        cls,
        connection: Connection,
        dataset: str,
        budget: Budget,
        policy: Mapping[str, Any],
        unit: Unit,
    ) -> Page:
        """Open a new account."""
        found = {"budget": budget.to_json(), "policy": policy}
        connection.execute(
            insert(datasets),
            {
                "name": dataset,
                "seq": 0,
                "head": GENESIS,
                **{key: canonical(value) for key, value in found.items()},
            },
        )
        page = cls(connection, dataset)
        page.write(DATASET, Account(unit=unit), None, new=True)
        page.append("open", body={**found, "unit": unit})
        return page

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
        """Write one entry and move the end of the chain; a page appends once."""
        at = datetime.now(UTC).isoformat(timespec="microseconds")
        entry = Entry.sealed(
            dataset=self.name,
            seq=self.seq + 1,
            kind=kind,
            at=at,
            analyst=analyst,
            digest=digest,
            closes=closes,
            body=canonical(body),
            previous=self.head,
        )
        self._connection.execute(_APPEND, {**vars(entry), "dataset": self.id})
        self.seq, self.head = entry.seq, entry.hash
        self._connection.execute(_MOVE, {"page": self.id, "seq": self.seq, "head": self.head})
        return entry

    def promise(self, budget: Budget, policy: Mapping[str, Any]) -> None:
        """Replace the standing promise."""
        self.budget, self.policy = budget, policy
        self._connection.execute(
            update(datasets).where(datasets.c.id == self.id),
            {"budget": canonical(budget.to_json()), "policy": canonical(policy)},
        )

    def write(self, name: str, spent: Account, budget: Budget | None, *, new: bool) -> None:
        """Write an account's sums and cap."""
        self._connection.execute(
            _INSERT_ACCOUNT if new else _UPDATE_ACCOUNT,
            {
                "page": self.id,
                "whose": name,
                "spent": canonical(spent.to_json()),
                "budget": None if budget is None else canonical(budget.to_json()),
            },
        )

    # Reading

    def accounts(self, analyst: str | None = None) -> dict[str, tuple[Account, Budget | None]]:
        """The dataset's account and one analyst's, or everybody's, by name."""
        rows = (
            self._connection.execute(_ALL_ACCOUNTS, {"page": self.id})
            if analyst is None
            else self._connection.execute(_ACCOUNTS, {"page": self.id, "whose": analyst})
        )
        return {
            row.analyst: (
                Account.from_json(json.loads(row.spent)),
                None if row.budget is None else Budget.of(json.loads(row.budget)),
            )
            for row in rows
        }

    def outcome(self, digest: str) -> Reservation | Closed | None:
        """What became of a question: open, closed, or never asked (or void)."""
        found: Reservation | Closed | None = None
        for row in self._connection.execute(_BY_QUESTION, {"page": self.id, "digest": digest}):
            if row.kind == "reserve":
                found = Reservation(row.seq)
            elif row.kind == "void":
                found = None
            else:
                answered = row.kind == "settle"
                answer = json.loads(row.body)["answer"] if answered else None
                found = Closed(row.closes, row.seq, answered, answer)
        return found

    def entries(self, after: int = 0, *, kinds: Iterable[str] = ()) -> Iterator[Entry]:
        """Entries in order."""
        query = _entries_after(tuple(kinds))
        for row in self._connection.execute(query, {"page": self.id, "after": after}):
            yield _entry(row, self.name)

    def entry(self, seq: int) -> Entry | None:
        """One entry."""
        row = self._connection.execute(_ONE, {"page": self.id, "seq": seq}).one_or_none()
        return None if row is None else _entry(row, self.name)


def _entry(row: Row[Any], dataset: str) -> Entry:
    return Entry(**{**row._mapping, "dataset": dataset})


def _entries_after(kinds: tuple[str, ...]) -> Any:
    query = select(entries).where(
        entries.c.dataset == bindparam("page"), entries.c.seq > bindparam("after")
    )
    if kinds:
        query = query.where(entries.c.kind.in_(kinds))
    return query.order_by(entries.c.seq)


# Built once: SQLAlchemy caches the compiled text by the statement's shape.
_READ = select(datasets).where(datasets.c.name == bindparam("name"))
_LOCK = _READ.with_for_update()
_APPEND = insert(entries)
_MOVE = (
    update(datasets)
    .where(datasets.c.id == bindparam("page"))
    .values(seq=bindparam("seq"), head=bindparam("head"))
)
_INSERT_ACCOUNT = insert(accounts).values(
    dataset=bindparam("page"),
    analyst=bindparam("whose"),
    spent=bindparam("spent"),
    budget=bindparam("budget"),
)
_UPDATE_ACCOUNT = (
    update(accounts)
    .where(accounts.c.dataset == bindparam("page"), accounts.c.analyst == bindparam("whose"))
    .values(spent=bindparam("spent"), budget=bindparam("budget"))
)
_ALL_ACCOUNTS = select(accounts).where(accounts.c.dataset == bindparam("page"))
_ACCOUNTS = _ALL_ACCOUNTS.where(accounts.c.analyst.in_([DATASET, bindparam("whose")]))
_BY_QUESTION = (
    select(entries.c.seq, entries.c.kind, entries.c.closes, entries.c.body)
    .where(entries.c.dataset == bindparam("page"), entries.c.digest == bindparam("digest"))
    .order_by(entries.c.seq)
)
_ONE = select(entries).where(
    entries.c.dataset == bindparam("page"), entries.c.seq == bindparam("seq")
)
