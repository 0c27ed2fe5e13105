"""The ledger: reserve, settle, fail, void; each a single durable transaction.

A question's way: ``reserve`` commits the spend before the first private value is read; ``settle``
commits the answer before it is sent. Whoever dies in between leaves a reservation behind: nothing
was released, the spend is kept, and the same question asked again takes the reservation up instead
of paying twice. The custodian may ``void`` a reservation that was never answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import Connection

from whitecrow.errors import (
    AccountConflict,
    BudgetExhausted,
    DatasetClosed,
    InvalidInput,
    LedgerBusy,
)
from whitecrow.ledger import acts
from whitecrow.ledger.account import (
    Account,
    AccountSnapshot,
    AnalystAccount,
    Entry,
    Located,
    RecordedOutcome,
    Records,
    Reservation,
    ToldAt,
    admissible,
    admit,
    how_many,
    in_unit,
)
from whitecrow.ledger.acts import custodian_act
from whitecrow.ledger.database import Claim, Claims, Database, Session
from whitecrow.ledger.migration import migrate
from whitecrow.ledger.replay import rebuild_all
from whitecrow.ledger.spatial import AddUp, Ball, Crowded, Geometry, Location, SpatialIndex, Weighed
from whitecrow.ledger.statements import BY_QUESTION, CLAIMED, GIVE_UP, HASH, NO_NAME, SHARE
from whitecrow.ledger.transaction import AccountTransaction, names
from whitecrow.ledger.witness.guard import guard_of
from whitecrow.privacy import Guarantee, Unit, ZeroConcentrated
from whitecrow.terms import LINES, Budget, Plan, canonical

__all__ = ["CLOSED", "ChargeRequest", "Ledger", "Quote"]


# What a question is charged: the spend, the caps it must fit, what came of it; and a batch


@dataclass(frozen=True)
class ChargeRequest:
    """What is to be charged."""

    analyst: str  # who asks
    digest: str  # the identity of the question
    question: Mapping[str, Any]  # its canonical JSON, for the record
    price: Guarantee  # what the release will promise
    location: Location | None = None  # the ball a located question looks at; its price must be pure
    actor: str = ""  # who sent it, where that is not the analyst: somebody who acts for them
    # Its digest, and what versions before 0.3 called the same question: an answer that was paid for
    # then is free. Under another digest (of a series, say) this is another question's.
    former: tuple[str, str] = ("", "")
    # From when on what comes of it may be told; the entry that closes it has that moment.
    told_at: ToldAt | None = field(default=None, compare=False, repr=False)

    @property
    def names(self) -> tuple[str, str]:
        """The question's digest, and what versions before 0.3 called it if that is another."""
        now, former = self.former
        return self.digest, former if now == self.digest != former else ""


@dataclass(frozen=True)
class Quote:
    """What questions would cost together."""

    # before, after: The dataset's account now, and if all were asked.
    before: Account
    after: Account
    budget: Budget  # the dataset's cap
    charged: int  # how many would be charged; the others were answered before, or come twice
    refusal: BudgetExhausted | None  # why not all of them fit, the dataset's cap and the analyst's
    fitting: int  # how many fit, counted from the first up to the one that does not
    own: AnalystAccount | None = None  # of whoever asks the last, if all were asked

    def plan(self, orders: Sequence[ChargeRequest]) -> Plan:
        """Return what the questions behind these requests would cost, for whoever asks them."""
        delta = self.budget.delta
        prices = {order.digest: order.price for order in orders}.values()
        epsilons = [price.epsilon for price in prices if not isinstance(price, ZeroConcentrated)]
        added = {}
        for line in LINES:
            after, before = self.after.spent(line, delta), self.before.spent(line, delta)
            if after is not None:
                added[line] = after - (before or Fraction(0))
        added["delta"] = self.after.delta - self.before.delta
        fits, reason = self.refusal is None, "" if self.refusal is None else str(self.refusal)
        total = sum(epsilons, Fraction(0))
        more = self._more(orders[-1]) if fits and orders else 0
        return Plan(len(orders), self.charged, added, total, fits, reason, self.fitting, more)

    def _more(self, order: ChargeRequest) -> int:
        """How many more like one would fit."""
        caps = [(self.after, self.budget)]
        if self.own is not None and self.own.budget is not None:
            caps.append((self.own.spent, self.own.budget))
        price = in_unit(order.price, self.after.unit)
        return how_many(caps, price, located=order.location is not None)


def charge(
    account: AccountTransaction,
    order: ChargeRequest,
    share: AnalystAccount | None,
    geometry: Geometry,
    known: Weighed | None = None,
    holder: str = "",
) -> tuple[Reservation, AnalystAccount]:
    """Write a spend, or refuse it, in a transaction that writes; return the right to compute.

    ``known`` is what the question's ball was found to add before the transaction. Raises
    :class:`Crowded` if the ball touches so many that it should be weighed before the transaction;
    ``holder`` is who is going to compute the answer.
    """
    mine = share or _no_account(account)
    price = in_unit(order.price, account.spent.unit)
    body: dict[str, Any] = {
        "question": order.question,
        "price": price.to_json(),
        "location": order.location,
    }
    if order.actor:
        body["actor"] = order.actor
    extra = own = weighed = None
    if order.location is not None:
        index = SpatialIndex(account.session, account.id, geometry)
        ball = Ball.of(order.location, price, order.analyst, account.seq + 1)
        quick = known is None
        if known is not None:
            newest = account.entry(known.seq - 1)
            if newest is None or newest.hash != known.head:
                known = None  # a restore has replaced what it was weighed beside
        weighed = index.weigh(ball, quick=quick, known=known)
        extra, own = weighed.extra, weighed.own
        body["extra"] = {"dataset": extra.to_json(), "analyst": own.to_json()}
    before, after = (
        account.spent,
        admit(account.spent, account.budget, price, extra, whose="The dataset"),
    )
    # Of a sole analyst without a cap both accounts are one.
    sole = mine.spent is before and mine.budget is None and own == extra
    grown = after if sole else _admit_own(mine, order.analyst, price, own)
    account.spent, mine = after, AnalystAccount(grown, mine.budget)
    if share is None or grown is not share.spent:  # a place far from all others costs nothing more
        account.write_share(order.analyst, mine)
    account.add_terms(order.analyst, price)
    entry = account.append("reserve", analyst=order.analyst, digest=order.digest, body=body)
    account.open_reservation(entry.seq, holder)
    if weighed is not None:
        index.add(ball, weighed)
    held = Reservation(entry.seq, order.digest, order.analyst, fresh=True, epoch=1, holder=holder)
    return held, mine


def record(
    account: AccountTransaction, held: Reservation, kind: str, body: Mapping[str, Any]
) -> RecordedOutcome:
    """Store what came of a reservation: an answer, or (``kind`` is not "settle") a failure."""
    account.must_be_open()
    # An open reservation names who computes its answer, and nobody else once it is closed.
    epoch, holder = account.claim_of(held.seq)
    ours = bool(holder) and (epoch, holder) == (held.epoch, held.holder)
    outcome = held if ours else account.outcome(held.digest)
    if outcome is None or outcome.seq != held.seq:
        raise AccountConflict(
            "This question's spend was given back while it was being computed; nothing was "
            "released. Ask again."
        )
    if isinstance(outcome, RecordedOutcome):
        return outcome
    # Locks can be lost with what holds them; the count of those who took the reservation
    # up cannot. Were both to store, the faster of two draws would be released.
    if outcome.epoch != held.epoch:
        raise LedgerBusy(
            "Another process has taken this question up; its answer will be the one. "
            "Nothing was released here; ask again: it is not charged twice."
        )
    now = datetime.now(UTC)
    due = now if held.told_at is None else held.told_at(now)
    # A failure that is told by then has closed the dataset; a later one must not be told by this.
    answered = kind == "settle" and not account.closed_by(due)
    account.failures += not answered
    entry = account.append(
        "settle" if answered else "fail",
        analyst=held.analyst,
        digest=held.digest,
        closes=held.seq,
        body=body if answered else {},
        told_at=lambda _: due,
    )
    if answered:
        account.close_reservation(held.seq)
    else:
        clear_holder(account.session, account.id, held.seq, outcome.holder)
    return RecordedOutcome(held.seq, entry.seq, answered, body.get("answer") if answered else None)


def clear_holder(session: Session, account: int, seq: int, holder: str) -> None:
    """Note that somebody does not compute the answer to a reservation any more."""
    session.run(GIVE_UP, dataset=account, seq=seq, holder=holder)


def weigh(account: AccountTransaction, order: ChargeRequest, geometry: Geometry) -> Weighed | None:
    """Find out what an order's ball adds; None if the question was asked before.

    It may take long, so it is done in a transaction that only reads.
    """
    if account.outcome(*order.names) is not None:
        return None
    price = in_unit(order.price, account.spent.unit)
    ball = Ball.of(order.location or {}, price, order.analyst, account.seq + 1)
    index = SpatialIndex(account.session, account.id, geometry)
    return replace(index.weigh(ball), head=account.head)


class Quoting:
    """What questions would cost together, asked in this order: some at a time.

    Each is looked at beside the account as it is then. What the account is compared with at the
    end is what it was at the beginning.
    """

    def __init__(self, account: AccountTransaction) -> None:
        account.must_be_open()
        self._before = self._spent = account.spent
        self._budget = account.budget
        self._refusal: BudgetExhausted | None = None
        self._seen: set[str] = set()
        self._pending = Batch()
        self._fitting = 0
        self._analysts: dict[str, AnalystAccount] = {}
        self._last: str | None = None

    def add(
        self, account: AccountTransaction, orders: Sequence[ChargeRequest], geometry: Geometry
    ) -> None:
        """Look at the next questions."""
        index = SpatialIndex(account.session, account.id, geometry)
        for order in orders:
            admissible(order.price)
            if order.digest not in self._seen and account.outcome(*order.names) is None:
                self._add(account, order, index)
            self._fitting += self._refusal is None
            self._last = order.analyst

    def _add(self, account: AccountTransaction, order: ChargeRequest, index: SpatialIndex) -> None:
        self._seen.add(order.digest)
        price, extra, own = in_unit(order.price, self._spent.unit), None, None
        if order.location is not None:
            ball = Ball.of(order.location, price, order.analyst)
            weighed = index.weigh(ball, pending=self._pending)
            self._pending.add(ball, weighed)
            extra, own = weighed.extra, weighed.own
        share = self._analysts.get(order.analyst)
        share = share or account.share(order.analyst) or _no_account(account)
        if self._refusal is None:
            try:
                admit(self._spent, self._budget, price, extra, whose="The dataset")
                _admit_own(share, order.analyst, price, own)
            except BudgetExhausted as refused:
                self._refusal = refused
        self._spent = self._spent.with_release(price, extra)
        spent = share.spent.with_release(price, own)
        self._analysts[order.analyst] = replace(share, spent=spent)

    def quote(self) -> Quote:
        """Say what those looked at so far would cost together."""
        last = None if self._last is None else self._analysts.get(self._last)
        charged = len(self._seen)
        return Quote(
            self._before, self._spent, self._budget, charged, self._refusal, self._fitting, last
        )


class Batch:
    """Balls that would come before the next one, by sheet, and the prices that they bring.

    The largest depths are kept as balls come: a long batch would else compare every pair.
    """

    def __init__(self) -> None:
        self._balls: dict[str, list[tuple[Ball, Weighed]]] = {}
        self._largest: dict[tuple[str, int, str], Fraction] = {}

    def add(self, ball: Ball, weighed: Weighed) -> None:
        """Put one more ball behind the others."""
        sheet = weighed.place[0]
        self._balls.setdefault(sheet, []).append((ball, weighed))
        for tally, depth in enumerate(weighed.depths):
            if depth is not None:
                key = (sheet, tally, ball.analyst if tally >= 2 else "")
                self._largest[key] = max(self._largest.get(key, depth), depth)

    def on(self, sheet: str) -> Sequence[tuple[Ball, Weighed]]:
        """The balls on a sheet, in their order."""
        return self._balls.get(sheet, ())

    def prices(self, sheet: str, analyst: str, stored: Sequence[Fraction]) -> list[Fraction]:
        """The prices of a sheet's four tallies, with these balls on it."""
        keys = ((sheet, tally, analyst if tally >= 2 else "") for tally in range(len(stored)))
        return [
            max(price, self._largest.get(key, price))
            for key, price in zip(keys, stored, strict=True)
        ]


def _no_account(account: AccountTransaction) -> AnalystAccount:
    """The account of an analyst who has asked nothing and has no cap."""
    return AnalystAccount(Account(unit=account.spent.unit), None)


def _admit_own(
    share: AnalystAccount, analyst: str, price: Guarantee, own: Located | None
) -> Account:
    """Return an analyst's account after a release, or refuse it by the analyst's own cap."""
    if share.budget is None:
        return share.spent.with_release(price, own)
    return admit(share.spent, share.budget, price, own, whose=f"Analyst {analyst!r}")


# The ledger

CLOSED = (
    "A computation on this dataset failed, so it takes no new questions until its custodian has "
    "looked. Nothing was spent; answers given before are still served."
)
"""All that anybody learns of a closed dataset, whatever failed and whatever is asked."""

T = TypeVar("T")
Held = tuple[Reservation | RecordedOutcome, AccountSnapshot]
"""What reserving gives: the right to compute an answer, or the answer; and the account then."""

Foresee = Callable[[Session, int], None]
"""Sends queries ahead, given a session and the number of an account."""

PATIENCE_SECONDS = 60.0
"""How long an ask waits for another one that is computing the same answer."""

_QUOTED_AT_ONCE = 50  # how many questions of a plan one transaction looks at


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
        self._claims = Claims(self.database, clear_holder)
        self._numbers: dict[str, int] = {}
        self._geometry: Geometry = geometry or AddUp()
        self._crowded: set[str] = set()  # datasets of which places were weighed beforehand lately
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
        foresee: Foresee | None = None,
    ) -> T:
        """Change an account, or (``reads``) look at it, under the witness that the ledger has now.

        It may get another while it is open, or be replaced by a copy that has another: the
        transaction sees it before anything is decided, and begins again. With ``afresh`` the
        witness is told first of all that is new. ``foresee`` sends the queries ahead that the act
        begins with, given a session and the account's number.
        """

        def watch(session: Session) -> T:
            # A number that is not the account's any more asks for nothing that the act asks for.
            number = self._numbers.get(dataset)
            ahead = partial(foresee, session, number) if foresee and number else None
            account = AccountTransaction(session, dataset, lock=not reads, foresee=ahead)
            self._numbers[dataset] = account.id
            if account.appointed != (None if self.witness is None else self.witness.ledger):
                raise _Reappointed
            return act(account)

        while True:
            if self.witness is not None:
                self.witness.check(afresh=afresh)
            try:
                return self.database.read(watch) if reads else self.database.write(watch)
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
        weighed: Weighed | None = None
        if dataset in self._crowded and order.location is not None:
            weighed = self._weighed(dataset, order, rule)
        while True:
            try:
                account, held, snapshot = self._reserve(dataset, order, rule, weighed)
            except Crowded:
                weighed = self._weighed(dataset, order, rule)
                continue
            if isinstance(held, RecordedOutcome) and self.witness is not None:
                self.witness.cover(dataset, held.by)
            if isinstance(held, RecordedOutcome) or held.claim is not None:
                return held, snapshot
            left = until - time.monotonic()
            if left <= 0:
                raise LedgerBusy(
                    "This very question is being answered by another process; ask again later. It "
                    "is not charged twice."
                )
            free = partial(self.read, dataset, partial(self._is_free, held.seq))
            self._claims.wait(account, held.seq, free, left)

    def _weighed(
        self, dataset: str, order: ChargeRequest, rule: Callable[[str], None] | None
    ) -> Weighed | None:
        """Weigh a place while others write, unless it may not be asked about."""

        def peek(account: AccountTransaction) -> Weighed | None:
            account.must_be_open()
            if rule is not None:
                rule(account.policy)
            return weigh(account, order, self._geometry)

        weighed = self.read(dataset, peek)
        if weighed is not None:
            (self._crowded.add if weighed.many else self._crowded.discard)(dataset)
        return weighed

    def _is_free(self, seq: int, account: AccountTransaction) -> bool:
        """Whether nobody computes the answer to a reservation at this moment."""
        _, holder = account.claim_of(seq)
        return self._claims.is_free(account.session, account.id, seq, holder)

    def _reserve(
        self,
        dataset: str,
        order: ChargeRequest,
        rule: Callable[[str], None] | None,
        known: Weighed | None,
    ) -> tuple[int, Reservation | RecordedOutcome, AccountSnapshot]:
        taken: list[Claim] = []

        def act(
            account: AccountTransaction,
        ) -> tuple[int, Reservation | RecordedOutcome, AccountSnapshot]:
            account.must_be_open()  # whatever the price, and whether it was asked before
            if rule is not None:
                rule(account.policy)
            share = account.share(order.analyst)
            held = account.outcome(*order.names)
            if not isinstance(held, RecordedOutcome) and account.closed_by(datetime.now(UTC)):
                raise DatasetClosed(CLOSED)
            if held is None:
                # Noted before the commit: whoever can see the reservation can see the claim.
                holder = self._claims.holder()
                held, share = charge(account, order, share, self._geometry, known, holder)
            if isinstance(held, Reservation):
                at = account.session, account.id, held.seq, held.holder
                claim = self._claims.take(*at, fresh=held.fresh)
                if claim is not None:
                    taken.append(claim)
                    if not held.fresh:
                        held = replace(held, epoch=account.claim(held, claim.holder))
                held = replace(held, claim=claim, told_at=order.told_at)
            shares = {} if share is None else {order.analyst: share}
            return account.id, held, account.snapshot(shares)

        try:
            return self.watched(dataset, act, foresee=partial(self._foresee, order))
        except BaseException:
            for claim in taken:  # it was undone, or nobody knows
                claim.release()
            raise

    def _foresee(self, order: ChargeRequest, session: Session, account: int) -> None:
        """Send the queries ahead that a reservation begins with."""
        asked, former = order.names
        session.ahead(BY_QUESTION, dataset=account, asked=asked, former=former or NO_NAME)
        session.ahead(SHARE, dataset=account, analyst=order.analyst)
        if order.location is not None:
            SpatialIndex(session, account, self._geometry).foresee(order.location, order.analyst)

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

        def peek(account: AccountTransaction) -> tuple[RecordedOutcome | None, AccountSnapshot]:
            account.must_be_open()
            rule(account.policy)
            outcome, share = account.outcome(*order.names), account.share(order.analyst)
            snapshot = account.snapshot({} if share is None else {order.analyst: share})
            if outcome is None:
                quoting = Quoting(account)
                quoting.add(account, [order], self._geometry)
                refusal = quoting.quote().refusal
                if refusal is not None:
                    raise refusal
            if not isinstance(outcome, RecordedOutcome):
                return None, snapshot
            closed = account.entry(outcome.by)
            assert closed is not None
            return outcome if closed.told else None, snapshot

        foresee = partial(self._foresee, order)
        outcome, snapshot = self.watched(dataset, peek, reads=True, foresee=foresee)
        if outcome is not None and self.witness is not None:
            self.witness.cover(dataset, outcome.by)
        return outcome, snapshot

    def quote(self, dataset: str, orders: Sequence[ChargeRequest]) -> Quote:
        """Say what these questions would cost together, asked in this order; nothing is spent.

        They are looked at in short transactions: while a long one lasts, SQLite cannot begin its
        log anew, and the commits of others pay for that.
        """
        quoting = self.read(dataset, Quoting)
        for first in range(0, len(orders), _QUOTED_AT_ONCE):
            some = orders[first : first + _QUOTED_AT_ONCE]
            self.read(dataset, partial(quoting.add, orders=some, geometry=self._geometry))
        return quoting.quote()

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
        def foresee(session: Session, account: int) -> None:
            session.ahead(CLAIMED, dataset=account, seq=held.seq)

        outcome = self.watched(
            dataset, lambda account: record(account, held, kind, body), foresee=foresee
        )
        if held.claim is not None:
            held.claim.forget()
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
            if not self._is_free(seq, account):
                raise AccountConflict(f"Entry {seq} is being answered at this moment.")
            acts.void(account, body, reserved, outcome, self._geometry)

        self.write(dataset, act, connection=connection)

    # Looking

    def snapshot(self, dataset: str, *, connection: Connection | None = None) -> AccountSnapshot:
        """Where a dataset stands now; with a ``connection``, as its open transaction sees it."""

        def peek(session: Session) -> AccountSnapshot:
            account = AccountTransaction(session, dataset, lock=False)
            return account.snapshot(account.shares())

        if connection is None:
            return self.database.read(peek)
        return peek(self.database.joined(connection))

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
        entries = self.read(dataset, lambda account: account.some_entries(**which))
        return entries if self.witness is None else self.witness.tell(dataset, entries)

    def history(
        self, dataset: str, analyst: str, *, limit: int = 100, skip: int = 0
    ) -> list[tuple[Entry, Entry | None]]:
        """An analyst's questions, newest first but ``skip``, each with what closed it last."""

        def peek(account: AccountTransaction) -> list[tuple[Entry, Entry | None]]:
            asked = account.some_entries(
                limit=limit, skip=skip, newest_first=True, analyst=analyst, kind="reserve"
            )
            # What an account that is closed for good holds may be answers that never left.
            closed = [None] * len(asked) if account.closure else account.last_words(asked)
            return list(zip(asked, closed, strict=True))

        pairs = self.watched(dataset, peek, reads=True)
        if self.witness is not None:
            self.witness.tell(dataset, [closed for _, closed in pairs])
        return pairs

    def has_hash(self, hash_: str) -> bool:
        """Whether any entry has this hash."""
        return self.database.read(lambda session: session.one(HASH, hash=hash_)) is not None

    def unsettled(self, dataset: str) -> list[Entry]:
        """Spends without an answer, interrupted or failed; what is being computed is left out."""

        return self.read(
            dataset,
            lambda account: [e for e in account.unsettled() if self._is_free(e.seq, account)],
        )

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
