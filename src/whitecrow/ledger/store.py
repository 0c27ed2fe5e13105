"""The ledger: reserve, settle, fail, void; each a single durable transaction.

A question's way: ``reserve`` commits the spend before the first private value is read; ``settle``
commits the answer before it is sent. Whoever dies in between leaves a reservation behind: nothing
was released, the spend is kept, and the same question asked again takes the reservation up instead
of paying twice. The custodian may ``void`` a reservation that was never answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, select

from whitecrow.errors import (
    BudgetExhausted,
    InvalidInput,
    PolicyViolation,
    Unavailable,
)
from whitecrow.ledger.account import Account, admit, in_unit
from whitecrow.ledger.acts import custodian_act
from whitecrow.ledger.atlases import AtlasMaker, Library, Location, Sum, recount
from whitecrow.ledger.budget import Budget
from whitecrow.ledger.chain import Entry, canonical
from whitecrow.ledger.claims import Claim, claims_of
from whitecrow.ledger.database import Database
from whitecrow.ledger.migration import migrate
from whitecrow.ledger.page import Closed, Page, Records, Reservation, Share, Standing
from whitecrow.ledger.schema import datasets
from whitecrow.ledger.session import Session
from whitecrow.privacy import Guarantee, Unit

__all__ = ["CLOSED", "Ledger", "Order", "Quote"]

CLOSED = (
    "A computation on this dataset failed, so it takes no new questions until its custodian has "
    "looked. Nothing was spent; answers given before are still served."
)
"""All that anybody learns of a closed dataset, whatever failed and whatever is asked."""

T = TypeVar("T")

PATIENCE_SECONDS = 60.0
"""How long an ask waits for another one that is computing the same answer."""


@dataclass(frozen=True)
class Order:
    """What is to be charged.

    Parameters
    ----------
    analyst : str
        Who asks.
    digest : str
        The identity of the question.
    question : mapping
        Its canonical JSON, for the record.
    price : Guarantee
        What the release will promise.
    location : mapping, optional
        The ball a located question looks at; its price must be pure.
    actor : str
        Who sent it, where that is not the analyst: somebody who acts for them.
    """

    analyst: str
    digest: str
    question: Mapping[str, Any]
    price: Guarantee
    location: Location | None = None
    actor: str = ""


@dataclass(frozen=True)
class Quote:
    """What questions would cost together.

    Parameters
    ----------
    before, after : Account
        The dataset's account now, and if all were asked.
    budget : Budget
        The dataset's cap.
    charged : int
        How many would be charged; the others were answered before, or come twice.
    refusal : BudgetExhausted or None
        Why not all of them fit.
    """

    before: Account
    after: Account
    budget: Budget
    charged: int
    refusal: BudgetExhausted | None


class Ledger:
    """The durable account of what has been spent, with the released answers.

    Parameters
    ----------
    url : str or Path
        ``sqlite:///file``, ``sqlite://`` (in memory), ``postgresql+psycopg://...``, or a file name.
    atlas : callable, optional
        Makes an empty atlas for spatial accounting; by default located questions add up.

    Examples
    --------
    >>> from whitecrow.privacy import DifferentialPrivacy
    >>> ledger = Ledger("sqlite://")
    >>> _ = ledger.open("clinic", budget=Budget.of("1"))
    >>> order = Order("ana", "digest", {}, DifferentialPrivacy("1/4"))
    >>> held, standing = ledger.reserve("clinic", order)
    >>> standing.spent.epsilon
    Fraction(1, 4)
    >>> ledger.settle("clinic", held, 17).answer
    17
    >>> again, _ = ledger.reserve("clinic", order)
    >>> again.answer
    17
    """

    def __init__(self, url: str | Path, *, atlas: AtlasMaker = Sum) -> None:
        self.database = Database(url)
        self._claims = claims_of(self.database)
        self._atlas = atlas
        self._libraries: dict[int, Library] = {}
        migrate(self.database)

    def read(self, dataset: str, act: Callable[[Page], T]) -> T:
        """Look at a dataset's account, in one transaction."""
        return self.database.read(lambda session: act(Page(session, dataset, lock=False)))

    def write(
        self, dataset: str, act: Callable[[Page], T], *, connection: Connection | None = None
    ) -> T:
        """Change a dataset's account, in one transaction; durable when this returns.

        With a ``connection``, the act joins the transaction that is open on it: it is durable when
        that is, and undone with it. The transaction must have been begun for writing.
        """
        return self._write(lambda session: act(Page(session, dataset)), connection)

    def _write(self, act: Callable[[Session], T], connection: Connection | None) -> T:
        if connection is None:
            return self.database.write(act)
        return act(self.database.joined(connection))

    # A question's way

    def reserve(
        self, dataset: str, order: Order, *, rule: Callable[[str], None] | None = None
    ) -> tuple[Reservation | Closed, Standing]:
        """Commit a spend, unless the question was asked before.

        Parameters
        ----------
        dataset : str
            Whose account.
        order : Order
            What to charge.
        rule : callable, optional
            Called with the policy in force; raises to refuse. Nothing is spent then.

        Returns
        -------
        Reservation or Closed
            The right to compute the answer; or the answer.
        Standing
            The dataset's accounts and this analyst's, after the spend.

        Raises
        ------
        BudgetExhausted
            If the dataset's cap or the analyst's would be exceeded.
        """
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            found, standing = self._reserve(dataset, order, rule)
            if isinstance(found, Closed) or found.claim is not None:
                return found, standing
            if time.monotonic() > until:
                raise Unavailable(
                    "This very question is being answered by another process; ask again later. It "
                    "is not charged twice."
                )
            time.sleep(0.005)

    def _reserve(
        self, dataset: str, order: Order, rule: Callable[[str], None] | None
    ) -> tuple[Reservation | Closed, Standing]:
        taken: list[Claim] = []

        def let_go() -> None:
            while taken:
                taken.pop().release()

        def act(page: Page) -> tuple[Reservation | Closed, Standing]:
            let_go()  # an act may have to be repeated
            if rule is not None:
                rule(page.policy)
            share = page.share(order.analyst)
            found = page.outcome(order.digest)
            if not isinstance(found, Closed) and page.failures:
                raise Unavailable(CLOSED)
            if found is None:
                found, share = self._charge(page, order, share)
            if isinstance(found, Reservation):
                # Taken before the commit: whoever can see the reservation can see the claim.
                claim = self._claims.take(page.id, found.seq)
                if claim is not None:
                    taken.append(claim)
                found = replace(found, claim=claim)
            return found, page.standing({} if share is None else {order.analyst: share})

        try:
            return self.write(dataset, act)
        except BaseException:
            let_go()
            raise

    def _charge(self, page: Page, order: Order, share: Share | None) -> tuple[Reservation, Share]:
        mine = share or Share(Account(unit=page.spent.unit), None)
        price = in_unit(order.price, page.spent.unit)
        body: dict[str, Any] = {
            "question": order.question,
            "price": price.to_json(),
            "location": order.location,
        }
        if order.actor:
            body["actor"] = order.actor
        extra = own = None
        if order.location is not None:
            charts = self._charts(page)
            extra = charts.everybody.extra(price, order.location)
            own = charts.own(order.analyst).extra(price, order.location)
            body["extra"] = {"dataset": extra.to_json(), "analyst": own.to_json()}
        page.spent = admit(page.spent, page.budget, price, extra, whose="The dataset")
        if mine.budget is None:
            grown = mine.spent.with_release(price, own)
        else:
            whose = f"Analyst {order.analyst!r}"
            grown = admit(mine.spent, mine.budget, price, own, whose=whose)
        mine = Share(grown, mine.budget)
        page.write_share(order.analyst, mine, new=share is None)
        entry = page.append("reserve", analyst=order.analyst, digest=order.digest, body=body)
        if order.location is not None and extra is not None and own is not None:
            charts.wrote(entry, price, order.location, (extra, own))
        return Reservation(entry.seq, order.digest, order.analyst, fresh=True), mine

    def quote(self, dataset: str, orders: Sequence[Order]) -> Quote:
        """Say what these questions would cost together, asked in this order; nothing is spent."""
        return self.read(dataset, lambda page: self._quote(page, orders))

    def _quote(self, page: Page, orders: Sequence[Order]) -> Quote:
        library = Library(self._atlas)
        library.catch_up(page)
        budget, spent = page.budget, page.spent
        refusal: BudgetExhausted | None = None
        seen: set[str] = set()
        for order in orders:
            if order.digest in seen or page.outcome(order.digest) is not None:
                continue
            seen.add(order.digest)
            price, extra = in_unit(order.price, spent.unit), None
            if order.location is not None:
                extra = library.everybody.add(price, order.location)
            if refusal is None:
                try:
                    admit(spent, budget, price, extra, whose="The dataset")
                except BudgetExhausted as refused:
                    refusal = refused
            spent = spent.with_release(price, extra)
        return Quote(page.spent, spent, budget, len(seen), refusal)

    def settle(self, dataset: str, held: Reservation, answer: Any) -> Closed:
        """Store the answer with its spend; the first answer to a reservation is the only one.

        If the dataset was closed meanwhile, by a failure that nobody has reviewed, the answer is
        not stored and this is a failure too: which of several questions fail is told of none.
        """
        return self._close(dataset, held, "settle", {"answer": answer})

    def fail(self, dataset: str, held: Reservation) -> Closed:
        """Record that the computation failed: the spend is kept, nothing was released."""
        return self._close(dataset, held, "fail", {})

    def _close(self, dataset: str, held: Reservation, kind: str, body: Mapping[str, Any]) -> Closed:
        def act(page: Page) -> Closed:
            known = page.outcome(held.digest)
            if known is None or known.seq != held.seq:
                raise PolicyViolation(
                    "This question's spend was given back while it was being computed; nothing was "
                    "released. Ask again."
                )
            if isinstance(known, Closed):
                return known
            answered = kind == "settle" and not page.failures
            page.failures += not answered
            entry = page.append(
                "settle" if answered else "fail",
                analyst=held.analyst,
                digest=held.digest,
                closes=held.seq,
                body=body if answered else {},
            )
            if page.id in self._libraries:
                self._libraries[page.id].passed(entry)
            return Closed(held.seq, entry.seq, answered, body.get("answer") if answered else None)

        return self.write(dataset, act)

    def _charts(self, page: Page) -> Library:
        """The located questions of a dataset, up to date; inside the transaction that decides."""
        charts = self._libraries.setdefault(page.id, Library(self._atlas))
        charts.catch_up(page)
        return charts

    # The custodian's acts

    def open(
        self,
        dataset: str,
        *,
        budget: Budget,
        policy: Mapping[str, Any] | None = None,
        unit: Unit = "add_remove",
        actor: str = "",
        card: Mapping[str, Any] | None = None,
        readers: Iterable[str] | None = None,
        records: Records | None = None,
        connection: Connection | None = None,
    ) -> Standing:
        """Register a dataset, or return what stands for it if it is known.

        Parameters
        ----------
        dataset : str
            Its name.
        budget, policy, unit : Budget, mapping, str
            The promise.
        actor : str, default=""
            Who opens the account; the chain keeps it, as for all acts of the custodian.
        card, readers : mapping, iterable of str, optional
            The card's JSON and who may ask, for the chain.
        records : Records, optional
            What binds the account to its data; see :mod:`whitecrow.ledger.revisions`.
        connection : Connection, optional
            An open transaction that this joins, so that other tables are written with the account
            or not at all.
        """
        act = custodian_act(actor=actor, card=card, readers=readers)
        rules = canonical(policy or {})
        if connection is not None or dataset not in self.datasets():
            self._write(
                lambda session: Page.register(session, dataset, budget, rules, unit, act, records),
                connection,
            )
        return self.standing(dataset, connection=connection)

    def amend(
        self,
        dataset: str,
        *,
        reason: str,
        budget: Budget | None = None,
        policy: Mapping[str, Any] | None = None,
        actor: str = "",
        card: Mapping[str, Any] | None = None,
        readers: Iterable[str] | None = None,
        connection: Connection | None = None,
    ) -> None:
        """Change the promise: a deliberate act, with a reason, that the chain remembers.

        What is given is what changes; the chain keeps all of it. See :meth:`open` for the
        parameters.
        """
        body = custodian_act(reason=reason, actor=actor, card=card, readers=readers)

        def act(page: Page) -> None:
            if budget is not None:
                page.budget = budget
                body["budget"] = budget.to_json()
            if policy is not None:
                page.policy = canonical(policy)
                body["policy"] = policy
            page.append("amend", body=body)

        self.write(dataset, act, connection=connection)

    def allow(
        self,
        dataset: str,
        analyst: str,
        budget: Budget | None,
        *,
        reason: str,
        actor: str = "",
        connection: Connection | None = None,
    ) -> None:
        """Set what one analyst may spend, beside the dataset's cap; None lifts it."""
        body = custodian_act(reason=reason, actor=actor)
        if not analyst:
            raise InvalidInput("An analyst has a name that is not empty.")
        body["budget"] = None if budget is None else budget.to_json()

        def act(page: Page) -> None:
            share = page.share(analyst)
            spent = Account(unit=page.spent.unit) if share is None else share.spent
            page.write_share(analyst, Share(spent, budget), new=share is None)
            page.append("allow", analyst=analyst, body=body)

        self.write(dataset, act, connection=connection)

    def void(
        self,
        dataset: str,
        seq: int,
        *,
        reason: str,
        actor: str = "",
        connection: Connection | None = None,
    ) -> None:
        """Give back a spend that never led to an answer.

        Raises
        ------
        PolicyViolation
            If the entry is not a reservation, or was answered: what was released stays spent. Or
            if the answer is being computed at this moment.
        """
        body = custodian_act(reason=reason, actor=actor)

        def act(page: Page) -> None:
            reserved = page.entry(seq)
            if reserved is None or reserved.kind != "reserve":
                raise PolicyViolation(f"Entry {seq} is not a reservation; nothing to void.")
            outcome = page.outcome(reserved.digest)
            if outcome is None or outcome.seq != seq:
                raise PolicyViolation(f"Entry {seq} is already void.")
            if isinstance(outcome, Closed) and outcome.answered:
                raise PolicyViolation(f"Entry {seq} was answered; what was released stays spent.")
            claim = self._claims.take(page.id, seq)
            if claim is None:
                raise PolicyViolation(f"Entry {seq} is being answered at this moment.")
            try:
                self._void(page, reserved, outcome, body)
            finally:
                claim.release()

        self.write(dataset, act, connection=connection)

    def _void(
        self, page: Page, reserved: Entry, outcome: Reservation | Closed, body: Mapping[str, Any]
    ) -> None:
        written = list(page.entries(kinds=("reserve", "void")))
        own = [entry for entry in written if entry.analyst == reserved.analyst]
        share = page.share(reserved.analyst)
        assert share is not None
        unit, seq = page.spent.unit, reserved.seq
        located = reserved.content["location"] is not None

        def left(entries: list[Entry], spent: Account) -> Account:
            if located:
                return recount(entries, unit, self._atlas, without=seq)
            return replace(recount(entries, unit, without=seq), located=spent.located)

        page.failures -= isinstance(outcome, Closed) and not outcome.reviewed
        page.spent = left(written, page.spent)
        mine = page.spent if len(own) == len(written) else left(own, share.spent)
        page.write_share(reserved.analyst, Share(mine, share.budget), new=False)
        costs = {"dataset": page.spent.located.to_json(), "analyst": mine.located.to_json()}
        page.append(
            "void",
            analyst=reserved.analyst,
            digest=reserved.digest,
            # An entry is closed once: a void after a failure closes the failure.
            closes=seq if isinstance(outcome, Reservation) else outcome.by,
            body={**body, "reserve": seq, "located": costs if located else None},
        )

    # Looking

    def standing(self, dataset: str, *, connection: Connection | None = None) -> Standing:
        """Where a dataset stands now; with a ``connection``, as its open transaction sees it."""

        def look(session: Session) -> Standing:
            page = Page(session, dataset, lock=False)
            return page.standing(page.shares())

        if connection is None:
            return self.database.read(look)
        return look(self.database.joined(connection))

    def datasets(self) -> tuple[str, ...]:
        """The names of all datasets."""
        return tuple(row.name for row in self.database.read(lambda session: session.rows(_NAMES)))

    def entries(self, dataset: str, *, after: int = 0) -> list[Entry]:
        """The entries of a dataset, in order."""
        return self.read(dataset, lambda page: list(page.entries(after)))

    def unsettled(self, dataset: str) -> list[Entry]:
        """Spends without an answer, interrupted or failed; what is being computed is left out."""
        return self.read(
            dataset,
            lambda page: [e for e in page.unsettled() if self._is_free(page.id, e.seq)],
        )

    def _is_free(self, dataset: int, seq: int) -> bool:
        claim = self._claims.take(dataset, seq)
        if claim is None:
            return False
        claim.release()
        return True

    def close(self) -> None:
        """Give all connections back."""
        self._claims.close()
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


_NAMES = select(datasets.c.name).order_by(datasets.c.name)
