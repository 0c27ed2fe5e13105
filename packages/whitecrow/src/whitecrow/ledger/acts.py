"""The custodian's acts, and what the chain keeps of them: who, why, and what they put in force."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from whitecrow.errors import AccountConflict, InvalidInput
from whitecrow.ledger import statements
from whitecrow.ledger.account import (
    Account,
    AnalystAccount,
    Entry,
    Located,
    RecordedOutcome,
    Reservation,
)
from whitecrow.ledger.spatial import Geometry, SpatialIndex, remove
from whitecrow.ledger.transaction import AccountTransaction
from whitecrow.privacy import guarantee
from whitecrow.terms import Budget, canonical


def custodian_act(
    *,
    actor: str,
    reason: str | None = None,
    card: Mapping[str, Any] | None = None,
    readers: Iterable[str] | None = None,
) -> dict[str, Any]:
    """Return the body of an act's entry; what was not given is left out.

    The actor is empty where nobody signed in, as in the library. Only opening an account needs no
    reason. The card is the one now in effect, as JSON; its digest is kept beside it.

    Examples
    --------
    >>> custodian_act(actor="cleo", reason="vote", readers=["bo", "ana"])
    {'actor': 'cleo', 'reason': 'vote', 'readers': ['ana', 'bo']}
    """
    body: dict[str, Any] = {"actor": actor} if actor else {}
    if reason is not None:
        if not isinstance(reason, str) or not reason.strip():
            raise InvalidInput(
                "The custodian's acts need a reason, in words; the chain keeps it.",
                parameter="reason",
            )
        body["reason"] = reason
    if card is not None:
        body |= {"card": card, "card_digest": card_digest(card)}
    if readers is not None:
        body["readers"] = sorted(set(readers))
    return body


def acts_of(account: AccountTransaction, *kinds: str, newest: bool = False) -> list[Entry]:
    """Return the acts and alarms of some kinds: all, the oldest first, or the ``newest`` alone."""
    named = {f"kind{number}": kind for number, kind in enumerate(kinds)}
    query = statements.acts(len(kinds), newest)
    rows = account.session.rows(query, dataset=account.id, **named)
    return [Entry(**{**row._asdict(), "dataset": account.name}) for row in rows]


def card_digest(card: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(card).encode("ascii")).hexdigest()


def amend(
    account: AccountTransaction,
    body: Mapping[str, Any],
    budget: Budget | None,
    policy: Mapping[str, Any] | None,
) -> None:
    """Put another budget or policy in force."""
    if budget is not None or policy is not None:
        account.must_be_open()
    changed: dict[str, Any] = {}
    if budget is not None:
        account.spent, account.budget = in_force(account.spent, budget, account.seq + 1)
        changed["budget"] = account.budget.to_json()
    if policy is not None:
        account.policy = canonical(policy)
        changed["policy"] = policy
    account.append("amend", body={**body, **changed})


def close(account: AccountTransaction, body: Mapping[str, Any]) -> None:
    """Close an account for good: nothing is reserved, claimed, promised or given back any more."""
    if not account.closure:
        account.budget = nothing_left(account.budget)
        account.closure = account.seq + 1
        account.append("closure", body={**body, "budget": account.budget.to_json()})


def nothing_left(budget: Budget) -> Budget:
    """Return the caps of a closed account; what was spent is still read at the same delta."""
    return Budget.of({"epsilon": 0, "delta": budget.delta, "count_by": budget.count_by})


def in_force(spent: Account, budget: Budget, seq: int) -> tuple[Account, Budget]:
    """Return an account and its budget once entry ``seq`` has put that in force.

    Whoever stopped to count by either rule would let approximate releases have the half of delta
    that was set aside, because of the answers: the account goes on as it is.

    Raises
    ------
    AccountConflict
        If it is to count by either rule, and approximate releases have spent what is set aside.
    """
    if spent.renyi is not None:
        budget = replace(budget, count_by="either")
    elif budget.count_by == "either" and spent.delta > budget.delta / 2:
        raise AccountConflict(
            "To count by either rule, half of delta is set aside; approximate releases have spent "
            f"{spent.delta!s} of {budget.delta!s}. Raise delta, or leave count_by as it is."
        )
    return spent.counting(budget, seq), budget


def allow(
    account: AccountTransaction, body: Mapping[str, Any], analyst: str, budget: Budget | None
) -> None:
    """Cap what one analyst may spend, or lift the cap."""
    share = account.share(analyst)
    spent = Account(unit=account.spent.unit) if share is None else share.spent
    if budget is not None:
        spent, budget = in_force(spent, budget, account.seq + 1)
    account.write_share(analyst, AnalystAccount(spent, budget))
    cap = None if budget is None else budget.to_json()
    account.append("allow", analyst=analyst, body={**body, "budget": cap})


def voidable(account: AccountTransaction, seq: int) -> tuple[Entry, Reservation | RecordedOutcome]:
    """Return a spend that may be given back and what became of it, or say why it may not."""
    account.must_be_open()  # what has no answer here may have one among the entries that were lost
    reserved = account.entry(seq)
    if reserved is None or reserved.kind != "reserve":
        raise AccountConflict(f"Entry {seq} is not a reservation; nothing to void.")
    outcome = account.outcome(reserved.digest)
    if outcome is None or outcome.seq != seq:
        raise AccountConflict(f"Entry {seq} is already void.")
    if isinstance(outcome, RecordedOutcome) and outcome.answered:
        raise AccountConflict(f"Entry {seq} was answered; what was released stays spent.")
    return reserved, outcome


def void(
    account: AccountTransaction,
    body: Mapping[str, Any],
    reserved: Entry,
    outcome: Reservation | RecordedOutcome,
    geometry: Geometry,
) -> None:
    """Give a spend back: the sums, the terms of its promise, and its ball if it has one."""
    seq, analyst, content = reserved.seq, reserved.analyst, reserved.content
    price, located = guarantee(content["price"]), content["location"] is not None
    share = account.share(analyst)
    assert share is not None
    less: tuple[Located | None, Located | None] = (None, None)
    if located:
        less = remove(SpatialIndex(account.session, account.id, geometry), seq, analyst)
    account.remove_terms(analyst, price)
    account.close_reservation(seq)
    account.failures -= isinstance(outcome, RecordedOutcome) and not outcome.reviewed
    account.spent = account.spent.without_release(price, less[0], *account.terms(), seq)
    mine = share.spent.without_release(price, less[1], *account.terms(analyst), seq)
    account.write_share(analyst, AnalystAccount(mine, share.budget))
    costs = {"dataset": account.spent.located.to_json(), "analyst": mine.located.to_json()}
    account.append(
        "void",
        analyst=analyst,
        digest=reserved.digest,
        # An entry is closed once: a void after a failure closes the failure.
        closes=seq if isinstance(outcome, Reservation) else outcome.by,
        body={**body, "reserve": seq, "located": costs if located else None},
    )
