"""What a question is charged: the spend, the caps it must fit, what came of it; and a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from whitecrow.errors import AccountConflict, BudgetExhausted, LedgerBusy
from whitecrow.ledger.account import Account, Located, admissible, admit, in_unit
from whitecrow.ledger.spatial import Ball, Geometry, Location, SpatialIndex, Weighed
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.ledger.values import AnalystAccount, RecordedOutcome, Reservation, ToldAt
from whitecrow.plan import Plan
from whitecrow.privacy import Guarantee, ZeroConcentrated
from whitecrow.terms import LINES, Budget


@dataclass(frozen=True)
class ChargeRequest:
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
    told_at : ToldAt, optional
        From when on what comes of it may be told; the entry that closes it has that moment.
    """

    analyst: str
    digest: str
    question: Mapping[str, Any]
    price: Guarantee
    location: Location | None = None
    actor: str = ""
    told_at: ToldAt | None = field(default=None, compare=False, repr=False)


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
        Why not all of them fit, the dataset's cap and the analyst's.
    fitting : int
        How many fit, counted from the first up to the one that does not.
    """

    before: Account
    after: Account
    budget: Budget
    charged: int
    refusal: BudgetExhausted | None
    fitting: int

    def plan(self, orders: Sequence[ChargeRequest]) -> Plan:
        """Return what the questions behind these requests would cost, for whoever asks them."""
        delta = self.budget.delta
        prices = {order.digest: order.price for order in orders}.values()
        apart = [one.epsilon for one in prices if not isinstance(one, ZeroConcentrated)]
        added = {}
        for line in LINES:
            after, before = self.after.spent(line, delta), self.before.spent(line, delta)
            if after is not None:
                added[line] = after - (before or Fraction(0))
        added["delta"] = self.after.delta - self.before.delta
        fits, reason = self.refusal is None, "" if self.refusal is None else str(self.refusal)
        total = sum(apart, Fraction(0))
        return Plan(len(orders), self.charged, added, total, fits, reason, self.fitting)


def charge(
    account: AccountTransaction,
    order: ChargeRequest,
    share: AnalystAccount | None,
    geometry: Geometry,
    known: Weighed | None = None,
) -> tuple[Reservation, AnalystAccount]:
    """Write a spend, or refuse it.

    Parameters
    ----------
    account : AccountTransaction
        The dataset's account, in a transaction that writes.
    order : ChargeRequest
        What to charge.
    share : AnalystAccount or None
        The analyst's account, if there is one.
    geometry : Geometry
        What balls are.
    known : Weighed, optional
        What the question's ball was found to add before the transaction.

    Raises
    ------
    BudgetExhausted
        If the dataset's cap or the analyst's would be exceeded.
    Crowded
        If the ball touches so many that it should be weighed before the transaction.
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
        weighed = index.weigh(ball, quick=True, known=known)
        extra, own = weighed.extra, weighed.own
        body["extra"] = {"dataset": extra.to_json(), "analyst": own.to_json()}
    account.spent = admit(account.spent, account.budget, price, extra, whose="The dataset")
    mine = AnalystAccount(_admit_own(mine, order.analyst, price, own), mine.budget)
    account.write_share(order.analyst, mine, new=share is None)
    account.add_terms(order.analyst, price)
    entry = account.append("reserve", analyst=order.analyst, digest=order.digest, body=body)
    account.open_reservation(entry.seq)
    if weighed is not None:
        index.add(ball, weighed)
    return Reservation(entry.seq, order.digest, order.analyst, fresh=True, epoch=1), mine


def record(
    account: AccountTransaction, held: Reservation, kind: str, body: Mapping[str, Any]
) -> RecordedOutcome:
    """Store what came of a reservation: an answer, or (``kind`` is not "settle") a failure."""
    account.must_be_open()
    known = account.outcome(held.digest)
    if known is None or known.seq != held.seq:
        raise AccountConflict(
            "This question's spend was given back while it was being computed; nothing was "
            "released. Ask again."
        )
    if isinstance(known, RecordedOutcome):
        return known
    # Locks can be lost with what holds them; the count of those who took the reservation
    # up cannot. Were both to store, the faster of two draws would be released.
    if account.epoch(held.seq) != held.epoch:
        raise LedgerBusy(
            "Another process has taken this question up; its answer will be the one. "
            "Nothing was released here; ask again: it is not charged twice."
        )
    answered = kind == "settle" and not account.failures
    account.failures += not answered
    entry = account.append(
        "settle" if answered else "fail",
        analyst=held.analyst,
        digest=held.digest,
        closes=held.seq,
        body=body if answered else {},
        told_at=held.told_at,
    )
    if answered:
        account.close_reservation(held.seq)
    return RecordedOutcome(held.seq, entry.seq, answered, body.get("answer") if answered else None)


def weigh(account: AccountTransaction, order: ChargeRequest, geometry: Geometry) -> Weighed:
    """Find out what an order's ball adds, however long that takes; for a transaction that reads."""
    price = in_unit(order.price, account.spent.unit)
    ball = Ball.of(order.location or {}, price, order.analyst)
    return SpatialIndex(account.session, account.id, geometry).weigh(ball)


def quote(
    account: AccountTransaction, orders: Sequence[ChargeRequest], geometry: Geometry
) -> Quote:
    """Say what these questions would cost together, asked in this order."""
    account.must_be_open()
    index = SpatialIndex(account.session, account.id, geometry)
    budget, spent = account.budget, account.spent
    refusal: BudgetExhausted | None = None
    seen: set[str] = set()
    pending = Batch()
    fitting = len(orders)
    mine: dict[str, AnalystAccount] = {}
    for place, order in enumerate(orders):
        admissible(order.price)
        if order.digest in seen or account.outcome(order.digest) is not None:
            continue
        seen.add(order.digest)
        price, extra, own = in_unit(order.price, spent.unit), None, None
        if order.location is not None:
            ball = Ball.of(order.location, price, order.analyst)
            weighed = index.weigh(ball, pending=pending)
            pending.add(ball, weighed)
            extra, own = weighed.extra, weighed.own
        if order.analyst not in mine:
            mine[order.analyst] = account.share(order.analyst) or _no_account(account)
        share = mine[order.analyst]
        if refusal is None:
            try:
                admit(spent, budget, price, extra, whose="The dataset")
                _admit_own(share, order.analyst, price, own)
            except BudgetExhausted as refused:
                refusal, fitting = refused, place
        spent = spent.with_release(price, extra)
        mine[order.analyst] = replace(share, spent=share.spent.with_release(price, own))
    return Quote(account.spent, spent, budget, len(seen), refusal, fitting)


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

    def prices(self, sheet: str, analyst: str, kept: Sequence[Fraction]) -> list[Fraction]:
        """The prices of a sheet's four tallies, with these balls on it."""
        keys = ((sheet, tally, analyst if tally >= 2 else "") for tally in range(len(kept)))
        return [
            max(price, self._largest.get(key, price)) for key, price in zip(keys, kept, strict=True)
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
