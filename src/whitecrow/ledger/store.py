"""The ledger: reserve, settle, fail, void; each a single durable transaction.

A question's way: ``reserve`` commits the spend before the first private value is read; ``settle``
commits the answer before it is sent. Whoever dies in between leaves a reservation behind: nothing
was released, the spend is kept, and the same question asked again takes the reservation up instead
of paying twice. The custodian may ``void`` a reservation that was never answered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import select

from whitecrow.errors import InvalidInput, PolicyViolation
from whitecrow.ledger.account import Account, Located, admit, in_unit
from whitecrow.ledger.atlases import AtlasMaker, Charts, Location, recount
from whitecrow.ledger.budget import Budget
from whitecrow.ledger.chain import Entry
from whitecrow.ledger.database import Database
from whitecrow.ledger.migration import migrate
from whitecrow.ledger.page import DATASET, Closed, Page, Reservation
from whitecrow.ledger.schema import datasets
from whitecrow.privacy import Guarantee, Unit

__all__ = ["Ledger", "Standing"]


@dataclass(frozen=True)
class Standing:
    """Where a dataset stands: the promise in force and the accounts under it.

    Parameters
    ----------
    budget : Budget
        The dataset's cap.
    policy : mapping
        The custodian's policy, as recorded.
    accounts : mapping
        By name: what was spent and the cap, if any. The empty name is the dataset.
    seq, head : int, str
        The end of the chain.
    """

    budget: Budget
    policy: Mapping[str, Any]
    accounts: Mapping[str, tuple[Account, Budget | None]]
    seq: int
    head: str

    @property
    def spent(self) -> Account:
        """What all analysts together have spent."""
        return self.accounts[DATASET][0]


class Ledger:
    """The durable account of what has been spent, with the released answers.

    Parameters
    ----------
    url : str or Path
        ``sqlite:///file``, ``sqlite://`` (in memory), ``postgresql+psycopg://...``, or a file name.
    atlas : callable, optional
        Makes an empty atlas for spatial accounting. Without one, located questions add up.

    Examples
    --------
    >>> from whitecrow.privacy import DifferentialPrivacy
    >>> ledger = Ledger("sqlite://")
    >>> _ = ledger.open("clinic", budget=Budget.of("1"))
    >>> price = DifferentialPrivacy("1/4")
    >>> held = ledger.reserve("clinic", analyst="ana", digest="d", question={}, price=price)
    >>> ledger.settle("clinic", held, 17).answer
    17
    >>> again = ledger.reserve("clinic", analyst="ana", digest="d", question={}, price=price)
    >>> again.answer
    17
    """

    def __init__(self, url: str | Path, *, atlas: AtlasMaker | None = None) -> None:
        self.database = Database(url)
        self._atlas = atlas
        self._charts: dict[tuple[int, str], Charts] = {}
        migrate(self.database)

    @contextmanager
    def page(self, dataset: str, *, write: bool = True) -> Iterator[Page]:
        """Open a dataset's account for one transaction."""
        with self.database.transaction(write=write) as connection:
            yield Page(connection, dataset, lock=write)

    # A question's way

    def find(self, dataset: str, digest: str) -> Reservation | Closed | None:
        """What became of a question, without locking anything."""
        with self.page(dataset, write=False) as page:
            return page.outcome(digest)

    def reserve(
        self,
        dataset: str,
        *,
        analyst: str,
        digest: str,
        question: Mapping[str, Any],
        price: Guarantee,
        location: Location | None = None,
    ) -> Reservation | Closed:
        """Commit a spend, unless the question was asked before.

        Parameters
        ----------
        dataset, analyst : str
            Whose data, who asks.
        digest : str
            The identity of the question.
        question : mapping
            Its canonical JSON, for the record.
        price : Guarantee
            What the release will promise.
        location : mapping, optional
            The ball a located question looks at; its price must be pure.

        Raises
        ------
        BudgetExhausted
            If the dataset's cap or the analyst's would be exceeded.
        """
        with self.page(dataset) as page:
            known = page.outcome(digest)
            if known is not None:
                return known
            found = page.accounts(analyst)
            unit = found[DATASET][0].unit
            price = in_unit(price, unit)
            if self._atlas is None:
                location = None
            extras = {}
            for name in dict.fromkeys((DATASET, analyst)):
                account, budget = found.get(name, (Account(unit=unit), None))
                extra = None if location is None else self._extra(page, name, price, location)
                if name == DATASET:
                    account = admit(account, page.budget, price, extra, whose="The dataset")
                elif budget is not None:
                    account = admit(account, budget, price, extra, whose=f"Analyst {name!r}")
                else:
                    account = account.with_release(price, extra)
                page.write(name, account, budget, new=name not in found)
                extras[name] = None if extra is None else extra.to_json()
            entry = page.append(
                "reserve",
                analyst=analyst,
                digest=digest,
                body={
                    "question": question,
                    "price": price.to_json(),
                    "location": location,
                    "extra": None if location is None else extras,
                },
            )
            return Reservation(entry.seq, fresh=True)

    def settle(self, dataset: str, held: Reservation, answer: Any) -> Closed:
        """Store the answer with its spend; the first answer to a reservation is the only one."""
        return self._close(dataset, held, "settle", {"answer": answer})

    def fail(self, dataset: str, held: Reservation) -> Closed:
        """Record that the computation failed: the spend is kept, nothing was released."""
        return self._close(dataset, held, "fail", {})

    def _close(self, dataset: str, held: Reservation, kind: str, body: Mapping[str, Any]) -> Closed:
        with self.page(dataset) as page:
            reserved = page.entry(held.seq)
            if reserved is None or reserved.kind != "reserve":
                raise InvalidInput(f"Entry {held.seq} is not a reservation.")
            known = page.outcome(reserved.digest)
            if isinstance(known, Closed) and known.seq == held.seq:
                return known
            if known is None or known.seq != held.seq:
                raise PolicyViolation(
                    "This question's spend was given back while it was being computed; nothing was "
                    "released. Ask again."
                )
            entry = page.append(
                kind,
                analyst=reserved.analyst,
                digest=reserved.digest,
                closes=held.seq,
                body=body,
            )
            return Closed(held.seq, entry.seq, kind == "settle", body.get("answer"))

    def _extra(self, page: Page, name: str, price: Guarantee, location: Location) -> Located:
        """What a located question adds to one account; inside the transaction that decides."""
        assert self._atlas is not None
        charts = self._charts.setdefault((page.id, name), Charts(self._atlas))
        charts.catch_up(
            lambda after: (
                entry
                for entry in page.entries(after, kinds=("reserve", "void"))
                if name in (DATASET, entry.analyst)
            )
        )
        return charts.extra(price, location)

    # The custodian's acts

    def open(
        self,
        dataset: str,
        *,
        budget: Budget,
        policy: Mapping[str, Any] | None = None,
        unit: Unit = "add_remove",
    ) -> Standing:
        """Register a dataset, or return what stands for it if it is known."""
        with self.database.transaction() as connection:
            known = connection.execute(
                select(datasets.c.id).where(datasets.c.name == dataset)
            ).one_or_none()
            if known is None:
                Page.create(connection, dataset, budget, policy or {}, unit)
        return self.standing(dataset)

    def amend(
        self,
        dataset: str,
        *,
        reason: str,
        budget: Budget | None = None,
        policy: Mapping[str, Any] | None = None,
    ) -> None:
        """Change the promise: a deliberate act, with a reason, that the chain remembers."""
        _need_reason(reason)
        with self.page(dataset) as page:
            page.promise(
                page.budget if budget is None else budget,
                page.policy if policy is None else policy,
            )
            page.append(
                "amend",
                body={
                    "reason": reason,
                    "budget": page.budget.to_json(),
                    "policy": page.policy,
                },
            )

    def allow(self, dataset: str, analyst: str, budget: Budget | None, *, reason: str) -> None:
        """Set what one analyst may spend, beside the dataset's cap; None lifts it."""
        _need_reason(reason)
        if not analyst:
            raise InvalidInput("An analyst has a name that is not empty.")
        with self.page(dataset) as page:
            found = page.accounts(analyst)
            spent = found.get(analyst, (Account(unit=found[DATASET][0].unit), None))[0]
            page.write(analyst, spent, budget, new=analyst not in found)
            written = None if budget is None else budget.to_json()
            page.append("allow", analyst=analyst, body={"reason": reason, "budget": written})

    def void(self, dataset: str, seq: int, *, reason: str) -> None:
        """Give back a spend that never led to an answer.

        Raises
        ------
        PolicyViolation
            If the entry is not a reservation, or was answered: what was released stays spent.
        """
        _need_reason(reason)
        with self.page(dataset) as page:
            reserved = page.entry(seq)
            if reserved is None or reserved.kind != "reserve":
                raise PolicyViolation(f"Entry {seq} is not a reservation; nothing to void.")
            outcome = page.outcome(reserved.digest)
            if outcome is None or outcome.seq != seq:
                raise PolicyViolation(f"Entry {seq} is already void.")
            if isinstance(outcome, Closed) and outcome.answered:
                raise PolicyViolation(f"Entry {seq} was answered; what was released stays spent.")
            written = list(page.entries(kinds=("reserve", "void")))
            located = {}
            found = page.accounts(reserved.analyst)
            for name, (account, budget) in found.items():
                mine = (entry for entry in written if name in (DATASET, entry.analyst))
                left = recount(mine, account.unit, self._atlas, without=seq)
                page.write(name, left, budget, new=False)
                located[name] = left.located.to_json()
            page.append(
                "void",
                analyst=reserved.analyst,
                digest=reserved.digest,
                # An entry is closed once: a void after a failure closes the failure.
                closes=seq if isinstance(outcome, Reservation) else outcome.by,
                body={"reason": reason, "reserve": seq, "located": located},
            )

    # Looking

    def standing(self, dataset: str) -> Standing:
        """Where a dataset stands now."""
        with self.page(dataset, write=False) as page:
            return Standing(page.budget, page.policy, page.accounts(), page.seq, page.head)

    def datasets(self) -> tuple[str, ...]:
        """The names of all datasets."""
        with self.database.transaction(write=False) as connection:
            return tuple(
                connection.execute(select(datasets.c.name).order_by(datasets.c.name)).scalars()
            )

    def entries(self, dataset: str, *, after: int = 0) -> list[Entry]:
        """The entries of a dataset, in order."""
        with self.page(dataset, write=False) as page:
            return list(page.entries(after))

    def unsettled(self, dataset: str) -> list[Entry]:
        """Reservations without an answer: interrupted, failed, or being computed now."""
        open_: dict[int, Entry] = {}
        with self.page(dataset, write=False) as page:
            for entry in page.entries(kinds=("reserve", "settle", "void")):
                if entry.kind == "reserve":
                    open_[entry.seq] = entry
                elif entry.kind == "settle":
                    del open_[int(entry.closes or 0)]
                else:
                    del open_[entry.content["reserve"]]
        return list(open_.values())

    def close(self) -> None:
        """Give all connections back."""
        self.database.close()


def _need_reason(reason: str) -> None:
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidInput("The custodian's acts need a reason, in words; the chain keeps it.")
