"""The ledger: reserve, settle, fail, void; each a single durable transaction.

A question's way: ``reserve`` commits the spend before the first private value is read; ``settle``
commits the answer before it is sent. Whoever dies in between leaves a reservation behind: nothing
was released, the spend is kept, and the same question asked again takes the reservation up instead
of paying twice. The custodian may ``void`` a reservation that was never answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import Connection

from whitecrow.errors import AccountConflict, DatasetClosed, InvalidInput, LedgerBusy
from whitecrow.ledger import acts
from whitecrow.ledger.account import admissible
from whitecrow.ledger.acts import custodian_act
from whitecrow.ledger.charging import ChargeRequest, Quote, charge, quote, record, weigh
from whitecrow.ledger.database import Database, Session
from whitecrow.ledger.locks import Claim, claims_of
from whitecrow.ledger.migration import migrate
from whitecrow.ledger.rebuilding import rebuild_all
from whitecrow.ledger.spatial import AddUp, Crowded, Geometry, Weighed
from whitecrow.ledger.transaction import AccountTransaction, has_hash, names
from whitecrow.ledger.values import (
    AccountSnapshot,
    Entry,
    RecordedOutcome,
    Records,
    Reservation,
    canonical,
)
from whitecrow.ledger.witness.guard import guard_of
from whitecrow.privacy import Unit
from whitecrow.terms import Budget

__all__ = ["CLOSED", "ChargeRequest", "Ledger", "Quote"]

CLOSED = (
    "A computation on this dataset failed, so it takes no new questions until its custodian has "
    "looked. Nothing was spent; answers given before are still served."
)
"""All that anybody learns of a closed dataset, whatever failed and whatever is asked."""

T = TypeVar("T")
Held = tuple[Reservation | RecordedOutcome, AccountSnapshot]
"""What reserving gives: the right to compute an answer, or the answer; and the account then."""

PATIENCE_SECONDS = 60.0
"""How long an ask waits for another one that is computing the same answer."""


class _Reappointed(Exception):
    """The ledger has another witness, or none, than when its guard was made."""


class Ledger:
    """The durable account of what has been spent, with the released answers.

    Parameters
    ----------
    url : str or Path
        ``sqlite:///file``, ``sqlite://`` (in memory), ``postgresql+psycopg://...``, or a file name.
    geometry : Geometry, optional
        What balls are, for spatial accounting; by default located questions add up.

    Examples
    --------
    >>> from whitecrow.privacy import DifferentialPrivacy
    >>> ledger = Ledger("sqlite://")
    >>> _ = ledger.open("clinic", budget=Budget.of("1"))
    >>> order = ChargeRequest("ana", "digest", {}, DifferentialPrivacy("1/4"))
    >>> held, snapshot = ledger.reserve("clinic", order)
    >>> snapshot.spent.epsilon
    Fraction(1, 4)
    >>> ledger.settle("clinic", held, 17).answer
    17
    >>> again, _ = ledger.reserve("clinic", order)
    >>> again.answer
    17
    """

    def __init__(self, url: str | Path, *, geometry: Geometry | None = None) -> None:
        self.database = Database(url)
        self._claims = claims_of(self.database)
        self._geometry: Geometry = geometry or AddUp()
        migrate(self.database, lambda session, older: rebuild_all(session, self._geometry, older))
        self.witness = guard_of(self.database)

    def read(self, dataset: str, act: Callable[[AccountTransaction], T]) -> T:
        """Look at a dataset's account, in one transaction."""
        return self.database.read(
            lambda session: act(AccountTransaction(session, dataset, lock=False))
        )

    def write(
        self,
        dataset: str,
        act: Callable[[AccountTransaction], T],
        connection: Connection | None = None,
    ) -> T:
        """Change a dataset's account, in one transaction; durable when this returns.

        With a ``connection``, the act joins the transaction that is open on it: it is durable when
        that is, and undone with it. The transaction must have been begun for writing.
        """
        return self._write(lambda session: act(AccountTransaction(session, dataset)), connection)

    def _write(self, act: Callable[[Session], T], connection: Connection | None) -> T:
        if connection is None:
            return self.database.write(act)
        return act(self.database.joined(connection))

    def watched(
        self,
        dataset: str,
        act: Callable[[AccountTransaction], T],
        *,
        reads: bool = False,
        afresh: bool = False,
    ) -> T:
        """Change an account, or (``reads``) look at it, under the witness that the ledger has now.

        It may get another while it is open, or be replaced by a copy that has another: the
        transaction sees it before anything is decided, and begins again. With ``afresh`` the
        witness is told first of all that is new.
        """

        def look(account: AccountTransaction) -> T:
            if account.appointed != (None if self.witness is None else self.witness.ledger):
                raise _Reappointed
            return act(account)

        while True:
            if self.witness is not None:
                self.witness.check(afresh=afresh)
            try:
                return self.read(dataset, look) if reads else self.write(dataset, look)
            except _Reappointed:
                former, self.witness = self.witness, guard_of(self.database)
                if former is not None:
                    former.retire()

    # A question's way

    def reserve(
        self, dataset: str, order: ChargeRequest, *, rule: Callable[[str], None] | None = None
    ) -> Held:
        """Commit a spend, unless the question was asked before.

        Parameters
        ----------
        dataset, order : str, ChargeRequest
            Whose account, and what to charge.
        rule : callable, optional
            Called with the policy in force; raises to refuse.

        Returns
        -------
        Reservation or RecordedOutcome
            The right to compute the answer; or the answer.
        AccountSnapshot
            The dataset's accounts and this analyst's, after the spend.

        Raises
        ------
        BudgetExhausted
            If the dataset's cap or the analyst's would be exceeded.
        """
        admissible(order.price)
        until = time.monotonic() + PATIENCE_SECONDS
        known: Weighed | None = None
        while True:
            try:
                account, found, snapshot = self._reserve(dataset, order, rule, known)
            except Crowded:
                # Weighed while others write; if the sheet changes meanwhile, the next attempt
                # charges for all that the ball touches and does not come back here.
                known = self.read(dataset, lambda account: weigh(account, order, self._geometry))
                continue
            if isinstance(found, RecordedOutcome) and self.witness is not None:
                self.witness.cover(dataset, found.by)
            if isinstance(found, RecordedOutcome) or found.claim is not None:
                return found, snapshot
            left = until - time.monotonic()
            if left <= 0:
                raise LedgerBusy(
                    "This very question is being answered by another process; ask again later. It "
                    "is not charged twice."
                )
            self._claims.wait(account, found.seq, left)

    def _reserve(
        self,
        dataset: str,
        order: ChargeRequest,
        rule: Callable[[str], None] | None,
        known: Weighed | None,
    ) -> tuple[int, Reservation | RecordedOutcome, AccountSnapshot]:
        taken: list[Claim] = []

        def let_go() -> None:
            while taken:
                taken.pop().release()

        def act(
            account: AccountTransaction,
        ) -> tuple[int, Reservation | RecordedOutcome, AccountSnapshot]:
            let_go()  # an act may have to be repeated
            account.must_be_open()  # whatever the price, and whether it was asked before
            if rule is not None:
                rule(account.policy)
            share = account.share(order.analyst)
            found = account.outcome(order.digest)
            if not isinstance(found, RecordedOutcome) and account.failures:
                raise DatasetClosed(CLOSED)
            if found is None:
                found, share = charge(account, order, share, self._geometry, known)
            if isinstance(found, Reservation):
                # Taken before the commit: whoever can see the reservation can see the claim.
                claim = self._claims.take(account.id, found.seq)
                if claim is not None:
                    taken.append(claim)
                    if not found.fresh:
                        found = replace(found, epoch=account.take_up(found.seq))
                found = replace(found, claim=claim, told_at=order.told_at)
            shares = {} if share is None else {order.analyst: share}
            return account.id, found, account.snapshot(shares)

        try:
            return self.watched(dataset, act)
        except BaseException:
            let_go()
            raise

    def stored(
        self, dataset: str, order: ChargeRequest, *, rule: Callable[[str], None]
    ) -> tuple[RecordedOutcome | None, AccountSnapshot]:
        """Look up what may be told of a question that was asked before; nothing is written.

        Returns
        -------
        RecordedOutcome or None
            The answer, or that it failed; None if it has to be asked for, now or again.
        AccountSnapshot
            The dataset's accounts and this analyst's.

        Raises
        ------
        BudgetExhausted
            If nobody has asked it and the spend would be refused; what ``rule`` raises, too.
        """

        def look(account: AccountTransaction) -> tuple[RecordedOutcome | None, AccountSnapshot]:
            account.must_be_open()
            rule(account.policy)
            outcome, share = account.outcome(order.digest), account.share(order.analyst)
            snapshot = account.snapshot({} if share is None else {order.analyst: share})
            if outcome is None:
                refusal = quote(account, [order], self._geometry).refusal
                if refusal is not None:
                    raise refusal
            if not isinstance(outcome, RecordedOutcome):
                return None, snapshot
            closed = account.entry(outcome.by)
            assert closed is not None
            return outcome if closed.told else None, snapshot

        outcome, snapshot = self.watched(dataset, look, reads=True)
        if outcome is not None and self.witness is not None:
            self.witness.cover(dataset, outcome.by)
        return outcome, snapshot

    def quote(self, dataset: str, orders: Sequence[ChargeRequest]) -> Quote:
        """Say what these questions would cost together, asked in this order; nothing is spent."""
        return self.read(dataset, lambda account: quote(account, orders, self._geometry))

    def settle(self, dataset: str, held: Reservation, answer: Any) -> RecordedOutcome:
        """Store the answer with its spend; the first answer to a reservation is the only one.

        If the dataset was closed meanwhile, by a failure that nobody has reviewed, the answer is
        not stored and this is a failure too: which of several questions fail is told of none.

        Raises
        ------
        Unavailable
            If the claim was lost (a cut connection, a deleted file) and somebody else has taken
            the reservation up: theirs is the answer, and this one was never released.
        """
        return self._close(dataset, held, "settle", {"answer": answer})

    def fail(self, dataset: str, held: Reservation) -> RecordedOutcome:
        """Record that the computation failed: the spend is kept, nothing was released."""
        return self._close(dataset, held, "fail", {})

    def _close(
        self, dataset: str, held: Reservation, kind: str, body: Mapping[str, Any]
    ) -> RecordedOutcome:
        outcome = self.watched(dataset, lambda account: record(account, held, kind, body))
        if self.witness is not None:
            self.witness.cover(dataset, outcome.by, fresh=True)
        return outcome

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
    ) -> AccountSnapshot:
        """Register a dataset with its promise, or return what stands for it if it is known.

        Parameters
        ----------
        actor, card, readers : str, mapping, iterable of str, optional
            Who opens the account, the card's JSON and who may ask: the chain keeps them.
        records : Records, optional
            What binds the account to its data; see :mod:`whitecrow.ledger.revisions`.
        connection : Connection, optional
            An open transaction that this joins, so that other tables are written with the account
            or not at all.
        """
        act, rules = custodian_act(actor=actor, card=card, readers=readers), canonical(policy or {})
        register = partial(AccountTransaction.register, dataset=dataset, budget=budget, unit=unit)
        if connection is not None or dataset not in self.datasets():
            self._write(partial(register, policy=rules, act=act, records=records), connection)
        return self.snapshot(dataset, connection=connection)

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

        What is given is what changes. See :meth:`open` for the parameters.
        """
        body = custodian_act(reason=reason, actor=actor, card=card, readers=readers)
        act = partial(acts.amend, body=body, budget=budget, policy=policy)
        self.write(dataset, act, connection)

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
        if not analyst:
            raise InvalidInput("An analyst has a name that is not empty.")
        body = custodian_act(reason=reason, actor=actor)
        act = partial(acts.allow, body=body, analyst=analyst, budget=budget)
        self.write(dataset, act, connection)

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

        def act(account: AccountTransaction) -> None:
            reserved, outcome = acts.voidable(account, seq)
            claim = self._claims.take(account.id, seq)
            if claim is None:
                raise AccountConflict(f"Entry {seq} is being answered at this moment.")
            try:
                acts.void(account, body, reserved, outcome, self._geometry)
            finally:
                claim.release()

        self.write(dataset, act, connection=connection)

    # Looking

    def snapshot(self, dataset: str, *, connection: Connection | None = None) -> AccountSnapshot:
        """Where a dataset stands now; with a ``connection``, as its open transaction sees it."""

        def look(session: Session) -> AccountSnapshot:
            account = AccountTransaction(session, dataset, lock=False)
            return account.snapshot(account.shares())

        if connection is None:
            return self.database.read(look)
        return look(self.database.joined(connection))

    def datasets(self) -> tuple[str, ...]:
        """The names of all datasets."""
        return self.database.read(names)

    def entries(
        self,
        dataset: str,
        *,
        after: int = 0,
        before: int | None = None,
        limit: int | None = None,
        newest_first: bool = False,
        analyst: str | None = None,
        kind: str | None = None,
    ) -> list[Entry]:
        """Entries of a dataset, as many as are asked for; all by default, the oldest first."""
        which: dict[str, Any] = {"after": after, "before": before, "newest_first": newest_first}
        which |= {"limit": limit, "analyst": analyst, "kind": kind}
        found = self.read(dataset, lambda account: account.some_entries(**which))
        return found if self.witness is None else self.witness.tell(dataset, found)

    def history(
        self, dataset: str, analyst: str, *, limit: int = 100, skip: int = 0
    ) -> list[tuple[Entry, Entry | None]]:
        """An analyst's questions, newest first but ``skip``, each with what closed it last."""

        def look(account: AccountTransaction) -> list[tuple[Entry, Entry | None]]:
            asked = account.some_entries(
                limit=limit, skip=skip, newest_first=True, analyst=analyst, kind="reserve"
            )
            # What an account that is closed for good holds may be answers that never left.
            closed = [None] * len(asked) if account.closure else account.last_words(asked)
            return list(zip(asked, closed, strict=True))

        found = self.watched(dataset, look, reads=True)
        if self.witness is not None:
            self.witness.tell(dataset, [closed for _, closed in found])
        return found

    def has_hash(self, hash_: str) -> bool:
        """Whether any entry has this hash."""
        return self.database.read(lambda session: has_hash(session, hash_))

    def unsettled(self, dataset: str) -> list[Entry]:
        """Spends without an answer, interrupted or failed; what is being computed is left out."""

        def free(account: AccountTransaction, entry: Entry) -> bool:
            claim = self._claims.take(account.id, entry.seq)
            if claim is not None:
                claim.release()
            return claim is not None

        return self.read(dataset, lambda one: [e for e in one.unsettled() if free(one, e)])

    def close(self) -> None:
        """Give all connections back."""
        if self.witness is not None:
            self.witness.close()
        self._claims.close()
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
